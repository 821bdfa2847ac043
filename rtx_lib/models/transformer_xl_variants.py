"""What single experiments change of Transformer-XL: other position schemes, and an adaptive softmax with its tables."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from rtx_lib.layers.adaptive import AdaptiveEmbedding, AdaptiveSoftmax
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


class AdaptiveTransformerXL(TransformerXL):
    """Transformer-XL over a large vocabulary: y are log-probabilities, which serve as logits.

    Not under ``vmap``: how many ids a cluster has is a value.

    Parameters
    ----------
    vocabulary
        V, of x and of y.
    width
        D.
    cutoffs, divide, embedding_size, tied
        Of the adaptive softmax and its tables (:mod:`rtx_lib.layers.adaptive`). Their projections start from
        N(0, 0.01^2).
    """

    def __init__(
        self,
        vocabulary: int,
        *,
        width: int,
        cutoffs: Sequence[int] = (),
        divide: int = 1,
        embedding_size: int | None = None,
        tied: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(width, 1, width=width, **options)  # with ends that the next lines replace
        self.input_size = self.output_size = vocabulary
        self.embedding = AdaptiveEmbedding(vocabulary, width, cutoffs, embedding_size=embedding_size, divide=divide)
        self.readout = AdaptiveSoftmax(self.embedding, tied=tied)
        self._start()

    def embed(self, x: Tensor) -> Tensor:
        """The first layer's input (B, T, D)."""
        h: Tensor = self.embedding(x)
        return h

    def nll(self, h: Tensor, target: Tensor) -> Tensor:
        """-log p(target) in nats, (B, T), after h (B, T, D) from `encode`.

        It is much cheaper than y: a later cluster is computed for its own targets alone.
        """
        nll: Tensor = self.readout.nll(h, target)
        return nll
