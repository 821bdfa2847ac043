"""S4D: a linear recurrence that does not look at its input, which is therefore a convolution too.

A. Gu, A. Gupta, K. Goel and C. Ré, *On the Parameterization and Initialization of Diagonal State Space Models*,
NeurIPS 2022 (arXiv 2206.11893). Every channel of x has N / 2 complex states, whose conjugates are left out:

    h'(t) = A h(t) + B x(t),    y(t) = 2 Re(C h(t)) + D x(t),    A diagonal, Re A < 0, B = 1

Steps of size delta make of it, by a zero-order hold,

    h_t = a h_{t-1} + b x_t,    a = exp(delta A),    b = (a - 1) / A

a and b are the same in all steps. So y_t = sum over l of K_l x_{t-l} + D x_t, a convolution with the kernel
K_l = 2 Re(sum over n of C b a^l), which is as long as the sequence. An FFT computes it for all steps at once; a
recurrence goes step by step, and on from any state. Both are here.

The states are waves that fade. Where they start decides what can be learned; here is S4D-Lin, with frequencies at equal
distances, A_n = -1/2 + i pi n.

Where the authors' code (state-spaces/s4, models/s4/s4d.py) does otherwise than the paper:

- It is a layer: a GELU and a gated linear unit over the channels come behind the state space model, as here.
- Of the paper's rules it has the zero-order hold and S4D-Lin alone, as this file.
- delta and A get a learning rate of their own, 0.001, and no weight decay. That is up to whoever trains.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.kernels import linear_recurrence
from rtx_lib.layers.blocks import uniform_linear
from rtx_lib.layers.official import load_official, reads_official, renamed
from rtx_lib.shapes import expect_each, expect_step

ROUTES = ("convolution", "recurrence")


class S4D(nn.Module):
    """The layer of S4D: the state space model, GELU, and a gated linear unit that mixes the channels.

    delta starts log-uniform in [0.001, 0.1], one for each channel, C complex normal of variance 1, D from N(0, 1), and
    the last map as torch.nn's.

    Parameters
    ----------
    width
        D, of x and of y.
    state_size
        N, even: twice the number of complex states of a channel.
    route
        ``"convolution"`` by FFT, or ``"recurrence"`` by :func:`~rtx_lib.kernels.linear.linear_recurrence`. They are the
        same up to rounding; but what an FFT rounds depends on all inputs, later ones included.
    backend
        Passed to the recurrence.
    """

    def __init__(self, width: int, state_size: int = 64, *, route: str = "convolution", backend: str = "auto") -> None:
        super().__init__()
        expect_each(state_size=(state_size, "multiple of 2"), route=(route, ROUTES))
        self.input_size = self.output_size = width
        self.route, self.backend = route, backend
        self.log_dt = nn.Parameter(torch.empty(width).uniform_(math.log(0.001), math.log(0.1)))
        self.log_A_real = nn.Parameter(torch.full((width, state_size // 2), math.log(0.5)))
        self.A_imag = nn.Parameter(math.pi * torch.arange(state_size // 2).repeat(width, 1))
        self.C = nn.Parameter(torch.randn(width, state_size // 2, 2) / math.sqrt(2))  # real and imaginary parts
        self.D = nn.Parameter(torch.randn(width))
        self.output_linear = uniform_linear(width, 2 * width)

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, T, D) to y (B, T, D).

        The state h is (B, D, N / 2, 2), real and imaginary parts; zeros if None.
        """
        state = expect_step(x, self.input_size, state, lambda batch: (batch, *self.C.shape), self.D)
        y, state = self.state_space(x, state)
        return F.glu(self.output_linear(F.gelu(y)), dim=-1), state

    def state_space(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """y (B, T, D) before the GELU, and the last state, of x (B, T, D) and a state."""
        dtype = x.dtype
        x, C = _single(x), torch.view_as_complex(_single(self.C))
        log_a, b = self.step()
        h = torch.view_as_complex(_single(state).contiguous())
        run = self._convolve if self.route == "convolution" else self._recur
        y, h = run(x, log_a, b, C, h)
        return (y + self.D * x).to(dtype), torch.view_as_real(h).to(dtype)

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], **options: Any) -> "S4D":
        """The layer with the arrays of S4D in state-spaces/s4, by their names there."""
        width, states = arrays["kernel.A_imag"].shape
        return load_official(cls(width, 2 * states, **options), official_weights(arrays))

    def step(self) -> tuple[Tensor, Tensor]:
        """The logarithm of a, and b, each complex (D, N / 2)."""
        A = torch.complex(-_single(self.log_A_real).exp(), _single(self.A_imag))
        delta = _single(self.log_dt).exp()[:, None]
        return delta * A, torch.expm1(delta * A) / A

    def kernel(self, steps: int) -> Tensor:
        """K (D, T): what an input adds to the output of its own step, of the next, and so on, D left out."""
        log_a, b = self.step()
        return 2 * ((torch.view_as_complex(_single(self.C)) * b)[..., None] * powers(log_a, steps)).sum(1).real

    def _convolve(self, x: Tensor, log_a: Tensor, b: Tensor, C: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        steps = x.shape[1]
        a = powers(log_a, steps + 1)  # (D, N/2, T+1), a^0 to a^T
        K = 2 * ((C * b)[..., None] * a[..., :-1]).sum(1).real
        length = 2 * steps  # with as many zeros behind, the end does not run into the beginning
        x = x.transpose(1, 2)
        y = torch.fft.irfft(torch.fft.rfft(K, length) * torch.fft.rfft(x, length), length)[..., :steps]
        y = y + 2 * torch.einsum("bdn,dnt->bdt", C * h, a[..., 1:]).real
        added = torch.einsum("bdt,dnt->bdn", x.to(a.dtype), a[..., :-1].flip(-1))  # the first input is T - 1 steps old
        return y.transpose(1, 2), a[..., -1] * h + b * added

    def _recur(self, x: Tensor, log_a: Tensor, b: Tensor, C: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        added = (b * x[..., None]).flatten(2)  # (B, T, D N/2)
        states = linear_recurrence(log_a.exp().flatten(), added, h.flatten(1), backend=self.backend)
        states = states.unflatten(2, log_a.shape)
        return 2 * (C * states).sum(-1).real, states[:, -1].clone()  # a view would keep all states


def official_weights(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of state-spaces/s4 by our names; their last map is a convolution of one step."""
    weights = renamed(arrays, {r"^kernel\.": "", r"^output_linear\.0\.": "output_linear."})
    return weights | {"output_linear.weight": weights["output_linear.weight"].flatten(1)}


def powers(log_a: Tensor, count: int) -> Tensor:
    """a^0, a^1, ..., (D, N / 2, count), of log a (D, N / 2)."""
    return (log_a[..., None] * torch.arange(count, device=log_a.device)).exp()


def _single(x: Tensor) -> Tensor:
    """The same in float32, if it is of half precision: there are no complex numbers of fewer digits."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
