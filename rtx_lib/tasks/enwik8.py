"""enwik8, the start of an English Wikipedia: name the next byte."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from rtx_lib.tasks.files import fetch
from rtx_lib.tasks.splits import check_integer
from rtx_lib.tasks.windows import Windows, check_ids, symbol_loss, symbol_metrics

_PIECE = 10_000_000  # positions counted at a time


class Enwik8:
    """Name the next byte of 100 million bytes of English Wikipedia, at every position.

    ::

        text    < m e d i a w i k i  ...           length=6
        x       < m e d i a                        a window of the text
        y       m e d i a w                        the same, one byte later

    x and y (B, T) int64 ids. The file is the first 10^8 bytes of the dump of 3 March 2006, in UTF-8 with its XML
    (M. Mahoney, *About the Test Data*, mattmahoney.net/dc/textdata.html); a byte is not always a whole character. The
    vocabulary is the sorted bytes of the whole file, the attribute `symbols`: id 0 is the first. All positions count.

    Splits as in the literature: the last twentieth, 5 million bytes, is "test", the one before it "valid", and the
    90 million bytes in front of these are "train".

    The code of Dai et al. (2019) loses the ends of lines: it writes them as ends of lines, and reads the file line by
    line. Its vocabulary is smaller by one, 204 ids, and its bits are for a byte that is no end of a line.
    ``newlines=False`` cuts the splits and then leaves these bytes out, to compare with what was measured so.

    Baselines, losses in nats over what `batches("test", ...)` covers: "uniform guess loss" is ln V; "unigram loss" and
    "bigram loss" count in "train", as defined for `rtx_lib.tasks.CharacterText`.

    The ids are kept as bytes and widened a batch at a time. Reading takes about four times the size of the file.

    Parameters
    ----------
    length
        T, the number of predictions in a window, at least 1; every split must hold one window.
    newlines
        Whether ends of lines belong to the text.
    download
        Whether the file, a zip of 36 MB, may be fetched, as for `rtx_lib.tasks.fetch`, whose errors pass through.

    Raises
    ------
    ValueError
        For an unknown split, a size or length out of range, a prediction of wrong shape, or bytes and ids that are not
        in the vocabulary.
    """

    def __init__(self, length: int, *, newlines: bool = True, download: bool | None = None) -> None:
        self.length = check_integer("length", length, 1)
        self.newlines = newlines
        self.name = f"enwik8-{self.length}" + ("" if newlines else "-without-newlines")
        with zipfile.ZipFile(fetch("enwik8.zip", download=download)) as archive:
            text = archive.read("enwik8")
        left_out = b"" if newlines else b"\n"
        self.symbols = bytes(byte for byte in range(256) if byte in text and byte not in left_out)
        self.vocabulary = self.input_size = self.output_size = len(self.symbols)
        self._table = bytearray(256)  # the id of each byte
        for number, byte in enumerate(self.symbols):
            self._table[byte] = number
        part = len(text) // 20
        cuts = {"train": slice(0, -2 * part), "valid": slice(-2 * part, -part), "test": slice(-part, None)}
        self._data = {split: self._ids(text[cut], left_out) for split, cut in cuts.items()}
        self._windows = Windows(self._data, self.length)

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x, y (size, T): windows that begin anywhere in the split, drawn with replacement."""
        return self._windows.batch(split, size, generator)

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through the windows of a split, `size` at a time; the rest is one shorter window, alone.

        Every byte but the first is a label once.
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
        """{"loss", "bpc", "accuracy"}: nats and bits for a byte, and the share of bytes named."""
        return symbol_metrics(prediction, y, self.output_size, bits=True)

    def weight(self, y: Tensor) -> int:
        """The number of positions in labels y (B, T)."""
        return y.numel()

    def baselines(self) -> dict[str, float]:
        """{"uniform guess loss", "unigram loss", "bigram loss"}, in nats on "test" (defined above)."""
        v, train = self.output_size, self._data["train"]
        pairs, asked = _pairs(train, v) + 1, _pairs(self._data["test"], v)
        single = train.bincount(minlength=v).double() + 1
        unigram, bigram = -(single / single.sum()).log(), -(pairs / pairs.sum(1, keepdim=True)).log()
        means = {
            f"{name} loss": ((asked * nats).sum() / asked.sum()).item()
            for name, nats in (("unigram", unigram), ("bigram", bigram))
        }
        return {"uniform guess loss": math.log(v), **means}

    def encode(self, text: bytes) -> Tensor:
        """The ids (T,) of bytes; ValueError for a byte that the vocabulary lacks, or for something else."""
        if not isinstance(text, bytes):
            raise ValueError(f"text must be bytes, got {type(text).__name__}")
        if unknown := text.translate(None, self.symbols):
            raise ValueError(f"text must keep to the {self.vocabulary} bytes of enwik8, got {unknown[:1]!r}")
        return self._ids(text).long()

    def decode(self, ids: Tensor | Sequence[int]) -> bytes:
        """The bytes of ids (T,); ValueError for another shape or an id that is not in 0..V-1."""
        return bytes(self.symbols[number] for number in check_ids(ids, self.vocabulary))

    def _ids(self, text: bytes, left_out: bytes = b"") -> Tensor:
        """The ids of a text as uint8."""
        ids = bytearray(text.translate(self._table, left_out))
        return torch.frombuffer(ids, dtype=torch.uint8) if ids else torch.zeros(0, dtype=torch.uint8)


def _pairs(ids: Tensor, symbols: int) -> Tensor:
    """How often b follows a, (V, V) float64, counted in pieces: 90 million ids in int64 would be 720 MB."""
    counts = torch.zeros(symbols**2, dtype=torch.float64)
    for first in range(0, len(ids) - 1, _PIECE):
        piece = ids[first : first + _PIECE + 1].int()  # the last id begins the next piece
        counts += (piece[:-1] * symbols + piece[1:]).bincount(minlength=symbols**2)
    return counts.view(symbols, symbols)
