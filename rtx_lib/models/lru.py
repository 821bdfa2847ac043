"""The linear recurrent unit: a plain RNN with its tanh gone, diagonal, complex, and stable by its parameters.

A. Orvieto, S. L. Smith, A. Gu, A. Fernando, C. Gulcehre, R. Pascanu and S. De, *Resurrecting Recurrent Neural Networks
for Long Sequences*, ICML 2023 (arXiv 2303.06349). Four changes to h_t = tanh(A h_{t-1} + B x_t), each measured there:

    h_t = A h_{t-1} + B x_t                          linear
    A = diag(lambda), h and lambda complex           over the complex numbers almost every A is diagonal
    lambda = exp(-exp(nu) + i exp(theta))            inside the unit circle whatever nu and theta are
    h_t = lambda h_{t-1} + exp(gamma) B x_t          normalised: exp(2 gamma) begins at 1 - abs(lambda)^2
    y_t = Re(C h_t) + D x_t

element by element except for B and C. The state of white noise has a variance in proportion to the
inverse of ``1 - |lambda|^2``; gamma takes that back, so that slow units do not drown the fast ones.

The ring (lemma 3.2): eigenvalues uniform in area between the radii r_min and r_max, phases uniform up to max_phase,

    nu = log(-1/2 log(u_1 (r_max^2 - r_min^2) + r_min^2)),   theta = log(u_2 max_phase),   u_1, u_2 ~ U(0, 1)

It is the thought behind IndRNN's u from U(0.9^(1/T), 2^(1/T)) (:mod:`rtx_lib.models.indrnn`): ``1 / (1 - |lambda|)``
steps is how long a unit remembers, and it is set to the time scale of the task before training begins. IndRNN has no
gamma; its recipe makes the maps above a unit of weight near 1 smaller by a factor of the length instead.

The authors' code was never released but for a listing in their appendix A. Reference values come from
NicolasZucchet/minimal-LRU, which follows it. The listing's h are single complex numbers: over T steps ``|lambda|^T``
loses about T times the rounding of lambda, which counts near the circle.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.kernels import linear_recurrence
from rtx_lib.layers.official import load_official, reads_official
from rtx_lib.shapes import expect_each, expect_step


def lru_loop(
    x: Tensor, eigenvalues: Tensor, gamma: Tensor, B: Tensor, C: Tensor, D: Tensor, h: Tensor
) -> tuple[Tensor, Tensor]:
    """y (B, T, D) and the last h (B, N) step by step: what every backend must equal. lambda, B, C and h are complex."""
    outputs = []
    for x_t in x.unbind(1):
        h = eigenvalues * h + gamma * (x_t.to(B.dtype) @ B.T)
        outputs.append((h @ C.T).real + D * x_t)
    return torch.stack(outputs, 1), h


class LRU(nn.Module):
    """The unit as a mixer, without the block of norm, gate and residual that the paper puts around it.

    Parameters have the listing's names: ``nu_log``, ``theta_log`` and ``gamma_log`` (N,), ``B_re`` and ``B_im`` (N, D),
    ``C_re`` and ``C_im`` (D, N), ``D`` (D,). They are real, as a change of precision would drop an imaginary part. B
    starts from N(0, 1/(2D)), C from N(0, 1/N), D from N(0, 1).

    Parameters
    ----------
    width
        D, of x and of y.
    state_size
        N, the number of complex states; D if None.
    r_min, r_max
        The ring's radii, 0 <= r_min < r_max <= 1.
    max_phase
        The largest phase, above 0, at most 2 pi. Small ones keep the states smooth over long sequences.
    backend
        Passed to :func:`rtx_lib.kernels.linear.linear_recurrence`.
    """

    def __init__(
        self,
        width: int,
        state_size: int | None = None,
        *,
        r_min: float = 0.0,
        r_max: float = 1.0,
        max_phase: float = 2 * math.pi,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        size = width if state_size is None else state_size
        self.input_size = self.output_size = width
        self.state_size, self.backend = size, backend
        nu_log, theta_log = ring(size, r_min, r_max, max_phase)
        self.nu_log, self.theta_log = nn.Parameter(nu_log), nn.Parameter(theta_log)
        self.gamma_log = nn.Parameter(gamma_log_of(nu_log))
        self.B_re, self.B_im = (nn.Parameter(torch.randn(size, width) / math.sqrt(2 * width)) for _ in range(2))
        self.C_re, self.C_im = (nn.Parameter(torch.randn(width, size) / math.sqrt(size)) for _ in range(2))
        self.D = nn.Parameter(torch.randn(width))

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, T, D) to y (B, T, D).

        The state is the last h as (B, N, 2), its real and imaginary parts; zeros if None.
        """
        state = expect_step(x, self.input_size, state, lambda batch: (batch, self.state_size, 2), self.D)
        wide = torch.promote_types(self.D.dtype, torch.float32)  # half precision has no complex numbers
        h0 = torch.view_as_complex(state.to(wide).contiguous())
        if self.backend == "loop":
            B = torch.complex(self.B_re.to(wide), self.B_im.to(wide))
            C = torch.complex(self.C_re.to(wide), self.C_im.to(wide))
            y, h = lru_loop(x.to(wide), self.eigenvalues(), self.gamma_log.to(wide).exp(), B, C, self.D.to(wide), h0)
            return y.to(self.D.dtype), torch.view_as_real(h).to(self.D.dtype)
        scale = self.gamma_log.exp()[:, None]
        parts = F.linear(x, torch.cat([scale * self.B_re, scale * self.B_im])).to(wide)  # (B, T, 2N)
        inputs = torch.complex(*parts.chunk(2, dim=-1))
        h = linear_recurrence(self.eigenvalues(), inputs, h0, backend=self.backend)
        read = torch.cat([h.real, h.imag], -1).to(self.D.dtype)
        y = F.linear(read, torch.cat([self.C_re, -self.C_im], 1)) + self.D * x
        return y, torch.view_as_real(h[:, -1].clone()).to(self.D.dtype)  # a view would keep all of h

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], **options: Any) -> "LRU":
        """The unit with the parameters of the paper's listing, whose names are ours."""
        return load_official(cls(len(arrays["D"]), len(arrays["nu_log"]), **options), arrays)

    def eigenvalues(self) -> Tensor:
        """lambda (N,), complex."""
        wide = torch.promote_types(self.D.dtype, torch.float32)
        return torch.polar((-self.nu_log.to(wide).exp()).exp(), self.theta_log.to(wide).exp())


def ring(size: int, r_min: float = 0.0, r_max: float = 1.0, max_phase: float = 2 * math.pi) -> tuple[Tensor, Tensor]:
    """nu and theta (N,) of eigenvalues drawn uniformly in area between two radii (Orvieto et al. 2023, lemma 3.2)."""
    expect_each(r_min=(r_min, "[0, 1)"), r_max=(r_max, f"({r_min}, 1]"), max_phase=(max_phase, f"(0, {2 * math.pi}]"))
    u = torch.rand(2, size, dtype=torch.float64).clamp(min=2**-53)  # 0 has no logarithm
    nu = -0.5 * (u[0] * (r_max**2 - r_min**2) + r_min**2).log()
    dtype = torch.get_default_dtype()
    return nu.log().to(dtype), (u[1] * max_phase).log().to(dtype)


def gamma_log_of(nu_log: Tensor) -> Tensor:
    """``log sqrt(1 - |lambda|^2)``, the factor under which white noise of variance 1 gives states of variance 1."""
    return 0.5 * (-torch.expm1(-2 * nu_log.double().exp())).log().to(nu_log.dtype)
