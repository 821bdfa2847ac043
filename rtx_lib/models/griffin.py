"""The real-gated linear recurrent unit, the LRU without complex numbers and with gates that read the input; its block.

S. De, S. L. Smith, A. Fernando, A. Botev et al., *Griffin: Mixing Gated Linear Recurrences with Local Attention for
Efficient Language Models*, 2024 (arXiv 2402.19427). Section 2.4:

    r_t = sigmoid(W_a x_t + b_a)                     how much of the forgetting happens                      (eq. 1)
    i_t = sigmoid(W_x x_t + b_x)                     how much of the input comes in                          (eq. 2)
    a_t = a^(c r_t),   a = sigmoid(Lambda),   c = 8                                                          (eq. 3)
    h_t = a_t h_{t-1} + sqrt(1 - a_t^2) (i_t x_t)                                                            (eq. 4)

all element by element. Gate and root are of :mod:`rtx_lib.models.lru`'s kind: the root keeps the variance of a state at
that of its input, now from step to step. With r_t near 0 a unit keeps its state, and takes nothing in.

Computed is log a_t = -c r_t softplus(-Lambda); ``a_param`` is -Lambda.

The block around it, which stands in place of attention in two layers of three (section 2.3, figure 2c):

    y = W_out (GELU(W_y x) * RG-LRU(convolution of the last 4 steps of W_x x))

Where the authors' code (google-deepmind/recurrentgemma) does otherwise than the paper:

- The first step of a document takes a_t = 0 and has the factor 1 instead of the root: documents packed into one
  sequence do not see each other, and a first input comes in whole.
- It begins elsewhere. The paper draws a^c uniformly from [0.9, 0.999]; the code draws a itself, uniformly in area on
  the ring of these radii, so a^c starts between 0.43 and 0.992, as here.
- W_a and W_x are block-diagonal, a block for each head.
- The root's derivative, infinite at a_t = 1, is bounded by 1,000.
- GELU is taken in its tanh form; here it is exact.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.kernels import linear_recurrence
from rtx_lib.layers.mixing import parts_of
from rtx_lib.layers.official import load_official, reads_official, renamed
from rtx_lib.layers.short_convolution import ShortConvolution
from rtx_lib.shapes import expect, expect_heads, expect_ids

C = 8.0
R_MIN, R_MAX = 0.9, 0.999


def rg_lru_loop(x: Tensor, r: Tensor, i: Tensor, a_param: Tensor, h: Tensor, first: Tensor | None = None) -> Tensor:
    """Equations 3 and 4 step by step, as :func:`rg_lru` has them: what every backend must equal."""
    states = []
    for t in range(x.shape[1]):
        a = torch.sigmoid(-a_param) ** (C * r[:, t])
        new = i[:, t] * x[:, t]
        h = a * h + _BoundedRoot.apply(1 - a**2) * new
        h = h if first is None else torch.where(first[:, t, None], new, h)
        states.append(h)
    return torch.stack(states, 1)


def rg_lru(
    x: Tensor,
    r: Tensor,
    i: Tensor,
    a_param: Tensor,
    h0: Tensor | None = None,
    *,
    first: Tensor | None = None,
    backend: str = "auto",
) -> Tensor:
    """The states of the unit, given its gates (De et al. 2024, eq. 3 and 4).

    Parameters
    ----------
    x, r, i
        (B, T, D), the inputs and the two gates, from 0 to 1.
    a_param
        (D,), -Lambda.
    h0
        (B, D), the states before the first step; zeros if None.
    first
        (B, T), True where a document begins: what was before is forgotten, and the input's factor is 1.
    backend
        Passed to :func:`rtx_lib.kernels.linear.linear_recurrence`.

    Returns
    -------
    h
        (B, T, D).
    """
    if backend == "loop":
        return rg_lru_loop(x, r, i, a_param, torch.zeros_like(x[:, 0]) if h0 is None else h0, first)
    log_a = -C * r * F.softplus(a_param)
    a, factor = log_a.exp(), _BoundedRoot.apply(-torch.expm1(2 * log_a))
    if first is not None:
        a, factor = a.masked_fill(first[..., None], 0.0), factor.masked_fill(first[..., None], 1.0)
    return linear_recurrence(a, factor * (i * x), h0, backend=backend)


class RGLRU(nn.Module):
    """The unit as a mixer, without the block of convolution and gate that the paper puts around it.

    Weights start from N(0, 1/K), biases at 0, as in the authors' code. Forward-mode derivatives are refused, as the
    gradient of a root is bounded.

    Parameters
    ----------
    width
        D, of x, of h and of y = h.
    heads
        The number of blocks of W_a and W_x, which must divide D. 1 is the paper's full matrix.
    backend
        Passed to :func:`rtx_lib.kernels.linear.linear_recurrence`.
    """

    def __init__(self, width: int, heads: int = 1, *, backend: str = "auto") -> None:
        super().__init__()
        expect_heads(width, heads)
        self.input_size = self.output_size = width
        self.backend = backend
        self.a_gate, self.input_gate = BlockDiagonal(width, heads), BlockDiagonal(width, heads)
        self.a_param = nn.Parameter(draw_a_param(width))

    def forward(
        self, x: Tensor, state: Tensor | None = None, *, segment_pos: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Map x (B, T, D) to y (B, T, D).

        Parameters
        ----------
        state
            h (B, D) before the first step; None if nothing was before it.
        segment_pos
            (B, T), whole numbers: each step's position in its document; 0 begins a new one. If None, all of x is of
            the document that the state is of, and without a state a document begins with x.
        """
        expect(x, ("B", "T", self.input_size), like=self.a_param)
        first = self._first(x, segment_pos, state)
        kind = self.a_param.dtype
        wide = torch.promote_types(kind, torch.float32)  # in half precision a slow unit's a_t would be 1
        h0 = None if state is None else expect(state, (x.shape[0], self.input_size), "state", like=x).to(wide)
        r, i = (torch.sigmoid(gate(x).to(wide)) for gate in (self.a_gate, self.input_gate))
        h = rg_lru(x.to(wide), r, i, self.a_param.to(wide), h0, first=first, backend=self.backend).to(kind)
        return h, h[:, -1].clone()  # a view would keep all of h

    @staticmethod
    def _first(x: Tensor, segment_pos: Tensor | None, state: Tensor | None) -> Tensor | None:
        """Where a document begins, (B, T); None if nowhere."""
        if segment_pos is None:
            return None if state is not None else torch.arange(x.shape[1], device=x.device).expand(x.shape[:2]) == 0
        expect(expect_ids(segment_pos, None, "segment_pos"), x.shape[:2], "segment_pos")
        return segment_pos == 0

    @classmethod
    @reads_official
    def from_official(cls, arrays: Mapping[str, Tensor], **options: Any) -> "RGLRU":
        """The unit with the arrays of google-deepmind/recurrentgemma, by their names there."""
        return load_official(cls(len(arrays["a_param"]), len(arrays["a_gate.w"]), **options), official_weights(arrays))


class GriffinBlock(nn.Module):
    """The recurrent block of Griffin and Hawk: a gate beside a short convolution and an RG-LRU.

    ``MixerStack(65, 65, 2 * [GriffinBlock] + [AttentionMixer], width=64, vocabulary=65)`` is a small Griffin, but for
    the window of its attention. Forward-mode derivatives are refused, as by :class:`RGLRU`.

    Parameters
    ----------
    width
        D, of x and of y.
    inner
        The number of units; D if None, 4D / 3 in the paper.
    heads, backend
        Of :class:`RGLRU`.
    """

    def __init__(self, width: int, inner: int | None = None, *, heads: int = 1, backend: str = "auto") -> None:
        super().__init__()
        inner = width if inner is None else inner
        self.input_size = self.output_size = width
        self.x_proj, self.gate_proj = nn.Linear(width, inner), nn.Linear(width, inner)
        self.conv = ShortConvolution(inner, 4)
        self.rg_lru = RGLRU(inner, heads, backend=backend)
        self.out_proj = nn.Linear(inner, width)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Map x (B, T, D) to y (B, T, D); the state is the last 3 inputs of the convolution, and h."""
        expect(x, ("B", "T", self.input_size), like=self.out_proj.weight)
        past, h = parts_of(state, 2, "(last inputs, h)")
        u, past = self.conv(self.x_proj(x), past)
        u, h = self.rg_lru(u, h)
        return self.out_proj(F.gelu(self.gate_proj(x)) * u), (past, h)


def official_weights(arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Parameters of google-deepmind/recurrentgemma by our names; their biases are (heads, features of a head)."""
    flat = {name: value.flatten() if name.endswith(".b") else value for name, value in arrays.items()}
    return renamed(flat, {r"\.w$": ".weight", r"\.b$": ".bias"})


class BlockDiagonal(nn.Module):
    """y = W x + b where a head sees only its own K inputs: ``weight`` (H, K, K) by [head, input, output]."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        size = expect_heads(width, heads)
        self.weight = nn.Parameter(torch.randn(heads, size, size) / math.sqrt(size))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        """Map x (..., D) to (..., D)."""
        parts = x.unflatten(-1, self.weight.shape[:2])
        return torch.einsum("...hi,hij->...hj", parts, self.weight).flatten(-2) + self.bias


def draw_a_param(width: int) -> Tensor:
    """-Lambda (D,), such that a = sigmoid(Lambda) is uniform in area between the radii 0.9 and 0.999."""
    u = torch.rand(width, dtype=torch.float64)
    rate = -0.5 * (R_MIN**2 + u * (R_MAX**2 - R_MIN**2)).log()  # -log a
    return torch.expm1(rate).log().to(torch.get_default_dtype())  # softplus of it is the rate


class _BoundedRoot(torch.autograd.Function):
    """The square root, whose derivative is bounded by 1,000; not for forward-mode derivatives."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.sqrt()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g / (4 * x).clamp(min=1e-6).sqrt()
