"""The smallest recurrence that chooses by its input what it keeps, and whether a kept number may change its sign.

Each unit steps on its own, and no gate sees a state:

    h_t = a_t h_{t-1} + b_t,   a_t = low + (1 - low) sigmoid(W_a x_t + c_a),   b_t = W_b x_t + c_b

Positive, low = 0: a_t lies in (0, 1), as in minGRU, Mamba and all their relatives. A step is then a map that never
falls, and after 1 1 1 ... every unit stands still. Signed, low = -1: a_t lies in (-1, 1), and an input can turn a state
around. Parity needs one such unit: a = -1 where a one is read and a = 1 where a zero is. That this single line decides
what a linear recurrence can track is due to R. Grazzi, J. Siems, A. Zela, J. K. H. Franke, F. Hutter and M. Pontil,
*Unlocking State-Tracking in Linear RNNs Through Negative Eigenvalues*, ICLR 2025 (arXiv 2411.12537).
"""

import torch
from torch import Tensor, nn

from rtx_lib.kernels import linear_recurrence
from rtx_lib.shapes import expect_each, expect_step

from .blocks import uniform_linear

LOWS = {"signed": -1.0, "positive": 0.0}
"""The lower end of a_t for each sign."""


class SelectiveRecurrence(nn.Module):
    """h_t = a_t h_{t-1} + b_t with a_t and b_t from the input alone; a mixer, and a core for ``Readout``.

    All parameters start from U(-1/sqrt(D), 1/sqrt(D)). ``low``, a buffer, goes with the weights: which sign they were
    trained for is part of the function.

    Parameters
    ----------
    width
        D, of input, state and output.
    sign
        ``"signed"``: a_t in (-1, 1). ``"positive"``: a_t in (0, 1).
    backend
        Of :func:`rtx_lib.kernels.linear.linear_recurrence`.
    """

    low: Tensor

    def __init__(self, width: int, sign: str = "signed", *, backend: str = "auto") -> None:
        super().__init__()
        expect_each(sign=(sign, list(LOWS)))
        self.input_size = self.output_size = width
        self.backend = backend
        self.keep, self.write = (uniform_linear(width, width) for _ in range(2))
        self.register_buffer("low", torch.tensor(LOWS[sign]))

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, T, D) to h (B, T, D) and h_T (B, D); the state before the first step is zero if None."""
        state = expect_step(x, self.input_size, state, lambda batch: (batch, self.output_size), self.keep.weight)
        a, b = self.steps(x)
        h = linear_recurrence(a, b, state.to(b.dtype), backend=self.backend)
        return h, h[:, -1].clone()  # a view would keep all of h

    def steps(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """a and b, each (B, T, D), of x (B, T, D): what every step keeps and what it adds."""
        return self.low + (1 - self.low) * torch.sigmoid(self.keep(x)), self.write(x)
