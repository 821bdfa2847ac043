"""What single experiments change of Transformer-XL: other position schemes."""

from typing import Any

from torch import Tensor, nn

from rtx_lib.layers.attention import MultiHeadAttention
from rtx_lib.layers.positions import make_schemes
from rtx_lib.models.transformer_xl import TransformerXL


class MemoryAttention(nn.Module):
    """Multi-head attention to hidden states that were kept and to the past, under any position scheme, without biases.

    It stands in the place of Transformer-XL's own attention where schemes are compared, as in table 6 of Dai et al.
    (2019), and is called alike. The memory holds what the layer below computed, and becomes keys and values in each
    call anew.

    Parameters
    ----------
    width, heads
        As in :class:`~rtx_lib.layers.attention.MultiHeadAttention`.
    positions
        A scheme that acts in attention (:mod:`rtx_lib.layers.positions`), or None. Positions are counted from the start
        of the memory.
    dropout
        Probability with which a value of the output is dropped in training.
    """

    def __init__(self, width: int, heads: int, positions: Any, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.width = width
        self.inner = MultiHeadAttention(width, heads, bias=False, positions=positions)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor | None = None, *, mask: Tensor | None = None) -> Tensor:
        """Attend from x (B, T, D) to the memory (B, M, D) and to x itself."""
        cache = self.inner.keys_and_values(memory) if memory is not None and memory.shape[1] else None
        y, _ = self.inner(x, cache=cache, mask=mask, causal=mask is None)
        return self.dropout(y)


class PositionedTransformerXL(TransformerXL):
    """Transformer-XL under another position scheme than its own.

    Parameters
    ----------
    positions
        One of ``rtx_lib.layers.positions.SCHEMES``. Those that act in attention count from the start of the memory.
        Those that are added to the embedding count from 0 in every segment, so that the positions of memory and segment
        clash; "learned" has ``length`` of them.
    length, clip
        Of the schemes "learned" and "shaw" alone.
    """

    def attentions(  # type: ignore[override]
        self, heads: int, layers: int, *, positions: str, length: int = 1024, clip: int = 16, **dropouts: Any
    ) -> list[Any]:
        """The attention of each layer."""
        below, schemes = make_schemes(positions, layers, width=self.width, heads=heads, length=length, clip=clip)
        self.scheme: Any = below  # what acts on the embedded input
        return [MemoryAttention(self.width, heads, scheme, **dropouts) for scheme in schemes]

    def embed(self, x: Tensor) -> Tensor:
        """The first layer's input (B, T, D)."""
        h = super().embed(x)
        return h if self.scheme is None else self.scheme.embed(h)

    def positions(self, h: Tensor, keys: int) -> dict[str, Tensor]:
        """The mask (T, S) alone."""
        return {"mask": super().positions(h, keys)["mask"]}
