"""Text, one character at a time: name the next one."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from rtx_lib.tasks.files import fetch
from rtx_lib.tasks.splits import check_choice, check_integer
from rtx_lib.tasks.windows import Windows, bigram_loss, check_ids, ids_of, symbol_loss, symbol_metrics, unigram_loss


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
    source
        "shakespeare" or "pydoc".
    length
        T, the number of predictions in a window, at least 1; "valid" must hold at least one window.
    download
        Whether the file may be fetched, as for `rtx_lib.tasks.fetch`, whose errors pass through.

    Raises
    ------
    ValueError
        For an unknown source or split, a size or length out of range, a prediction of wrong shape, or characters and
        ids that are not in the vocabulary.
    """

    def __init__(self, source: str = "shakespeare", *, length: int = 64, download: bool | None = None) -> None:
        check_choice("source", source, ("shakespeare", "pydoc"))
        self.length = check_integer("length", length, 1)
        text = _pydoc() if source == "pydoc" else _shakespeare(download)
        self.source = source
        self.name = f"{source}-{self.length}"
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self.characters = "".join(sorted(set(text)))
        self.vocabulary = self.input_size = self.output_size = len(self.characters)
        self._ids = {character: number for number, character in enumerate(self.characters)}
        ids, cut = self.encode(text), int(0.9 * len(text))
        self._data = {"train": ids[:cut], "valid": ids[cut:], "test": ids[cut:]}
        self._windows = Windows(self._data, self.length, rest=False)

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x, y (size, T): windows that begin anywhere in the split, drawn with replacement."""
        return self._windows.batch(split, size, generator)

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through a split in consecutive windows, `size` at a time.

        Every character but the first is a label once; what does not fill a last window is left out.
        """
        return self._windows.batches(split, size)

    def stream(self, split: str, size: int, length: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Cut a split into `size` parallel streams, and these into pieces x, y (size, length), in order.

        Row i of a piece goes on in row i of the next. What does not fill a last piece of all streams is left out.
        Raises ValueError where the split does not hold one piece.
        """
        return self._windows.stream(split, size, length)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats over all positions; prediction (B, T, V) logits, y (B, T) ids."""
        return symbol_loss(prediction, y, self.output_size)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "bpc", "accuracy"}: nats and bits for a character, and the share of characters named."""
        return symbol_metrics(prediction, y, self.output_size, bits=True)

    def baselines(self) -> dict[str, float]:
        """{"uniform guess loss", "unigram loss", "bigram loss"}, in nats on "valid" (defined above)."""
        v, train, valid = self.output_size, self._data["train"], self._data["valid"]
        covered = (len(valid) - 1) // self.length * self.length  # by whole windows
        x, y = valid[:covered], valid[1 : covered + 1]
        return {
            "uniform guess loss": math.log(v),
            "unigram loss": unigram_loss(train, y, v),
            "bigram loss": bigram_loss(train, x, y, v),
        }

    def encode(self, text: str) -> Tensor:
        """The ids (T,) of a text; ValueError for a character that the vocabulary lacks."""
        known = f"the {self.vocabulary} characters of {self.source}: {self.characters!r}"
        return ids_of(text, self._ids, known)

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """The text of ids (T,); ValueError for another shape or an id that is not in 0..V-1."""
        return "".join(self.characters[number] for number in check_ids(ids, self.vocabulary))


def _shakespeare(download: bool | None) -> str:
    return fetch("tinyshakespeare.txt", download=download).read_bytes().decode()


def _pydoc() -> str:
    from pydoc_data.topics import topics  # here, because it is half a megabyte

    return "\n\n".join(topics[name] for name in sorted(topics))
