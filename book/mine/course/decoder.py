"""A tokenizer of byte pairs, and a decoder-only Transformer with a cache."""

from typing import Any

from torch import Tensor, nn

Pair = tuple[bytes, bytes]


def learn(text: str, count: int) -> list[Pair]:
    """The pairs in the order of learning: ``count``, or while neighbours are left."""
    raise NotImplementedError


def encode(text: str, merges: list[Pair]) -> list[bytes]:
    """The pieces of any text."""
    raise NotImplementedError


def decode(pieces: list[bytes]) -> str:
    """The text that falls into these pieces."""
    raise NotImplementedError


class Decoder(nn.Module):
    """Logits for the next id at each place, of texts of at most ``length`` ids."""

    def __init__(
        self, vocabulary: int, width: int, heads: int, layers: int, length: int
    ) -> None:
        raise NotImplementedError

    def forward(self, ids: Tensor, cache: Any = None) -> tuple[Tensor, Any]:
        """Map ids (B, T) to (B, T, V), and give the cache of all that was read.

        The cache that goes in is that of the ids before these, None at the start.
        """
        raise NotImplementedError
