"""What single experiments change of the R-Transformer: positions, and the way in which the authors' copies start."""

from typing import Any

import torch
from torch import Tensor

from rtx_lib.layers.positions import make_schemes
from rtx_lib.layers.stacking import draw_uniform
from rtx_lib.models.r_transformer import RTransformer, RTransformerBlock


class PositionedRTransformer(RTransformer):
    """An R-Transformer that is told the positions: ``positions``, ``length`` and ``clip`` as in a Stack's."""

    def layers(  # type: ignore[override]
        self,
        width: int,
        heads: int,
        layers: int,
        window: int,
        *,
        positions: str,
        length: int = 1024,
        clip: int = 16,
        **options: Any,
    ) -> list[RTransformerBlock]:
        """The layers."""
        below, schemes = make_schemes(positions, layers, width=width, heads=heads, length=length, clip=clip)
        self.positions: Any = below  # what acts on the embedded input
        return [RTransformerBlock(width, heads, window, positions=own, **options) for own in schemes]

    def place(self, x: Tensor, past: int) -> Tensor:
        """The embedded x (B, T, D), which stands behind so many steps, with positions that are added to it."""
        return x if self.positions is None else self.positions.embed(x, past)


class ClonedRTransformer(RTransformer):
    """An R-Transformer that starts as the authors' copies of one layer do.

    W_q = W_k = W_v = W_o in every layer, and one bias for the four, both from U(-1/sqrt(D), 1/sqrt(D)),
    ``torch.nn.Linear``'s rule; the LocalRNNs of a layer start equal too. Training tells them apart, as each has its own
    gradient.
    """

    def __init__(self, input_size: int, output_size: int, **options: Any) -> None:
        super().__init__(input_size, output_size, **options)
        for block in self.blocks:
            _start_equal(block)


@torch.no_grad()
def _start_equal(block: Any) -> None:
    """Let the four matrices of a layer's attention start as one, and its LocalRNNs as its first."""
    attention, (first, *others) = block.block.self_attention, block.local_rnns
    one = attention.out_proj
    draw_uniform(one, attention.width)
    attention.in_proj_weight.copy_(one.weight.repeat(3, 1))
    attention.in_proj_bias.copy_(one.bias.repeat(3))
    for other in others:
        other.load_state_dict(first.state_dict())
