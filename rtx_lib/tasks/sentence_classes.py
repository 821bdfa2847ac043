"""Sentences to be sorted into classes, with as few labels as one likes: where pre-training should help."""

from collections.abc import Sequence

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks import splits
from rtx_lib.tasks.corpora import CLASSES, LABELLED, SOURCES, Sentence, labelled
from rtx_lib.tasks.vocabulary import PAD, Vocabulary, pad_rows, split_words, trim


class SentenceClasses:
    """Name the class of a sentence.

    ::

        "subj"          a film review's opinion (0) or what happens in a film (1)
        "trec"          what a question asks for: a description, an entity, an abbreviation, a person, a place, a number
        "sst2"          a film review against the film (0) or for it (1)
        "small_world"   the topic, 0 to 3, of a generated sentence

        x    who was galileo ?                          y   3, a person
        x    [CLS] who was galileo ? [SEP]              the same, framed

    x (B, T) int64 ids, one a word, rows padded with 0 to the longest of the batch; y (B,) int64. Only the model's
    output at the last step counts, and a model of whole sentences has one step. Finite splits are run through from the
    shortest sentence to the longest.

    The test sentences are always the same (`rtx_lib.tasks.corpora`): 1,821 of "sst2" and 500 of "trec" as their authors
    have them; of "subj", which has no test set, the 997 to which a rule on the sentence's SHA-256 gives the digit 0.

    With `labels` = n, training sees n sentences. Each class has its share of them, rounded and at least one, so for
    "subj" the two halves; which sentences of a class these are is drawn by `seed`: the first of a random order, so that
    the sentences of a larger n of the same seed contain those of a smaller one, but for the rounding of shares.
    "valid" and "test" stay whole. The vocabulary comes from all training sentences, which cost no labels.

    Baselines on "test": "most frequent class", an accuracy, and "uniform guess loss", ln of the number of classes.

    Parameters
    ----------
    source
        One of the above.
    labels, seed
        n, at least the number of classes, or None for all training sentences; and which.
    size, words
        V, the most ids of a vocabulary made from the training sentences, or a `Vocabulary`, such as that of a
        pre-trained model.
    framed
        Whether [CLS] and [SEP] stand around a sentence.
    length
        The most ids of a row; longer sentences lose their end.
    """

    files, pad = SOURCES, PAD
    batch, batches, loss = splits.draw_batch, splits.run_through, splits.last_step_loss  # methods
    metrics, baselines = splits.last_step_metrics, splits.class_baselines

    def __init__(
        self,
        source: str = "subj",
        *,
        labels: int | None = None,
        seed: int = 0,
        size: int = 4_000,
        words: Vocabulary | None = None,
        framed: bool = False,
        length: int = 64,
    ) -> None:
        expect_each(source=(source, LABELLED))
        self.classes = CLASSES[source]
        self.output_size = len(self.classes)
        least = self.output_size if labels is None else labels
        expect_each(seed=(seed, 0), length=(length, 3), labels=(least, self.output_size))
        self.source, self.labels, self.seed, self.framed, self.length = source, labels, seed, framed, length
        self.name = f"classes-{source}" + ("" if labels is None else f"-{labels}-of-{seed}")
        texts = labelled(source)
        self.words = Vocabulary.of((row.words for row in texts["train"]), size) if words is None else words
        self.vocabulary = self.input_size = len(self.words)
        self._frame = self.words.require("[CLS]", "[SEP]") if framed else ()
        if labels is not None:
            texts["train"] = few(texts["train"], labels, seed)
        self.splits = splits.Rows({split: self._read(texts[split]) for split in splits.SPLITS}, lay_out=trim)

    def encode(self, text: str) -> Tensor:
        """The ids (T,) of a text as training has them. ValueError for a text without words."""
        return torch.tensor(frame(self.words.ids(split_words(text)), self._frame, self.length))

    def _read(self, rows: list[Sentence]) -> tuple[Tensor, Tensor]:
        rows = sorted(rows, key=lambda row: len(row.words))
        ids = [frame(self.words.ids(row.words), self._frame, self.length) for row in rows]
        return pad_rows(ids), torch.tensor([row.label for row in rows])


def frame(ids: list[int], around: Sequence[int], length: int) -> list[int]:
    """At most `length` ids, between two others if `around` holds them."""
    return [*around[:1], *ids[: length - len(around)], *around[1:]]


def few(rows: Sequence[Sentence], labels: int, seed: int) -> list[Sentence]:
    """`labels` of the rows, each class with its share; ValueError if there are not so many."""
    expect_each(labels=(labels, f"[1, {len(rows)}]"))
    generator = torch.Generator().manual_seed(seed)
    order = [rows[place] for place in torch.randperm(len(rows), generator=generator).tolist()]
    parts = {label: [row for row in order if row.label == label] for label in sorted({row.label for row in rows})}
    exact = {label: labels * len(part) / len(rows) for label, part in parts.items()}
    counts = {label: max(1, int(share)) for label, share in exact.items()}
    # What is left goes to the largest fractions; where the least of 1 took too many, the largest classes give.
    for label in sorted(exact, key=lambda label: counts[label] - exact[label])[: max(0, labels - sum(counts.values()))]:
        counts[label] += 1
    while sum(counts.values()) > labels:
        counts[max(counts, key=lambda label: counts[label])] -= 1
    return [row for label, part in parts.items() for row in part[: counts[label]]]
