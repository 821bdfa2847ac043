"""Pre-training on text: name the words that were hidden (BERT), or the next one (GPT), or the one before, too (ELMo).

All tasks have the same rows, so that two models can be compared on the same words.
"""

import math
from collections.abc import Sequence
from copy import copy
from typing import Any

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.both_ways import both_ways_loss, both_ways_metrics, neighbours
from rtx_lib.tasks.corpora import SOURCES, Document, phrases
from rtx_lib.tasks.masking import CHANGED, KEPT, Masking
from rtx_lib.tasks.splits import SEEDS, SPLITS, Rows, draw_batch, run_through
from rtx_lib.tasks.vocabulary import IGNORED, PAD, Vocabulary, pad_rows
from rtx_lib.tasks.windows import symbol_count, symbol_loss, symbol_metrics

RULES = ("tokens", "units")
_SEEDS = {"train": 1_997_000_006, **SEEDS}


class TextRows:
    """Documents as rows of at most `length` ids: [CLS] words [SEP], whole sentences as long as they fit.

    A row holds sentences of one document only; a sentence that is longer than a row is cut and goes on in the next.

    Attributes
    ----------
    ids
        For each split (N, length), int32.
    begins
        For each split (N, length), where units begin: phrases or names in texts of which they are known, else words.
    words
        The vocabulary.
    """

    def __init__(
        self,
        sources: str | Sequence[str] = "wikitext2",
        *,
        length: int = 64,
        size: int = 4_000,
        words: Vocabulary | None = None,
        without: Sequence[str] = (),
    ) -> None:
        expect_each(length=(length, 4))
        self.sources, self.length = (sources,) if isinstance(sources, str) else tuple(sources), length
        texts = {split: list[Document]() for split in SPLITS}
        for source in self.sources:
            for split, found in phrases(source, without).items():
                texts[split] += found
        train = (sentence.words for document in texts["train"] for sentence in document)
        self.words = Vocabulary.of(train, size) if words is None else words
        self.cls, self.sep = self.words.require("[CLS]", "[SEP]")
        self.ids, self.begins = {}, {}
        for split, text in texts.items():
            rows = [row for document in text for row in self._rows(document)]
            expect_each(**{f"rows of text for {split!r} in {', '.join(self.sources)}": len(rows)})
            self.ids[split] = pad_rows([ids for ids, _ in rows], PAD, self.length)
            self.begins[split] = pad_rows([begins for _, begins in rows], 1, self.length).bool()

    def _rows(self, document: Document) -> list[tuple[list[int], list[int]]]:
        """Ids of each row, and 1 where a unit begins."""
        room, rows = self.length - 2, []
        ids, begins = list[int](), list[int]()
        pieces = [
            (self.words.ids(row.words[at : at + room]), [int(begin) for begin in row.begins[at : at + room]])
            for row in document
            for at in range(0, len(row.words), room)
        ]
        for more, starts in [*pieces, ([], [])]:
            if ids and (not more or len(ids) + len(more) > room):
                rows.append(([self.cls, *ids, self.sep], [1, *begins, 1]))
                ids, begins = [], []
            ids, begins = ids + more, begins + starts
        return rows


class MaskedText:
    """Name the words that were hidden, replaced, or only asked for, from all others of the row.

    ::

        text    [CLS] the cat sat on the mat . [SEP]
        x       [CLS] the [MASK] sat on dog mat . [SEP]       [MASK] in 8 of 10, any id in 1, the word itself in 1
        y         .    .   cat    .   .  the  .  .   .        . is -100: the position does not count

    x and y (B, length) int64. With `places` x is the triple (ids, segments, places) that `BERT` takes, and y (B, N)
    holds the labels there, -100 where a row has fewer: the logits of all other positions are then never computed.

    `rtx_lib.tasks.masking` says how positions are chosen. A row in which "units" have chosen nothing has one token
    chosen.

    Training rows are masked anew in every batch (RoBERTa calls it dynamic; BERT drew a few masks for each row once).
    `batches` shows every split with one mask that is the same for everybody.

    Baselines, losses in nats over what "test" asks for: "uniform guess loss" is ln V. "unigram loss" has for every
    word its share p of the training text, with one added to every count; its mean over the training text is the entropy
    of single words. "no context loss" is what can be reached without any other word: if s is seen, and s is not [MASK],
    it was left as it was or drawn from all V with equal shares, so that it is the label with probability

        p(s) / (p(s) + 1 / V),

    else the label is any word, by its share. A model that has learned no context yet is on this plateau.

    Parameters
    ----------
    sources
        One or several of `TEXTS` of corpora.py.
    length
        T, with [CLS] and [SEP], at least 4.
    size, words
        V, the most ids of a vocabulary made from the training text, or a `Vocabulary`, which must hold [MASK].
    rule
        "tokens" (BERT's) or "units" (ERNIE's). The latter takes phrases and names together, in texts of which they are
        known, and is "tokens" with another count elsewhere.
    share, most
        As in `Masking` of masking.py.
    without
        Labelled sources whose valid and test sentences are left out of training (`documents` of corpora.py).
    places
        Whether batches name the positions that count.
    """

    files = SOURCES
    batch, batches = draw_batch, run_through  # methods, written once
    loss, metrics, weight = symbol_loss, symbol_metrics, symbol_count

    def __init__(
        self,
        sources: str | Sequence[str] = "wikitext2",
        *,
        rule: str = "tokens",
        share: float = 0.15,
        most: int | None = None,
        places: bool = False,
        **options: Any,
    ) -> None:
        expect_each(rule=(rule, RULES))
        self.rule = rule
        self.rows = TextRows(sources, **options)
        self.words, self.length = self.rows.words, self.rows.length
        self.vocabulary = self.input_size = self.output_size = len(self.words)
        (self.mask,) = self.words.require("[MASK]")
        special = [self.rows.cls, self.rows.sep]
        self.masking = Masking(size=self.vocabulary, mask=self.mask, special=special, share=share, most=most)
        self.name = f"masked-{'-'.join(self.rows.sources)}-{self.length}" + ("" if rule == "tokens" else f"-{rule}")
        self.name += "" if share == 0.15 else f"-{share:g}"
        data = {split: self._whole(split) for split in SPLITS}
        self.splits = Rows(data, self._draw, at_places if places else whole)

    def masked(self, split: str, places: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x and y of some rows of a split, under a new mask."""
        ids, begins = self.rows.ids[split][places].long(), self.rows.begins[split][places]
        if self.rule == "tokens":
            return self.masking.tokens(ids, generator)
        x, y = self.masking.units(ids, begins, generator)
        empty = (y == IGNORED).all(1)
        if empty.any():
            one = copy(self.masking)
            one.most = 1
            x[empty], y[empty] = one.tokens(ids[empty], generator)
        return x, y

    def unigram(self) -> Tensor:
        """p (V,), the share of each word in the training text, one added to every count; float64."""
        return shares(self.rows, [self.rows.cls, self.rows.sep])

    def baselines(self) -> dict[str, float]:
        """{"uniform guess loss", "unigram loss", "no context loss"}, in nats on "test" (defined above)."""
        x, y = self.splits.finite("test")
        seen, label, p = x[y >= 0].long(), y[y >= 0].long(), self.unigram()
        same = torch.where(seen == self.mask, 0.0, KEPT * p[seen] / (KEPT * p[seen] + CHANGED / self.vocabulary))
        given = same * (seen == label) + (1 - same) * p[label]
        return {
            "uniform guess loss": math.log(self.vocabulary),
            "unigram loss": -p[label].log().mean().item(),
            "no context loss": -given.log().mean().item(),
        }

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        return self.masked("train", torch.randint(len(self.rows.ids["train"]), (size,), generator=generator), generator)

    def _whole(self, split: str) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(_SEEDS[split])
        x, y = self.masked(split, torch.arange(len(self.rows.ids[split])), generator)
        return x.int(), y.int()


class CausalText:
    """Name the next word, at every position of the rows that `MaskedText` has.

    ::

        x       [CLS] the cat sat on  the mat .
        y        the  cat sat on  the mat  .  [SEP]

    x and y (B, length - 1) int64; what stands behind [SEP] has the label -100. Arguments and errors are those of
    `MaskedText`. Baselines, losses in nats on "test": "uniform guess loss" is ln V, and "unigram loss" has for each
    word its share of the training text, [SEP] counted, with one added to every count.
    """

    files = SOURCES
    batch, batches = draw_batch, run_through  # methods, written once in splits.py and windows.py
    loss, metrics, weight = symbol_loss, symbol_metrics, symbol_count

    def __init__(self, sources: str | Sequence[str] = "wikitext2", **options: Any) -> None:
        self.rows = TextRows(sources, **options)
        self.words, self.length = self.rows.words, self.rows.length
        self.vocabulary = self.input_size = self.output_size = len(self.words)
        self.name = f"causal-{'-'.join(self.rows.sources)}-{self.length}"
        data: dict[str, tuple[Tensor, ...]] = {}
        for split, ids in self.rows.ids.items():
            ends = (ids[:, 1:] == PAD) | (ids[:, :-1] == self.rows.sep)
            data[split] = (torch.where(ends, PAD, ids[:, :-1]), ids[:, 1:].masked_fill(ends, IGNORED))
        self.splits = Rows(data, lay_out=whole)

    def baselines(self) -> dict[str, float]:
        """{"uniform guess loss", "unigram loss"}, in nats on "test" (defined above)."""
        y = self.splits.finite("test")[1]
        loss = -shares(self.rows, [self.rows.cls])[y[y >= 0].long()].log().mean().item()
        return {"uniform guess loss": math.log(self.vocabulary), "unigram loss": loss}


class BothWaysText:
    """Name the next word and the one before, at every position of the rows that `MaskedText` has.

    x (B, length) int64, y (B, length, 2), -100 where there is no such word; a prediction is (B, length, 2V): V logits
    of the next word, then V of the one before. At position t the first may depend on words up to t and the second on
    words from t on; a model whose halves see more has seen the answer.

    The loss is half the sum of the mean cross-entropies of the two directions, in nats, as in bilm-tf. Arguments,
    errors and baselines are those of `CausalText`, whose labels are the first of the two.
    """

    files = SOURCES
    batch, batches = draw_batch, run_through  # methods, written once
    loss, metrics, weight = both_ways_loss, both_ways_metrics, symbol_count

    def __init__(self, sources: str | Sequence[str] = "wikitext2", **options: Any) -> None:
        self.causal = CausalText(sources, **options)
        self.rows, self.words, self.length = self.causal.rows, self.causal.words, self.causal.length
        self.vocabulary = self.input_size = len(self.words)
        self.output_size = 2 * self.vocabulary
        self.name = f"both-ways-{'-'.join(self.rows.sources)}-{self.length}"
        data: dict[str, tuple[Tensor, ...]] = {split: (ids,) for split, ids in self.rows.ids.items()}
        self.splits = Rows(data, lay_out=lambda x: (x.long(), neighbours(x.long(), PAD)))

    def baselines(self) -> dict[str, float]:
        """{"uniform guess loss", "unigram loss"} of `CausalText`."""
        return self.causal.baselines()


def whole(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Labels at every position."""
    return x.long(), y.long()


def at_places(x: Tensor, y: Tensor) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """Ids, segments and the places (B, N) that have a label, and those labels; N is that of the row with most."""
    x, y = whole(x, y)
    chosen = y != IGNORED
    order = (~chosen).int().argsort(dim=1, stable=True)[:, : int(chosen.sum(1).max())]
    return (x, torch.zeros_like(x), order), y.gather(1, order)


def shares(rows: TextRows, without: Sequence[int]) -> Tensor:
    """p (V,), float64: the share of each id in the training rows, one added to every count; padding does not count."""
    counts = rows.ids["train"].flatten().bincount(minlength=len(rows.words)).double()
    counts[[PAD, *without]] = 0
    return (counts + 1) / (counts + 1).sum()
