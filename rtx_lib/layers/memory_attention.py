"""Attention that reads a memory of hidden states as if it stood before its input."""

from typing import Any

from torch import Tensor, nn

from .attention import MultiHeadAttention


class MemoryAttention(nn.Module):
    """Multi-head attention to hidden states that were kept and to the past, under any position scheme, without biases.

    It stands in the place of Transformer-XL's own attention where schemes are compared, as in table 6 of Dai et al.
    (2019), and is called alike. The memory holds what the layer below computed, and becomes keys and values in each
    call anew.

    Parameters
    ----------
    width, heads, attention_dropout
        As in :class:`~rtx_lib.layers.attention.MultiHeadAttention`.
    positions
        A scheme that acts in attention (:mod:`rtx_lib.layers.positions`), or None. Positions are counted from the start
        of the memory.
    dropout
        Probability with which a value of the output is dropped in training.
    """

    def __init__(
        self, width: int, heads: int, positions: Any, *, dropout: float = 0.0, attention_dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.width = width
        self.inner = MultiHeadAttention(width, heads, bias=False, dropout=attention_dropout, positions=positions)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, memory: Tensor | None = None, *, mask: Tensor | None = None) -> Tensor:
        """Attend from x (B, T, D) to the memory (B, M, D) and to x itself."""
        cache = self.inner.keys_and_values(memory) if memory is not None and memory.shape[1] else None
        y, _ = self.inner(x, cache=cache, mask=mask, causal=mask is None)
        return self.dropout(y)
