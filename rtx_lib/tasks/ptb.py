"""The Penn Treebank, by words and by characters: name the next one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from rtx_lib.tasks.files import fetch
from rtx_lib.tasks.splits import SPLITS, check_choice, check_integer
from rtx_lib.tasks.windows import Windows, bigram_loss, check_ids, ids_of, symbol_loss, symbol_metrics, unigram_loss

LEVELS = ("characters", "words")


class PennTreebank:
    """Name the next word or character of the Wall Street Journal, at every position behind a context.

    ::

        length=6, context=4         ctx: read, not scored       ^ scored

        text     n o _ i t _ w a s n ' t ...
        window   n o _ i t _                  x
                 o _ i t _ w                  y, one later
                 ctx     ^ ^
        next         _ i t _ w a              begins length - context later, so that it scores the next two
                             ^ ^

    x and y (B, T) int64 ids. The files are those of Mikolov et al. (2010): lower case, rare words replaced by
    ``<unk>``, numbers by ``N``. "words" are what spaces separate, with ``<eos>`` for the end of a line: 10,000
    different ones, ids in the order of their frequency in "train" (equal ones alphabetically), and
    929,589 / 73,760 / 82,430 in "train" / "valid" / "test". "characters" are the text without the ends of its lines:
    49 different ones, sorted, of which ``<unk>`` takes five, and 5,059,550 / 396,412 / 446,184 in the
    splits. The attribute `symbols` is the vocabulary: id 0 is the first.

    The protocol is that of Bai, Kolter and Koltun (2018), which R-Transformer took over: a model without state reads
    windows of `length`, of which the first `context` positions are not scored, so that every prediction that counts
    knows at least `context` symbols before its own. In `batches` every symbol of a split but the first context + 1
    is scored once. Their numbers are length 400, context 80 for characters and 80, 40 for words.

    Baselines, losses in nats over what `batches("test", ...)` scores: "uniform guess loss" is ln V; "unigram loss"
    and, for characters, "bigram loss" count in "train", as defined for `rtx_lib.tasks.CharacterText`.

    Parameters
    ----------
    level
        "characters" or "words".
    length
        T, the number of predictions in a window, more than `context`; every split must hold one window.
    context
        The first positions of each window, which are not scored, at least 0.
    download
        Whether the files may be fetched, as for `rtx_lib.tasks.fetch`, whose errors pass through.

    Raises
    ------
    ValueError
        For an unknown level or split, a size, length or context out of range, a prediction of wrong shape, or words,
        characters and ids that are not in the vocabulary.
    """

    def __init__(
        self, level: str = "characters", *, length: int, context: int = 0, download: bool | None = None
    ) -> None:
        self.level = check_choice("level", level, LEVELS)
        self.length, self.context = check_integer("length", length, 1), check_integer("context", context, 0)
        if self.context >= self.length:
            raise ValueError(f"context must be less than length, {self.length}, got {self.context}")
        self.name = f"ptb-{level}-{self.length}" + (f"-context-{self.context}" if self.context else "")
        # Fetch all before reading any, so that a missing file is known at once.
        paths = {split: fetch(f"ptb.{split}.txt", download=download) for split in SPLITS}
        texts = {split: path.read_bytes().decode() for split, path in paths.items()}
        if level == "characters":
            texts = {split: text.replace("\n", "") for split, text in texts.items()}
        counts = Counter(self._split(texts["train"]))
        self.symbols = tuple(sorted(counts))
        if level == "words":
            self.symbols = tuple(sorted(self.symbols, key=lambda word: -counts[word]))  # equal ones stay in order
        self.vocabulary = self.input_size = self.output_size = len(self.symbols)
        self._ids = {symbol: number for number, symbol in enumerate(self.symbols)}
        self._data = {split: self.encode(text).short() for split, text in texts.items()}  # two bytes are enough
        self._windows = Windows(self._data, self.length, self.context)

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x, y (size, T): windows that begin anywhere in the split, drawn with replacement."""
        return self._windows.batch(split, size, generator)

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through the windows of a split, `size` at a time; the rest is one shorter window, alone."""
        return self._windows.batches(split, size)

    def stream(self, split: str, size: int, length: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Cut a split into `size` parallel streams, and these into pieces x, y (size, length), in order.

        Row i of a piece goes on in row i of the next. What does not fill a last piece of all streams is left out.
        For models that carry a state, which is their context: raises ValueError unless `context` is 0, or where the
        split does not hold one piece.
        """
        if self.context:
            raise ValueError(f"context must be 0 for streams, where every position counts, got {self.context}")
        return self._windows.stream(split, size, length)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats over the scored positions; prediction (B, T, V) logits, y (B, T) ids."""
        return symbol_loss(prediction, y, self.output_size, self.context)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy"}, for characters also "bpc": nats, the share of right symbols, bits; where scored."""
        return symbol_metrics(prediction, y, self.output_size, self.context, bits=self.level == "characters")

    def weight(self, y: Tensor) -> int:
        """The number of scored positions in labels y (B, T)."""
        return len(y) * max(y.shape[1] - self.context, 0)

    def finish(self, metrics: dict[str, float]) -> dict[str, float]:
        """`metrics` of a whole split, for words with "perplexity", e to the mean loss.

        Perplexities of batches must not be averaged: their mean is not that of the whole, but larger.
        """
        return metrics if self.level == "characters" else {**metrics, "perplexity": math.exp(metrics["loss"])}

    def baselines(self) -> dict[str, float]:
        """{"uniform guess loss", "unigram loss"}, for characters also "bigram loss", in nats on "test"."""
        v, train, test = self.output_size, self._data["train"], self._data["test"][self.context :]
        baselines = {"uniform guess loss": math.log(v), "unigram loss": unigram_loss(train, test[1:], v)}
        if self.level == "characters":
            baselines["bigram loss"] = bigram_loss(train, test[:-1], test[1:], v)
        return baselines

    def encode(self, text: str | Sequence[str]) -> Tensor:
        """The ids (T,) of a text or of a list of symbols; ValueError for one that the vocabulary lacks.

        A text is split as the files are, but at the level of characters an end of line is an unknown character.
        """
        symbols = self._split(text) if isinstance(text, str) else text
        return ids_of(symbols, self._ids, f"the {len(self.symbols)} {self.level} of PTB")

    def decode(self, ids: Tensor | Sequence[int]) -> str:
        """The text of ids (T,), words with spaces between; ValueError for another shape or an id not in 0..V-1."""
        numbers = check_ids(ids, self.output_size)
        return ("" if self.level == "characters" else " ").join(self.symbols[number] for number in numbers)

    def _split(self, text: str) -> Sequence[str]:
        return text if self.level == "characters" else text.replace("\n", " <eos> ").split()
