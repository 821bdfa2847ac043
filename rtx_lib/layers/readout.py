"""A recurrent core with a linear readout at every step."""

from typing import Any

import torch
from torch import Tensor, nn

from .shapes import expect_ids, expect_sizes


class Readout(nn.Module):
    """``y_t = V h_t + c`` on top of any recurrent core (*Deep Learning*, 2016, eq. 10.10).

    Parameters
    ----------
    core
        A module ``(x (B, T, D_in), state) -> (h (B, T, D), state)`` with attributes ``input_size`` (D_in)
        and ``output_size`` (D). Its state, a tensor or a tuple of them, passes as it is.
    output_size
        Width of y, at least 1.
    vocabulary
        If given, x holds ids below it, (B, T), and an embedding of width D_in comes first.

    Raises
    ------
    ValueError
        For sizes below 1, and for ids where floats are expected or the other way round.
    """

    def __init__(self, core: nn.Module, output_size: int, *, vocabulary: int | None = None) -> None:
        super().__init__()
        expect_sizes(output_size=output_size, vocabulary=1 if vocabulary is None else vocabulary)
        self.embedding = None if vocabulary is None else nn.Embedding(vocabulary, int(core.input_size))  # type: ignore[arg-type]
        self.core = core
        self.linear = nn.Linear(int(core.output_size), output_size)  # type: ignore[arg-type]

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Map x (B, T, D_in), or ids (B, T), to y (B, T, output_size) and the core's state."""
        if self.embedding is not None:
            x = self.embedding(expect_ids(x, self.embedding.num_embeddings))
        elif not torch.is_floating_point(x):
            raise ValueError(f"x must hold floats because no vocabulary was given, got {x.dtype}")
        h, state = self.core(x, state)
        return self.linear(h), state
