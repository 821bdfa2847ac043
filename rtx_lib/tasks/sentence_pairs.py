"""Do two pieces of text belong together, and in this order? BERT's question, and the one that replaced it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from rtx_lib.tasks.bert_data import join_pair
from rtx_lib.tasks.corpora import SOURCES, WITH_DOCUMENTS, documents
from rtx_lib.tasks.splits import (
    SEEDS,
    SPLITS,
    check_choice,
    check_integer,
    check_split,
    last_step_loss,
    last_step_metrics,
)
from rtx_lib.tasks.vocabulary import PAD, Vocabulary, pad_rows

KINDS = ("next", "order")
_SEEDS = {"train": 1_997_000_007, **SEEDS}


class SentencePairs:
    """Name what was done to a pair of neighbouring pieces of a document.

    ::

        document    p1 p2 | p3 p4 | ...                  pieces of whole sentences
        "next"      [CLS] p1 [SEP] p2 [SEP]    y    0    what follows (Devlin et al. 2018)
                    [CLS] p1 [SEP] q4 [SEP]    y    1    a second piece of another document
        "order"     [CLS] p1 [SEP] p2 [SEP]    y    0    as in the text (Lan et al. 2020)
                    [CLS] p2 [SEP] p1 [SEP]    y    1    the other way round

    x is the pair (ids (B, T), segments (B, T)), int64; segments are 0 up to the first [SEP], then 1, and 0 in the
    padding. y (B,) int64. Only the model's output at the last step counts, and a model of whole rows has one step.

    Both kinds have the same pairs. In `batch("train", ...)` a pair is changed or not with equal shares, and q is drawn
    anew; `batches` shows every pair of a split in both ways, with one q that is the same for everybody.

    Baselines, accuracies on "test". "word overlap" looks at one number of a pair (`overlap`): the words that stand in
    both pieces, each counted once and by its rarity, -ln of the share of training pieces that have it. It says 0 from a
    threshold on, the one that is best in training. The number is the same if the pieces are turned round, so that of
    "order" exactly half are right. "most frequent class" is 1/2, "uniform guess loss" ln 2.

    Parameters
    ----------
    kind
        "next" or "order".
    source
        One of `WITH_DOCUMENTS` of corpora.py.
    length
        The most ids of a row, at least 9. A piece has at most (length - 3) / 2 words; sentences that are longer are
        cut there and their rest is left out.
    size, words
        V, the most ids of a vocabulary made from the training text, or a `Vocabulary`.
    """

    files, output_size = SOURCES, 2
    loss, metrics = last_step_loss, last_step_metrics  # methods, written once in splits.py

    def __init__(
        self,
        kind: str = "next",
        source: str = "wikitext2",
        *,
        length: int = 64,
        size: int = 4_000,
        words: Vocabulary | None = None,
    ) -> None:
        self.kind = check_choice("kind", kind, KINDS)
        self.source = check_choice("source", source, WITH_DOCUMENTS)
        self.length = check_integer("length", length, 9)
        self.name = f"pairs-{kind}-{source}-{self.length}"
        texts = documents(source)
        known = Vocabulary.of((s for document in texts["train"] for s in document), size) if words is None else words
        self.words, self.vocabulary = known, len(known)
        self.input_size = self.vocabulary
        self.cls, self.sep = known.require("[CLS]", "[SEP]")
        # Of each split the pairs of pieces, and the document of each.
        self._pairs = {split: self._read(texts[split]) for split in SPLITS}
        for split, (_, places) in self._pairs.items():
            if len(set(places)) < 2:
                raise ValueError(
                    f"source must have pairs in two documents of {split!r}, {source!r} with length "
                    f"{self.length} has them in {len(set(places))}"
                )
        self._rarity = self._count(self._pairs["train"][0])

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """x and y of `size` pairs, drawn with replacement; those of "train" are changed anew."""
        count = 2 * len(self._pairs[check_split(split)][0])
        places = torch.randint(count, (check_integer("size", size, 1),), generator=generator)
        if split == "train":
            return self._rows(split, places, self._others(split, places // 2, generator))
        return self._rows(split, places, self._fixed(split)[places // 2])

    def batches(self, split: str, size: int) -> Iterator[tuple[tuple[Tensor, Tensor], Tensor]]:
        """Run once through a split in its fixed order, `size` rows at a time: each pair as it is, then changed."""
        places = torch.arange(2 * len(self._pairs[check_split(split)][0])).split(check_integer("size", size, 1))
        others = self._fixed(split)
        return (self._rows(split, some, others[some // 2]) for some in places)

    def overlap(self, x: tuple[Tensor, Tensor]) -> Tensor:
        """Of each row (B,) how much its two pieces share, float64: the summed rarity of the words that both have."""
        special, shared = {PAD, self.cls, self.sep}, []
        for row, segments in zip(x[0].tolist(), x[1].tolist(), strict=True):
            begin = segments.index(1)
            both = {*row[:begin]} & {*row[begin:]} - special
            shared.append(sum(self._rarity[word] for word in sorted(both)))
        return torch.tensor(shared, dtype=torch.float64)

    def baselines(self) -> dict[str, float]:
        """{"word overlap", "most frequent class", "uniform guess loss"} (defined above)."""
        scores, labels = {}, {}
        for split in ("train", "test"):
            parts = [(self.overlap(x), y) for x, y in self.batches(split, 500)]
            scores[split], labels[split] = (torch.cat(part) for part in zip(*parts, strict=True))
        known, order = scores["train"].sort()
        # With the k least scores called changed this many more of them are than are not: best where that is most.
        gained = (2 * labels["train"][order] - 1).cumsum(0)
        gained[:-1][known.diff() == 0] = -len(known)  # no threshold lies between equal scores
        best = int(gained.argmax()) if gained.max() > 0 else -1
        threshold = (known[best : best + 2].mean() if best >= 0 else known[0] - 1).item()
        accuracy = ((scores["test"] < threshold).long() == labels["test"]).double().mean().item()
        return {"word overlap": accuracy, "most frequent class": 1 / 2, "uniform guess loss": math.log(2)}

    def _read(self, texts: list[list[list[str]]]) -> tuple[list[tuple[list[int], list[int]]], list[int]]:
        """Neighbouring pieces, which do not overlap with other pairs, and the number of their document."""
        room, pairs, places = (self.length - 3) // 2, [], []
        for number, document in enumerate(texts):
            pieces: list[list[int]] = []
            for sentence in document:
                ids = self.words.ids(sentence)[:room]
                if pieces and len(pieces[-1]) + len(ids) <= room:
                    pieces[-1] = pieces[-1] + ids
                else:
                    pieces.append(ids)
            found = list(zip(pieces[::2], pieces[1::2], strict=False))
            pairs += found
            places += [number] * len(found)
        return pairs, places

    def _others(self, split: str, places: Tensor, generator: torch.Generator) -> Tensor:
        """For each pair one of another document."""
        home = torch.tensor(self._pairs[split][1])
        others = torch.randint(len(home), places.shape, generator=generator)
        while (same := home[others] == home[places]).any():
            others[same] = torch.randint(len(home), (int(same.sum()),), generator=generator)
        return others

    def _fixed(self, split: str) -> Tensor:
        generator = torch.Generator().manual_seed(_SEEDS[split])
        return self._others(split, torch.arange(len(self._pairs[split][0])), generator)

    def _rows(self, split: str, places: Tensor, others: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Rows by twice the number of their pair, plus 1 for a changed one."""
        rows, pairs = [], self._pairs[split][0]
        for place, other in zip(places.tolist(), others.tolist(), strict=True):
            a, b = pairs[place // 2]
            if place % 2:
                a, b = (a, pairs[other][1]) if self.kind == "next" else (b, a)
            rows.append(join_pair(a, b, cls=self.cls, sep=self.sep))
        ids, segments = (pad_rows(part, PAD).long() for part in zip(*rows, strict=True))
        return (ids, segments), places % 2

    def _count(self, pairs: list[tuple[list[int], list[int]]]) -> list[float]:
        """-ln of the share of training pieces that have each word, one added to every count."""
        counts = torch.ones(self.vocabulary, dtype=torch.float64)
        pieces = [piece for pair in pairs for piece in pair]
        for piece in pieces:
            counts[list(set(piece))] += 1
        return (-(counts / (len(pieces) + 1)).log()).tolist()
