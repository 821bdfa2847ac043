"""A core that reads words without their order: what a model reaches that only knows which words there were."""

import torch
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_state

from .stacking import draw_uniform


class Bag(nn.Module):
    """A hidden layer on the mean of all inputs so far, a core for :class:`~rtx_lib.layers.cells.Readout`.

    h_t = tanh(W m_t + b) with m_t = (x_1 + ... + x_t) / t.

    Parameters
    ----------
    input_size, hidden_size
        D_in and H. Weights start from U(-1/sqrt(D_in), 1/sqrt(D_in)).
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.output_size = input_size, hidden_size
        self.linear = nn.Linear(input_size, hidden_size)
        draw_uniform(self.linear, input_size)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Map x (B, T, D_in) to h (B, T, H); the state holds the sum (B, D_in) and the number (B, 1) of all inputs.

        Both are in single precision at least.
        """
        weight = self.linear.weight
        expect(x, ("B", "T", self.input_size), like=weight)
        batch, steps, width = x.shape
        shapes = {"sum": (batch, width, torch.float32), "number": (batch, 1, torch.float32)}
        total, count = expect_state(state, shapes, x)
        totals = total.unsqueeze(1) + x.cumsum(1, dtype=total.dtype)  # (B, T, D_in)
        counts = count + torch.arange(1, steps + 1, dtype=total.dtype, device=x.device)  # (B, T)
        h = torch.tanh(self.linear((totals / counts.unsqueeze(-1)).to(x.dtype)))
        return h, (totals[:, -1].clone(), counts[:, -1:].clone())
