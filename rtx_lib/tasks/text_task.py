"""A text of one's own as a task: name the next character, word, byte or piece."""

from __future__ import annotations

import codecs
import io
import math
import os
import re
import string
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.byte_pairs import BYTES, BytePairs, split
from rtx_lib.tasks.splits import SPLITS, NoData, draw_batch, perplexity, run_through
from rtx_lib.tasks.vocabulary import ids_of, numbers_of
from rtx_lib.tasks.windows import Windows, count_baselines, read_streams, symbol_count, symbol_loss, symbol_metrics

LEVELS = ("character", "word", "bytes", "pieces")
UNKNOWN = "<unk>"
_SETTINGS = ("name", "length", "level", "encoding")
_BYTES = bytes(range(256))
_PIECE = 1 << 20  # characters read at a time
_PAIRED = 1024  # the largest vocabulary of which pairs are counted: a table of 8 MB
_OPENING, _CLOSING = "([{“‘«¿¡（《「", ".,;:!?…)]}”’»%、。，！？：；）》」"
_SIGNS = re.escape(string.punctuation + _OPENING + _CLOSING + "–—„‚")
_WORD = re.compile(rf"[^\s{_SIGNS}]+(?:(?:['’_-]|(?<=\d)[.,](?=\d))[^\s{_SIGNS}]+)*|([{_SIGNS}])\1*|\n")

Source = str | Path


class TextTask:
    """Name the next character, word, byte or piece of a text of one's own, at every position.

    ::

        task = TextTask("mine.txt", length=64)
        model = Readout(LSTM(task.vocabulary, 128), task)

        text    T h e _ b o o k ...                length=6
        x       T h e _ b o                        a window of the text
        y       h e _ b o o                        the same, one symbol later

    x and y (B, T) int64 ids. `symbols` is the vocabulary: id 0 is the first.

    - ``"character"``: the sorted characters of the whole text.
    - ``"word"``: ``<unk>``, which stands for every word without an id, and the most frequent words of those that
      "train" holds twice or more. Words are what spaces and punctuation separate; a run of one sign is a word, and so
      is the end of a line. `decode` puts spaces between words where print has them.
    - ``"bytes"``: all 256, whatever the file holds. Nothing is translated, and `decode` shows what is no character
      as �.
    - ``"pieces"``: the 256 bytes, and what `rtx_lib.tasks.BytePairs` learns in the words of "train": any text can be
      encoded.

    Bytes apart, the ends of lines, of DOS too, are ``"\\n"``, and a mark of byte order is no symbol.

    Memory: a file of bytes is mapped, not read, and so takes none; several files, or a text, take one byte for each.
    Characters take one byte each, or two where there are more than 256 different ones; words four bytes each while they
    are read, and then two where there are at most 32,768; so do pieces. The text itself is never in memory as a whole.

    Baselines, losses in nats over what ``batches("test", ...)`` covers: "uniform guess loss" is ln V; "unigram loss"
    and, where there are at most 1024 symbols, "bigram loss" count in "train", as defined for
    `rtx_lib.tasks.CharacterText`.

    Parameters
    ----------
    source
        A file's name, or several, which are read one behind the other; or the text itself, if it holds the end of a
        line. Any text may be given as ``text=``.
    length
        T, the number of predictions in a window, at least 1; every split must hold one window.
    level
        "character", "word", "bytes" or "pieces".
    splits
        The shares of "train", "valid" and "test", which lie in this order in the text. They sum to 1.
    seed
        Draws the order in which several files are read, so that it is not the last of them that are held out. As they
        are named if None.
    words
        V at most, at the levels of words and of pieces; more than 256 for pieces.
    encoding
        How characters are written in the files, by Python's name for it, such as ``"cp1252"`` for old DOS and Windows.
    """

    batch, batches, stream = draw_batch, run_through, read_streams  # methods, written once in splits.py and windows.py
    loss, metrics, weight = symbol_loss, symbol_metrics, symbol_count

    def __init__(
        self,
        source: Source | Sequence[Source] | None = None,
        length: int = 64,
        level: str = "character",
        splits: Sequence[float] = (0.8, 0.1, 0.1),
        seed: int | None = None,
        *,
        text: str | None = None,
        words: int = 10_000,
        encoding: str = "utf-8",
    ) -> None:
        expect_each(length=length, level=(level, LEVELS), words=(words, 257 if level == "pieces" else 3))
        if len(splits) != 3 or min(splits) <= 0 or not math.isclose(sum(splits), 1):
            raise ValueError(f"splits must be three shares above 0 that sum to 1, got {splits}")
        self.length, self.level, self.encoding = length, level, encoding
        sources = _sources(source, text)
        if seed is not None:
            order = torch.randperm(len(sources), generator=torch.Generator().manual_seed(seed))
            sources = [sources[i] for i in order]
        self.name = f"{'text' if text or isinstance(sources[0], str) else sources[0].stem}-{level}-{length}"
        symbols: Any
        if level in ("word", "pieces"):
            read = _read_words if level == "word" else _read_pieces
            symbols, ids = read(sources, encoding, splits[0], words)
        else:
            symbols, ids = (_read_bytes if level == "bytes" else _read_characters)(sources, encoding)
        self._name(symbols)
        ends = [0, *(round(len(ids) * share) for share in (splits[0], splits[0] + splits[1])), len(ids)]
        self._data = {split: ids[a:b] for split, a, b in zip(SPLITS, ends[:-1], ends[1:], strict=True)}
        sizes = {split: len(part) for split, part in self._data.items()}
        if min(sizes.values()) <= length:
            unit = f"{level.removesuffix('s')}s"
            raise ValueError(
                f"source must be a longer text for windows of length {length}, which take {length + 1} {unit} "
                f"of each split, or length a smaller one, got {sizes}"
            )
        self.splits: Any = Windows(self._data, length)

    def _name(self, symbols: Any) -> None:
        """Set the vocabulary and what follows from it; given are for pieces the merges, their bytes as Latin-1."""
        self._kept = symbols  # by `configuration`
        if self.level == "pieces":
            self._pairs = BytePairs((first.encode("latin-1"), second.encode("latin-1")) for first, second in symbols)
            symbols = self._pairs.vocabulary
        self.symbols = symbols
        self.vocabulary = self.input_size = self.output_size = len(symbols)
        self.bits = self.level in ("character", "bytes")  # metrics have "bpc", and for the others a perplexity
        self._ids: dict[Any, int] = {symbol: number for number, symbol in enumerate(symbols)}
        # What `generate` begins an empty prompt behind, and what it never draws.
        self.start = self._ids.get({"bytes": 10, "pieces": b"\n"}.get(self.level, "\n"), 0)
        self.unknown = 0 if self.level == "word" else None

    def finish(self, metrics: dict[str, float]) -> dict[str, float]:
        """`metrics` of a whole split, for words and pieces with "perplexity", e to the mean loss."""
        return metrics if self.bits else {**metrics, "perplexity": perplexity(metrics["loss"])}

    def baselines(self) -> dict[str, float]:
        """{"uniform guess loss", "unigram loss"}, for few symbols also "bigram loss" (defined above)."""
        train, test = self.splits.finite("train"), self.splits.finite("test")
        return count_baselines(train, test, self.output_size, pairs=self.vocabulary <= _PAIRED)

    def encode(self, text: str) -> Tensor:
        """The ids (T,) of a text; ValueError for a character that the vocabulary lacks. Other words are ``<unk>``."""
        if self.level == "bytes":
            try:
                return torch.tensor([*text.encode(self.encoding)], dtype=torch.int64)
            except UnicodeEncodeError as error:
                raise ValueError(f"text must keep to {self.encoding}, got {text[error.start]!r}") from None
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if self.level == "word":
            return torch.tensor([self._ids.get(word, 0) for word in _split(text)], dtype=torch.int64)
        if self.level == "pieces":
            return torch.tensor(self._pairs.encode(text), dtype=torch.int64)
        shown = f": {self.symbols!r}" if self.vocabulary <= 100 else ""
        return ids_of(text, self._ids, f"the {self.vocabulary} characters of {self.name}{shown}")

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """The text of ids (T,); ValueError for another shape or an id that is not in 0..V-1."""
        numbers = numbers_of(ids, self.vocabulary)
        if self.level == "bytes":
            return bytes(numbers).decode(self.encoding, "replace")
        if self.level == "pieces":
            return self._pairs.decode(numbers)
        words = [self.symbols[number] for number in numbers]
        return _join(words) if self.level == "word" else "".join(words)

    def configuration(self) -> dict[str, Any]:
        """What `rtx_lib.save` keeps: the vocabulary and the settings, without the text."""
        symbols = None if self.level == "bytes" else self._kept
        return {name: getattr(self, name) for name in _SETTINGS} | {"symbols": symbols}

    @classmethod
    def from_configuration(cls, configuration: dict[str, Any]) -> TextTask:
        """The task of a `configuration`: it encodes, decodes and has a loss, but no data."""
        task = cls.__new__(cls)
        for name in _SETTINGS:
            setattr(task, name, configuration[name])
        task._name(_BYTES if task.level == "bytes" else configuration["symbols"])
        task.splits = NoData(task.name)
        return task


def _sources(source: Source | Sequence[Source] | None, text: str | None) -> list[Any]:
    """The files' paths, or the text itself."""
    if (source is None) == (text is None):
        raise ValueError("source must be a file, several, or a text, or else text must be given, got both or neither")
    if text is not None or (isinstance(source, str) and re.search("[\r\n]", source)):
        return [source if text is None else text]
    given = [source] if isinstance(source, str | Path) else list(source or ())
    for one in given or [""]:
        if not os.path.isfile(one):
            rule = "source must be a file, or a text of several lines (or any text, as text=)"
            why = "is a folder" if os.path.isdir(one) else f"is not in {Path(one).absolute().parent}"
            raise ValueError(f"{rule}, got {str(one)[:200]!r}, which {why}")
    return [Path(one) for one in given]


def _pieces(sources: Sequence[Any], encoding: str) -> Iterator[str]:
    """The texts one behind the other, some lines at a time; what follows a text begins a line.

    No word is cut in two: where no line ends for long, what follows the last white space is left to the next piece.
    """
    for number, source in enumerate(sources):
        piece = "\n"
        try:
            with io.StringIO(source, None) if isinstance(source, str) else source.open(encoding=encoding) as file:
                rest = file.read(1).removeprefix("\ufeff")  # the mark of byte order
                while more := file.read(_PIECE) + file.readline(1000):
                    more = rest + more
                    end = 0 if more.endswith("\n") else max(map(more.rfind, " \t\n"))
                    piece, rest = (more[:end], more[end:]) if end > 0 else (more, "")
                    yield piece
                if rest:
                    yield (piece := rest)
        except UnicodeError as error:
            raise ValueError(_wrong_byte(source, encoding, str(error))) from None
        if number < len(sources) - 1 and not piece.endswith("\n"):
            yield "\n"


def _wrong_byte(path: Path, encoding: str, message: str) -> str:
    """Which byte it is that the encoding does not know, and what to do."""
    content = path.read_bytes()
    likely = "utf-16" if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "cp1252"
    try:
        content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{content[error.start]:02x} at place {error.start}, in line {line}"
    wrong = f"encoding must be that of {path.name}, which is not {encoding}: {message}"
    return f"{wrong}; try encoding={likely!r}, or level='bytes'"


def _codes(piece: str) -> np.ndarray:
    return np.frombuffer(piece.encode("utf-32-le", "surrogatepass"), np.uint32)


def _small(largest: int) -> type[np.generic]:
    """The smallest type that holds these ids and that torch has."""
    return np.uint8 if largest < 256 else np.int16 if largest < 32_768 else np.int32


def _read_bytes(sources: Sequence[Any], encoding: str) -> tuple[bytes, Tensor]:
    """All bytes, and the ids: a map of the file, where there is one."""
    if len(sources) == 1 and isinstance(sources[0], Path) and sources[0].stat().st_size:
        return _BYTES, torch.from_numpy(np.memmap(sources[0], np.uint8, mode="c"))  # "c": torch warns of what is fixed
    contents = [one.encode(encoding) if isinstance(one, str) else one.read_bytes() for one in sources]
    return _BYTES, torch.from_numpy(np.frombuffer(bytearray().join(contents), np.uint8))


def _read_characters(sources: Sequence[Any], encoding: str) -> tuple[str, Tensor]:
    """The sorted characters, and the ids: read twice, since how many there are decides how ids are kept."""
    seen, count = np.zeros(sys.maxunicode + 1, dtype=bool), 0
    for piece in _pieces(sources, encoding):
        seen[_codes(piece)] = True
        count += len(piece)
    known = np.flatnonzero(seen)
    numbers = np.zeros(len(seen), _small(len(known) - 1))
    numbers[known] = np.arange(len(known))
    ids, at = np.empty(count, numbers.dtype), 0
    for piece in _pieces(sources, encoding):
        ids[at : at + len(piece)] = numbers[_codes(piece)]
        at += len(piece)
    return "".join(map(chr, known)), torch.from_numpy(ids)


def _read_words(sources: Sequence[Any], encoding: str, share: float, most: int) -> tuple[list[str], Tensor]:
    """<unk> and the most frequent words of the first share, equally frequent ones by the alphabet; and the ids."""
    words, numbers, counts = _count(sources, encoding, share, _split)
    frequent = sorted(np.flatnonzero(counts > 1), key=lambda number: (-counts[number], words[number]))[: most - 1]
    new = np.zeros(len(words), _small(len(frequent)))
    new[frequent] = np.arange(1, len(frequent) + 1)
    return [UNKNOWN, *(words[number] for number in frequent)], torch.from_numpy(new[numbers])


def _read_pieces(sources: Sequence[Any], encoding: str, share: float, most: int) -> tuple[list[Any], Tensor]:
    """The merges that the first share of the words teaches, as `configuration` keeps them; and the ids."""
    words, numbers, counts = _count(sources, encoding, share, split)
    pairs = BytePairs.learn(dict(zip(words, counts.tolist(), strict=True)), most - len(BYTES))
    ids = [pairs.encode(word) for word in words]
    every = chain.from_iterable(map(ids.__getitem__, numbers))
    merges = [[piece.decode("latin-1") for piece in pair] for pair in pairs.merges]
    return merges, torch.from_numpy(np.fromiter(every, _small(len(pairs.vocabulary) - 1)))


def _count(
    sources: Sequence[Any], encoding: str, share: float, cut: Callable[[str], Iterable[str]]
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The different words in the order in which they come, the number of each word of the text, and how often each
    stands in its first share."""
    table: dict[str, int] = {}
    ids = array("i")
    for piece in _pieces(sources, encoding):
        ids.extend(table.setdefault(word, len(table)) for word in cut(piece))
    numbers = np.frombuffer(ids, np.intc)
    return [*table], numbers, np.bincount(numbers[: round(len(numbers) * share)], minlength=len(table))


def _split(text: str) -> Iterator[str]:
    return (found.group() for found in _WORD.finditer(text))


def _join(words: Iterable[str]) -> str:
    """Words with spaces between them, but for ends of lines and where punctuation has none."""
    text = re.sub(" ?\n ?", "\n", " ".join(words))
    text = re.sub(rf" (?=[{re.escape(_CLOSING)}])", "", text)
    return re.sub(rf"(?<=[{re.escape(_OPENING)}]) ", "", text)
