"""BERT's training rows, made of documents as its create_pretraining_data.py makes them (Devlin et al. 2018).

::

    document     s1 s2 s3 s4 s5 ...               sentences, each a list of ids
    collected    s1 s2 s3                         until they fill a row
    A            s1 s2                            the first of them, a number drawn anew
    B            s3, or sentences of another document from some place on, 50 % each
    row          [CLS] A [SEP] B [SEP]            segments 0 0 0 0 1 1; then tokens are masked

Two things follow that the name, next sentence prediction, hides. A and B are mostly several sentences long. And where
only one sentence was collected, which is the case at the end of many documents, B is always random: more than half of
the pairs are.

The masks are static: each copy of the data has its own, and training sees the same few again and again.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each
from rtx_lib.tasks.masking import Generator, Masking, python_random
from rtx_lib.tasks.vocabulary import IGNORED, PAD, expect_rows, pad_rows

Sentence = Sequence[int]


class Example(NamedTuple):
    """One row: what the model sees, the segment of each token, the labels (-100: none), and whether B is random."""

    x: list[int]
    segments: list[int]
    y: list[int]
    random_next: bool


def bert_examples(
    documents: Sequence[Sequence[Sentence]],
    masking: Masking,
    *,
    cls: int,
    sep: int,
    generator: Generator,
    length: int = 128,
    copies: int = 10,
    short: float = 0.1,
    continues: Collection[int] = (),
) -> list[Example]:
    """All rows of a text, in random order.

    Parameters
    ----------
    documents
        Documents of sentences of ids, without special tokens.
    masking
        Which knows V and the id of [MASK]; [CLS] and [SEP] must be among its special ids. The script's own has a `most`
        of 20.
    cls, sep
        The ids of [CLS] and [SEP].
    generator
        A torch.Generator, or a `random.Random`: seeded with n it gives the rows that the script makes with its
        random_seed n.
    length
        The most tokens of a row, at least 5.
    copies, short
        How often every document is gone through, and how often such a turn aims at shorter rows.
    continues
        The ids that continue a word; where there are any, whole words are masked.
    """
    expect_each(copies=copies, length=(length, 5))
    if not {cls, sep} <= masking.special:
        raise ValueError(f"masking must have cls and sep, {cls} and {sep}, among its special ids")
    for document in documents:
        expect_rows("documents", document, masking.size, masking.special)
    rng, order = python_random(generator), list(documents)
    rng.shuffle(order)
    examples = []
    for _ in range(copies):
        for number in range(len(order)):
            for a, b, random_next in _pairs(order, number, length - 3, short, rng):
                row, segments = join_pair(a, b, cls=cls, sep=sep)
                x, y = masking.row(row, masking.units_of(row, continues), rng)
                examples.append(Example(x, segments, y, random_next))
    rng.shuffle(examples)
    return examples


def _pairs(
    documents: Sequence[Sequence[Sentence]], number: int, room: int, short: float, rng: random.Random
) -> Iterator[tuple[list[int], list[int], bool]]:
    """The pairs A, B of one document, each at most `room` tokens long, and whether B is random.

    One at a time, because the script draws the masks of a pair before it makes the next.
    """
    document = documents[number]
    target = rng.randint(2, room) if rng.random() < short else room
    start, at = 0, 0  # the sentences from `start` up to `at` are collected
    while at < len(document):
        at += 1
        collected = document[start:at]
        if at < len(document) and sum(map(len, collected)) < target:
            continue
        cut = rng.randint(1, len(collected) - 1) if len(collected) > 1 else 1
        a, b = _joined(collected[:cut]), _joined(collected[cut:])
        random_next = len(collected) == 1 or rng.random() < 0.5
        if random_next:
            b = _elsewhere(documents, number, target - len(a), rng)
            at = start + cut  # the sentences that were not used come again
        truncate_pair(a, b, room, rng)
        start = at
        yield a, b, random_next


def _elsewhere(documents: Sequence[Sequence[Sentence]], number: int, target: int, rng: random.Random) -> list[int]:
    """Sentences from some place of another document on; of this one if ten draws have found no other."""
    for _ in range(10):
        other = rng.randint(0, len(documents) - 1)
        if other != number:
            break
    b: list[int] = []
    for sentence in documents[other][rng.randint(0, len(documents[other]) - 1) :]:
        b += sentence
        if len(b) >= target:
            break
    return b


def _joined(sentences: Sequence[Sentence]) -> list[int]:
    return [token for sentence in sentences for token in sentence]


def truncate_pair(a: list[int], b: list[int], room: int, generator: Generator | None = None) -> None:
    """Shorten two lists in place to `room` ids together, the longer one (b if equal) by one id at a time.

    With a generator it goes from the front or the back, 50 % each, as in pre-training; without one from the back, as in
    fine-tuning. ValueError for a `room` below 2, in which not both could keep a token.
    """
    expect_each(room=(room, 2))
    rng = None if generator is None else python_random(generator)
    while len(a) + len(b) > room:
        longer = a if len(a) > len(b) else b
        del longer[0 if rng and rng.random() < 0.5 else -1]


def join_pair(a: Sequence[int], b: Sequence[int], *, cls: int, sep: int) -> tuple[list[int], list[int]]:
    """[CLS] A [SEP] B [SEP], and the segments: 0 up to the first [SEP], then 1."""
    return [cls, *a, sep, *b, sep], [0] * (len(a) + 2) + [1] * (len(b) + 1)


def tensors_of(examples: Sequence[Example], length: int) -> tuple[tuple[Tensor, Tensor], Tensor, Tensor]:
    """(x, segments), y and the labels of the pairs: all int64, (N, length) three times and (N,).

    Rows are filled up with x 0, segment 0 and label -100. A pair's label is 0 if B is next and 1 if it is random.
    ValueError for no example, or a `length` that one exceeds.
    """
    expect_each(length=(length, max(len(example.x) for example in examples)))
    x, segments = (pad_rows([example[k] for example in examples], PAD, length).long() for k in (0, 1))  # type: ignore[misc]
    y = pad_rows([example.y for example in examples], IGNORED, length).long()
    return (x, segments), y, torch.tensor([int(example.random_next) for example in examples])
