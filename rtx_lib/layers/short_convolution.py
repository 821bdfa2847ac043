"""A convolution over the last few steps, each feature on its own: what recurrences of today put before their state.

It lets a token meet the ones just before it, as a key its value in "key value" pairs, before anything is written.
"""

import torch
from torch import Tensor, nn

from rtx_lib.shapes import Shapes, expect_step

from .stacking import draw_uniform


class ShortConvolution(nn.Module):
    """y_t = b + sum over j of w_j x_{t-k+1+j}, j = 0..k-1, element by element; before the first step x is 0.

    ``weight`` (D, 1, k), its last tap the present, and ``bias`` (D,) are those of a torch.nn.Conv1d with ``groups=D``,
    and start as there from U(-1/sqrt(k), 1/sqrt(k)).

    Parameters
    ----------
    width
        D.
    kernel_size
        k, the number of inputs that an output sees.
    bias
        Whether there is b.
    """

    def __init__(self, width: int, kernel_size: int = 4, bias: bool = True) -> None:
        super().__init__()
        self.width, self.kernel_size = width, kernel_size
        self.weight = nn.Parameter(torch.empty(width, 1, kernel_size))
        self.bias = nn.Parameter(torch.empty(width)) if bias else None
        draw_uniform(self, kernel_size)

    def state_shapes(self, batch: int) -> Shapes:
        """The last k - 1 inputs; they are the state, alone."""
        return {"last inputs": (batch, self.kernel_size - 1, self.width)}

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Map x (B, T, D) to y (B, T, D); the state is the last k - 1 inputs (B, k - 1, D), zeros if None."""
        past = expect_step(x, self.width, state, lambda batch: (batch, self.kernel_size - 1, self.width), self.weight)
        steps = x.shape[1]
        x = torch.cat([past, x], 1)  # (B, k - 1 + T, D)
        y = x[:, :steps] * self.weight[:, 0, 0]
        for j in range(1, self.kernel_size):  # a few products take less time than torch's convolution, which turns axes
            y = torch.addcmul(y, x[:, j : j + steps], self.weight[:, 0, j])
        y = y if self.bias is None else y + self.bias
        return y, x[:, steps:].clone()  # a view would keep all of x
