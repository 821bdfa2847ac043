"""A pair of texts as BERT reads it (Devlin et al. 2018, figure 2)."""

from collections.abc import Sequence


def join_pair(a: Sequence[int], b: Sequence[int], *, cls: int, sep: int) -> tuple[list[int], list[int]]:
    """[CLS] A [SEP] B [SEP], and the segments: 0 up to the first [SEP], then 1."""
    return [cls, *a, sep, *b, sep], [0] * (len(a) + 2) + [1] * (len(b) + 1)
