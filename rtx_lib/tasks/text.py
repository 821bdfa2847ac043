"""Text, one character at a time: name the next one."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from rtx_lib.tasks.splits import check_integer, check_split, in_order
from rtx_lib.tasks.windows import (
    bigram_loss,
    check_ids,
    random_windows,
    streams,
    symbol_loss,
    symbol_metrics,
    unigram_loss,
    whole_windows,
)


class CharacterText:
    """Name the next character of a text, at every position.

    ::

        text    F i r s t   C i t i z e n : ...           length=6
        x       F i r s t _                               a window of the text
        y       i r s t _ C                               the same, one character later

    x and y (B, T) int64 ids. The vocabulary is the sorted characters of the whole text, the attribute
    `characters`: id 0 is the first. All positions count.

    "shakespeare" is tinyshakespeare (Karpathy 2015), 1,115,394 characters, 65 different ones. "pydoc" needs no
    file: it is the help topics that come with Python (`pydoc_data.topics`), in the order of their names with a blank
    line between two. They differ from one version of Python to the next, so results on "pydoc" compare with each
    other only where `digest`, the SHA-256 of the text in UTF-8, is the same.

    Splits as in nanoGPT: the first int(0.9 * characters) are "train", the rest is "valid". There is no third part;
    "test" is "valid" under another name.

    Baselines, losses in nats on "valid": "uniform guess loss" is ln V. For "unigram loss" and "bigram loss", p is
    counted in "train", with one added to every count so that what never occurred there does not cost infinity,

        p(b) = (n(b) + 1) / (n + V),        p(b | a) = (n(a, b) + 1) / (n(a) + V),

    n(a) being the number of pairs that begin with a, and the loss is the mean of -ln p over what `batches` covers.

    Parameters
    ----------
    source : "shakespeare" or "pydoc".
    length : T, the number of predictions in a window, at least 1; "valid" must hold at least one window.
    root, download : where the file is and whether it may be fetched, as for `rtx_lib.tasks.download.fetch`, whose
        errors pass through.

    Raises ValueError for an unknown source or split, a size or length out of range, a prediction of wrong shape,
    or characters and ids that are not in the vocabulary.
    """

    def __init__(
        self,
        source: str = "shakespeare",
        *,
        length: int = 64,
        root: str | os.PathLike[str] | None = None,
        download: bool | None = None,
    ) -> None:
        if source not in ("shakespeare", "pydoc"):
            raise ValueError(f"source is {source!r}; it must be one of 'shakespeare', 'pydoc'")
        self.length = check_integer("length", length, 1)
        text = _pydoc() if source == "pydoc" else _shakespeare(root, download)
        self.source = source
        self.name = f"{source}-{self.length}"
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self.characters = "".join(sorted(set(text)))
        self.vocabulary = self.input_size = self.output_size = len(self.characters)
        self._ids = {character: number for number, character in enumerate(self.characters)}
        cut = int(0.9 * len(text))
        ids = self.encode(text)
        self._data = {"train": ids[:cut], "valid": ids[cut:], "test": ids[cut:]}
        longest = len(self._data["valid"]) - 1
        if self.length > longest:
            raise ValueError(f"length is {self.length}; it must be at most {longest}, or 'valid' holds no window")

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x, y (size, T): windows that begin anywhere in the split, drawn with replacement."""
        return random_windows(self._data[check_split(split)], self.length, size, generator)

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through a split in consecutive windows, `size` at a time.

        Every character but the first is a label once; what does not fill a last window is left out.
        """
        windows = whole_windows(self._data[check_split(split)], self.length)
        return ((x, y) for x, y in in_order(windows, check_integer("size", size, 1)))

    def stream(self, split: str, size: int, length: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Cut a split into `size` parallel streams, and these into pieces x, y (size, length), in order.

        Row i of a piece goes on in row i of the next. What does not fill a last piece of all streams is left out.
        Raises ValueError where the split does not hold one piece.
        """
        return streams(self._data[check_split(split)], size, length, split)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats over all positions; prediction (B, T, V) logits, y (B, T) ids."""
        return symbol_loss(prediction, y, self.output_size)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "bpc", "accuracy"}: nats and bits for a character, and the share of characters named."""
        return symbol_metrics(prediction, y, self.output_size)

    def baselines(self) -> dict[str, float]:
        """{"uniform guess loss", "unigram loss", "bigram loss"}, in nats on "valid" (defined above)."""
        v, train = len(self.characters), self._data["train"]
        x, y = (window.flatten() for window in whole_windows(self._data["valid"], self.length))
        return {
            "uniform guess loss": math.log(v),
            "unigram loss": unigram_loss(train, y, v),
            "bigram loss": bigram_loss(train, x, y, v),
        }

    def encode(self, text: str) -> Tensor:
        """The ids (T,) of a text; ValueError for a character that the vocabulary lacks."""
        try:
            return torch.tensor([self._ids[character] for character in text], dtype=torch.int64)
        except KeyError as error:
            known = f"the {len(self.characters)} characters of {self.source}: {self.characters!r}"
            raise ValueError(f"text holds {error.args[0]!r}; it must keep to {known}") from None

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """The text of ids (T,); ValueError for another shape or an id that is not in 0..V-1."""
        return "".join(self.characters[number] for number in check_ids(ids, len(self.characters)))


def _shakespeare(root: str | os.PathLike[str] | None, download: bool | None) -> str:
    from rtx_lib.tasks.download import fetch  # here, so that `python -m` starts a module not yet loaded

    return fetch("tinyshakespeare.txt", root, download=download).read_bytes().decode()


def _pydoc() -> str:
    from pydoc_data.topics import topics  # here, because it is half a megabyte

    return "\n\n".join(topics[name] for name in sorted(topics))
