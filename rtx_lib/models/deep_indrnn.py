"""Deep independently recurrent networks: a residual and a densely connected net.

Li, Li, Cook, Gao and Zhu, *Deep Independently Recurrent Neural Network (IndRNN)*, 2019 (arXiv 1910.06251). Recurrences,
their initialisation and their bound are those of :mod:`rtx_lib.models.indrnn`; all initial weights follow the authors'
code, Sunnydreamrain/IndRNN_pytorch. Both nets are compared with what that code computes, kept as reference arrays; no
chapter of the book trains them.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.models import indrnn
from rtx_lib.shapes import expect_each


class ResidualIndRNN(nn.Module):
    """A residual net with pre-activation: the shortcut passes no nonlinearity and no recurrence.

    h = fc_0(x); each block adds fc_2(unit_2(fc_1(unit_1(h)))) to h, where a unit is a recurrence with its batch
    normalisation; a last unit and the readout follow. The recurrences number 2 ``num_blocks`` + 1.

    The arguments are those of :class:`~rtx_lib.models.indrnn.IndRNN`, with ``num_blocks``, at least 1, for its layers;
    length, magnitude, norm (here ``"after"`` by default), last_near_one, keep, dropout and backend are the options.
    """

    def __init__(self, input_size: int, hidden_size: int, num_blocks: int, output_size: int, **options: Any) -> None:
        super().__init__()
        expect_each(num_blocks=num_blocks)
        self.input_size, self.output_size = input_size, output_size
        shapes = [(input_size, hidden_size)] + [(hidden_size, hidden_size)] * (2 * num_blocks)
        self.bound, self.linears, self.units = _layers(shapes, **options)
        self.readout = indrnn.he_linear(hidden_size, output_size)

    def forward(self, x: Tensor, state: indrnn.State | None = None) -> tuple[Tensor, indrnn.State]:
        """As :class:`~rtx_lib.models.indrnn.IndRNN`."""
        before = indrnn.states_before(self, x, state)
        after: list[Tensor] = []

        def unit(h: Tensor) -> Tensor:
            y, last = self.units[len(after)](h, before[len(after)])
            after.append(last)
            return y

        h = self.linears[0](x)
        for i in range(1, len(self.linears), 2):
            branch = self.linears[i](unit(h))
            h = h + self.linears[i + 1](unit(branch))
        return self.readout(unit(h)), tuple(after)

    def constrain_(self) -> None:
        """Clamp every u to [-bound, bound] in place."""
        indrnn.clamp_(self.units, self.bound)


class DenseIndRNN(nn.Module):
    """A densely connected net (after Huang et al. 2017): every layer reads all layers of its block.

    With unit(fc(h)) as a layer, h = layer(x) is ``initial_size`` wide; each dense layer appends ``growth`` features,
    layer(layer(h)) through a bottleneck of 4 ``growth``, to h; after each block a layer halves the width, and after
    the last block that layer is the last layer. The recurrences number 1 + the sum of 2 d + 1 over ``block_config``.

    The arguments are otherwise those of :class:`ResidualIndRNN`.

    Parameters
    ----------
    growth
        Features that a dense layer adds.
    block_config
        Number d of dense layers in each block.
    initial_size
        Width of the first layer.
    """

    def __init__(
        self,
        input_size: int,
        growth: int,
        block_config: Sequence[int],
        output_size: int,
        *,
        initial_size: int,
        **options: Any,
    ) -> None:
        super().__init__()
        expect_each(block_config=(block_config, "sizes"))
        self.input_size, self.output_size, self.block_config = input_size, output_size, tuple(block_config)
        shapes, width = [(input_size, initial_size)], initial_size
        for depth in block_config:
            for _ in range(depth):
                shapes += [(width, 4 * growth), (4 * growth, growth)]
                width += growth
            shapes.append((width, width // 2))
            width //= 2
        self.bound, self.linears, self.units = _layers(shapes, **options)
        self.readout = indrnn.he_linear(width, output_size)

    def forward(self, x: Tensor, state: indrnn.State | None = None) -> tuple[Tensor, indrnn.State]:
        """As :class:`ResidualIndRNN`; the recurrences have different widths."""
        before = indrnn.states_before(self, x, state)
        after: list[Tensor] = []

        def layer(h: Tensor) -> Tensor:
            i = len(after)
            y, last = self.units[i](self.linears[i](h), before[i])
            after.append(last)
            return y

        h = layer(x)
        for depth in self.block_config:
            for _ in range(depth):
                h = torch.cat([h, layer(layer(h))], dim=-1)
            h = layer(h)
        return self.readout(h), tuple(after)

    def constrain_(self) -> None:
        """Clamp every u to [-bound, bound] in place."""
        indrnn.clamp_(self.units, self.bound)


def _layers(
    shapes: Sequence[tuple[int, int]],
    *,
    length: int | None = None,
    magnitude: float = 2.0,
    norm: str | None = "after",
    last_near_one: bool = True,
    keep: float = 0.9,
    dropout: float = 0.0,
    backend: str = "auto",
) -> tuple[float, nn.ModuleList, nn.ModuleList]:
    """The bound on u, a linear map for each shape (inputs, outputs), and a recurrence on what it gives."""
    bound = indrnn.recurrent_bound(length, magnitude)
    linears = nn.ModuleList(indrnn.he_linear(*shape, indrnn.AUTHORS_SCALE) for shape in shapes)
    units = [indrnn.Recurrence(size, norm, dropout, backend) for _, size in shapes]
    for unit in units:
        near_one = last_near_one and unit is units[-1]
        indrnn.initialise_recurrent_(unit.u, length, magnitude, near_one=near_one, keep=keep)
    return bound, linears, nn.ModuleList(units)
