"""What a word is in its sentence: its class, and which of its senses it has. One vector a word cannot always tell."""

import math
from typing import Any

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.corpora import SENSES, SOURCES, TAGGED, Sentence, senses, tagged
from rtx_lib.tasks.sentence_classes import frame
from rtx_lib.tasks.splits import SPLITS, Rows, draw_batch, run_through
from rtx_lib.tasks.vocabulary import IGNORED, PAD, Vocabulary, pad_rows, trim
from rtx_lib.tasks.windows import symbol_count, symbol_loss, symbol_metrics


def _baselines(task: Any) -> dict[str, float]:
    """{"most frequent label", "one vector a word", "uniform guess loss"}, the first two accuracies on "test"."""
    (x, y), (test_x, test_y) = (_labels(task, split) for split in ("train", "test"))
    places = x * task.output_size + y
    counts = places.bincount(minlength=task.vocabulary * task.output_size).view(-1, task.output_size)  # (V, labels)
    usual = counts.sum(0).argmax()
    best = torch.where(counts.any(1), counts.argmax(1), usual)
    right = {"most frequent label": test_y == usual, "one vector a word": test_y == best[test_x]}
    shares = {name: share.double().mean().item() for name, share in right.items()}
    return shares | {"uniform guess loss": math.log(task.output_size)}


def _labels(task: Any, split: str) -> tuple[Tensor, ...]:
    """All ids (N,) of a split that have a label, and these labels."""
    pairs = ((x[y >= 0], y[y >= 0]) for x, y in task.batches(split, 500))
    return tuple(map(torch.cat, zip(*pairs, strict=True)))


class PartsOfSpeech:
    """Name the class of every word of a sentence.

    ::

        x    they    refuse  to    permit  us     to    obtain  the   refuse  permit
        y    PRON    VERB    PART  VERB    PRON   PART  VERB    DET   NOUN    NOUN       the sentence decides

    x and y (B, T) int64; rows are padded with 0, where y is -100 and nothing counts, as at [CLS] and [SEP]. Finite
    splits are run through from the shortest sentence to the longest.

    "ud_ewt" has the 17 universal classes and trains on 1,788 sentences of the web, "conll2000" 44 of the Penn Treebank,
    on 8,034 of the Wall Street Journal, and "masc" those and some slips of its own, on 28,209 of many genres;
    "small_world" is generated and has 6. A class that no training sentence has does not count, and a sentence that has
    only such classes is left out.

    Baselines on "test": "most frequent label" and "one vector a word", accuracies. The second names for every id the
    class that it mostly has in training, and is the most that whoever sees one word at a time can learn there.
    "uniform guess loss" is ln of the number of classes.

    Parameters
    ----------
    source
        One of `TAGGED` of corpora.py.
    size, words
        V, the most ids of a vocabulary made from the training sentences, or a `Vocabulary`.
    framed
        Whether [CLS] and [SEP] stand around a sentence.
    length
        The most ids of a row; longer sentences lose their end.
    """

    files, pad, kind = SOURCES, PAD, "tags"
    sources: tuple[str, ...] = TAGGED
    batch, batches = draw_batch, run_through  # methods, written once
    loss, metrics, weight, baselines = symbol_loss, symbol_metrics, symbol_count, _baselines

    def __init__(
        self,
        source: str = "ud_ewt",
        *,
        size: int = 4_000,
        words: Vocabulary | None = None,
        framed: bool = False,
        length: int = 64,
    ) -> None:
        expect_each(source=(source, self.sources), length=(length, 3))
        self.source, self.framed, self.length, self.name = source, framed, length, f"{self.kind}-{source}"
        texts = self._read(source)
        self.words = Vocabulary.of((row.words for row in texts["train"]), size) if words is None else words
        self.vocabulary = self.input_size = len(self.words)
        around = self.words.require("[CLS]", "[SEP]") if framed else ()
        self.tags = tuple(sorted({tag for row in texts["train"] for tag in row.tags if tag}))
        self.output_size = len(self.tags)
        number, room, data = {tag: place for place, tag in enumerate(self.tags)}, length - len(around), {}
        for split in SPLITS:
            x, y = [], []
            for row in texts[split]:
                begin = self._begin(row, room)
                labels = [number.get(tag, IGNORED) for tag in row.tags[begin : begin + room]]
                if any(label != IGNORED for label in labels):
                    x.append(frame(self.words.ids(row.words[begin : begin + room]), around, length))
                    y.append(frame(labels, [IGNORED] * len(around), length))
            data[split] = (pad_rows(x), pad_rows(y, IGNORED))
        self.splits = Rows(data, lay_out=trim)

    def _read(self, source: str) -> dict[str, list[Sentence]]:
        """By split the sentences in their order, with tags; a word without a label has the tag ""."""
        return {split: sorted(rows, key=lambda row: len(row.words)) for split, rows in tagged(source).items()}

    def _begin(self, row: Sentence, room: int) -> int:
        """The first word that is read of a sentence, if there is room for so many."""
        return 0


class WordSense(PartsOfSpeech):
    """Name the sense that one word has in its sentence.

    ::

        x    ... the bank raised its interest in the company ...        y   ... . . . .   5 . . . ...
        x    ... declines in interest rates .                           y   ... . . 6 . .

    x and y (B, T) int64; y is -100 but at the word that is asked for. Sentences stand in the order of the source.

    "interest" has six senses, on 1,445 training and 713 test sentences (`senses` of corpora.py); more than half
    of them have the last, the price of money. "small_world" is generated: nouns that two topics share, and the topic.

    Baselines on "test", accuracies: "most frequent label", and "one vector a word", which names for every id the sense
    that it mostly has in training. No classifier of static vectors can do better on training sentences, for it gives
    the same answer wherever the word stands; here the ids are two, "interest" and "interests".

    Parameters
    ----------
    source
        "interest" or "small_world".
    size, words, framed
        As for `PartsOfSpeech`.
    length
        The most ids of a row. Of a longer sentence a window around the word is taken.
    """

    sources, kind = SENSES, "senses"

    def __init__(self, source: str = "interest", **options: Any) -> None:
        super().__init__(source, **options)
        self.senses = self.tags

    def _read(self, source: str) -> dict[str, list[Sentence]]:
        def marked(row: Sentence) -> Sentence:
            return row._replace(tags=[row.sense if place == row.place else "" for place in range(len(row.words))])

        return {split: [marked(row) for row in rows] for split, rows in senses(source).items()}

    def _begin(self, row: Sentence, room: int) -> int:
        return max(0, min(row.place - room // 2, len(row.words) - room))
