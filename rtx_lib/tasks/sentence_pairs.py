"""Do two pieces of text belong together, and in this order? BERT's question, and the one that replaced it."""

import math

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.bert_data import join_pair
from rtx_lib.tasks.corpora import SOURCES, WITH_DOCUMENTS, documents
from rtx_lib.tasks.splits import SEEDS, SPLITS, Rows, draw_batch, last_step_loss, last_step_metrics, run_through
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
    batch, batches = draw_batch, run_through  # methods, written once in splits.py
    loss, metrics = last_step_loss, last_step_metrics

    def __init__(
        self,
        kind: str = "next",
        source: str = "wikitext2",
        *,
        length: int = 64,
        size: int = 4_000,
        words: Vocabulary | None = None,
    ) -> None:
        expect_each(kind=(kind, KINDS), source=(source, WITH_DOCUMENTS), length=(length, 9))
        self.kind, self.source, self.length, self.name = kind, source, length, f"pairs-{kind}-{source}-{length}"
        texts = documents(source)
        known = Vocabulary.of((s for document in texts["train"] for s in document), size) if words is None else words
        self.words, self.vocabulary = known, len(known)
        self.input_size = self.vocabulary
        self.cls, self.sep = known.require("[CLS]", "[SEP]")
        # The pairs of pieces of all splits, and the document of each.
        self._pairs: list[tuple[list[int], list[int]]] = []
        self._homes: dict[str, Tensor] = {}
        rows: dict[str, tuple[Tensor, ...]] = {}
        for split in SPLITS:
            first, (pairs, homes) = len(self._pairs), self._read(texts[split])
            if len(set(homes)) < 2:
                found = f"{source!r} with length {length} has them in {len(set(homes))}"
                raise ValueError(f"source must have pairs in two documents of {split!r}, {found}")
            self._pairs += pairs
            self._homes[split] = torch.tensor(homes)
            # Each pair twice, as it is and changed.
            others = self._others(split, torch.arange(len(pairs)), torch.Generator().manual_seed(_SEEDS[split]))
            rows[split] = 2 * first + torch.arange(2 * len(pairs)), first + others.repeat_interleave(2)
        self.splits = Rows(rows, self._draw, self._lay_out)
        self._rarity = self._count(self._pairs[: len(self._homes["train"])])

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
        home = self._homes[split]
        others = torch.randint(len(home), places.shape, generator=generator)
        while (same := home[others] == home[places]).any():
            others[same] = torch.randint(len(home), (int(same.sum()),), generator=generator)
        return others

    def _draw(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Rows of "train", changed anew."""
        places = torch.randint(2 * len(self._homes["train"]), (size,), generator=generator)
        return places, self._others("train", places // 2, generator)

    def _lay_out(self, places: Tensor, others: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Rows by twice the number of their pair, plus 1 for a changed one."""
        rows = []
        for place, other in zip(places.tolist(), others.tolist(), strict=True):
            a, b = self._pairs[place // 2]
            if place % 2:
                a, b = (a, self._pairs[other][1]) if self.kind == "next" else (b, a)
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
