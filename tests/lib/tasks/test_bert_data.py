"""BERT's rows: equal to those of its script, to the rules written out once more, and to the numbers in the text."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re

import pytest
import torch
from support.compare import generator

from rtx_lib.tasks.bert_data import Example, bert_examples, join_pair, tensors_of, truncate_pair
from rtx_lib.tasks.masking import Masking

CLS, SEP, MASK, V = 2, 3, 4, 25


def masking(size: int = V, **how) -> Masking:
    return Masking(size=size, mask=MASK, special=(CLS, SEP), **how)


def made(documents, source, size: int = V, **how) -> list[Example]:
    return bert_examples(documents, masking(size, most=20), cls=CLS, sep=SEP, generator=source, **how)


# Six documents of 1 to 7 sentences of 1 to 6 ids; 20 to 24 continue a word.
DOCUMENTS = [
    [[5 + (7 * d + 5 * s + 3 * t) % 20 for t in range(1 + (d + 2 * s) % 6)] for s in range(1 + (3 * d) % 7)]
    for d in range(6)
]


@pytest.mark.parametrize(
    ("continues", "count", "digest"),
    [
        ((), 37, "db2e1b0c37b5844760cebb8bc473b2d3bc12f1b22f179584e23f5686414fb6a4"),
        (range(20, 25), 35, "49508da6b69d9b9974f3df4fdc036aca9280626081f7887e7dd7bdd25458ac03"),
    ],
)
def test_rows_of_the_script(continues, count: int, digest: str) -> None:
    """What google-research/bert's create_pretraining_data.py made of these documents with the seed 12345."""
    examples = made(DOCUMENTS, random.Random(12345), length=16, copies=3, continues=continues)
    rows = [[list(e.x), e.segments, e.y, e.random_next] for e in examples]
    if not continues:
        assert rows[1] == [
            [2, 13, 4, 19, 22, 5, 3, 12, 15, 4, 14, 17, 20, 23, 6, 3],
            [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1],
            [-100, -100, 16, *[-100] * 6, 11, *[-100] * 6],
            True,
        ]
    assert len(rows) == count and hashlib.sha256(json.dumps(rows).encode()).hexdigest() == digest


class Plain:
    """The rules once more, with an index that goes forth and back instead of a window over the document."""

    def __init__(self, documents, draw, length, short, continues):
        self.documents, self.draw, self.length, self.short, self.continues = documents, draw, length, short, continues

    def all(self, copies):
        self.draw.shuffle(self.documents)
        rows = [row for _ in range(copies) for number in range(len(self.documents)) for row in self.document(number)]
        self.draw.shuffle(rows)
        return rows

    def document(self, number):
        target = self.length - 3
        if self.draw.random() < self.short:
            target = self.draw.randint(2, self.length - 3)
        todo, rows = list(self.documents[number]), []
        while todo:
            held = []
            while todo and (not held or sum(map(len, held)) < target):
                held.append(todo.pop(0))
            cut = 1
            if len(held) > 1:
                cut = self.draw.randint(1, len(held) - 1)
            first = [token for sentence in held[:cut] for token in sentence]
            if len(held) == 1 or self.draw.random() < 0.5:
                todo = held[cut:] + todo
                second, is_random = self.other(number, target - len(first)), True
            else:
                second = [token for sentence in held[cut:] for token in sentence]
                is_random = False
            while len(first) + len(second) > self.length - 3:
                long = first if len(first) > len(second) else second
                long.pop(0 if self.draw.random() < 0.5 else len(long) - 1)
            rows.append(self.mask([CLS, *first, SEP, *second, SEP], len(first), is_random))
        return rows

    def other(self, number, target):
        tries = 0
        while True:
            chosen = self.draw.randint(0, len(self.documents) - 1)
            tries += 1
            if chosen != number or tries == 10:
                break
        at, found = self.draw.randint(0, len(self.documents[chosen]) - 1), []
        while at < len(self.documents[chosen]):
            found = found + self.documents[chosen][at]
            at += 1
            if len(found) >= target:
                break
        return found

    def mask(self, row, first, is_random):
        groups = []
        for place in range(len(row)):
            if row[place] not in (CLS, SEP):
                if groups and row[place] in self.continues:
                    groups[-1] += [place]
                else:
                    groups += [[place]]
        self.draw.shuffle(groups)
        n = min(20, max(1, round(len(row) * 0.15)))
        x, y = row[:], [-100] * len(row)
        for group in groups:
            done = sum(label >= 0 for label in y)
            if done < n and done + len(group) <= n:
                for place in group:
                    y[place] = row[place]
                    if self.draw.random() < 0.8:
                        x[place] = MASK
                    elif self.draw.random() >= 0.5:
                        x[place] = self.draw.randint(0, V - 1)
        return x, [0] * (first + 2) + [1] * (len(row) - first - 2), y, is_random


@pytest.mark.parametrize("seed", range(25))
def test_rows_equal_the_rules_written_out(seed: int) -> None:
    draw = random.Random(seed)
    most = draw.choice([4, 12, 40])
    documents = [
        [[draw.randrange(5, V) for _ in range(draw.randint(1, most))] for _ in range(draw.randint(1, 15))]
        for _ in range(draw.randint(1, 8))
    ]
    length, short, copies = draw.choice([5, 8, 16, 40, 128]), draw.choice([0, 0.1, 1]), draw.randint(1, 3)
    for continues in ((), range(20, 25)):
        plain = Plain(list(documents), random.Random(seed), length, short, continues).all(copies)
        source = random.Random(seed)
        assert made(documents, source, length=length, short=short, copies=copies, continues=continues) == plain


def long_documents(count: int, sentences: int, words: int = 6) -> list[list[list[int]]]:
    """Documents that share no id: 8 + number."""
    return [[[8 + number] * words for _ in range(sentences)] for number in range(count)]


def test_half_of_the_pairs_are_random_where_there_is_a_choice() -> None:
    examples = made(long_documents(40, 60), generator(1), size=60, length=64, copies=8, short=0.0)
    share = sum(example.random_next for example in examples) / len(examples)
    # The last sentences of a document, when only one is left, make a few more of them.
    assert abs(share - 0.5) < 6 * math.sqrt(0.25 / len(examples)) + 0.04
    for example in examples:
        first, second = (
            {y if y >= 0 else x for x, y, s in zip(example.x, example.y, example.segments, strict=True) if s == part}
            - {CLS, SEP, MASK}
            for part in (0, 1)
        )
        assert (first == second) is not example.random_next  # always of another document, never of this one


def test_the_longer_is_shortened_from_both_ends() -> None:
    front = 0
    for seed in range(400):
        a, b = list(range(10)), list(range(100, 104))
        truncate_pair(a, b, 13, generator(seed))
        assert b == [100, 101, 102, 103] and a in (list(range(1, 10)), list(range(9)))
        front += a[0] == 1
    assert abs(front - 200) < 60  # six standard deviations
    a, b = list(range(10)), list(range(100, 110))
    truncate_pair(a, b, 7)
    assert (a, b) == ([0, 1, 2, 3], [100, 101, 102])  # from the back; of two equal ones the second first


def test_a_pair_by_hand() -> None:
    assert join_pair([7, 8], [9], cls=CLS, sep=SEP) == ([2, 7, 8, 3, 9, 3], [0, 0, 0, 0, 1, 1])


def test_tensors() -> None:
    examples = [Example([2, 4, 3, 9, 3], [0, 0, 0, 1, 1], [-100, 7, -100, -100, -100], True)]
    examples.append(Example([2, 7, 8, 3, 9, 3], [0, 0, 0, 0, 1, 1], [-100] * 4 + [9, -100], False))
    (x, segments), y, random_next = tensors_of(examples, 8)
    assert x.tolist() == [[2, 4, 3, 9, 3, 0, 0, 0], [2, 7, 8, 3, 9, 3, 0, 0]]
    assert segments.tolist() == [[0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0]]
    assert y.tolist() == [[-100, 7, *[-100] * 6], [-100] * 4 + [9, -100, -100, -100]]
    assert random_next.tolist() == [1, 0] and {t.dtype for t in (x, segments, y, random_next)} == {torch.int64}


@pytest.mark.parametrize(
    ("documents", "how", "message"),
    [
        ([[[7], []]], {}, "documents must hold ids of shape"),
        ([[[7, 25]]], {}, "documents must hold ids from 0 to 24, got 25"),
        ([[[7, SEP]]], {}, "documents must hold no special tokens, which are set here"),
        (DOCUMENTS, {"length": 4}, "length must be at least 5, got 4"),
    ],
)
def test_what_is_not_allowed(documents, how: dict, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        made(documents, generator(), **how)


def test_a_masking_without_cls_and_sep_is_refused() -> None:
    bare = Masking(size=V, mask=MASK, special=(CLS,))
    with pytest.raises(ValueError, match="masking must have cls and sep, 2 and 3, among its special ids"):
        bert_examples(DOCUMENTS, bare, cls=CLS, sep=SEP, generator=generator())
