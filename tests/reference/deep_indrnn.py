"""The residual and the densely connected IndRNN (arXiv 1910.06251), as the reference values ask for them: from zeros.

A layer is a linear map and then a recurrence with its batch normalisation.
"""

import torch
from torch import Tensor, nn

from rtx_lib.models.indrnn import Recurrence


class Layers(nn.Module):
    """Linear maps, recurrences in the order in which they run, and a readout."""

    def __init__(self, shapes: list[tuple[int, int]], output_size: int) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(*shape) for shape in shapes)
        self.units = nn.ModuleList(Recurrence(size, "after") for _, size in shapes)
        self.readout = nn.Linear(shapes[-1][1], output_size)


class ResidualIndRNN(Layers):
    """h = fc_0(x); each block adds fc_2(unit_2(fc_1(unit_1(h)))) to h; a last unit follows."""

    def __init__(self, input_size: int, hidden_size: int, blocks: int, output_size: int) -> None:
        super().__init__([(input_size, hidden_size)] + [(hidden_size, hidden_size)] * (2 * blocks), output_size)

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        """Map x (B, T, D_in) to y (B, T, D_out)."""
        units = iter(self.units)

        def unit(h: Tensor) -> Tensor:
            return next(units)(h)[0]

        h = self.linears[0](x)
        for first, second in zip(self.linears[1::2], self.linears[2::2], strict=True):
            branch = first(unit(h))
            h = h + second(unit(branch))
        return self.readout(unit(h)), None


class DenseIndRNN(Layers):
    """A dense layer appends ``growth`` features, by two layers; after each block a layer halves the width."""

    def __init__(self, input_size: int, growth: int, depths: list[int], output_size: int, first: int) -> None:
        shapes, width = [(input_size, first)], first
        for depth in depths:
            for _ in range(depth):
                shapes += [(width, 4 * growth), (4 * growth, growth)]
                width += growth
            shapes.append((width, width // 2))
            width //= 2
        super().__init__(shapes, output_size)
        self.depths = depths

    def forward(self, x: Tensor) -> tuple[Tensor, None]:
        """Map x (B, T, D_in) to y (B, T, D_out)."""
        layers = zip(self.linears, self.units, strict=True)

        def layer(h: Tensor) -> Tensor:
            linear, unit = next(layers)
            return unit(linear(h))[0]

        h = layer(x)
        for depth in self.depths:
            for _ in range(depth):
                h = torch.cat([h, layer(layer(h))], dim=-1)
            h = layer(h)
        return self.readout(h), None
