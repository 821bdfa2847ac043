"""Pairs of pieces: what is changed, and what a linear model on shared words knows of it."""

import random
import re

import pytest
import torch
from support import small_corpora as small
from support.compare import generator
from support.data import reads
from torch import Tensor

from rtx_lib.tasks.sentence_pairs import KINDS, SentencePairs

CLS, SEP = 2, 3


@pytest.fixture(scope="module", params=KINDS)
def task(request) -> SentencePairs:
    return SentencePairs(request.param, "small_world", length=24)


def pieces(ids: Tensor, segments: Tensor) -> list[tuple[list[int], list[int]]]:
    found = []
    for row, parts in zip(ids.tolist(), segments.tolist(), strict=True):
        length = len(row) - row[::-1].index(SEP)
        assert row[0] == CLS and row[length - 1] == SEP and set(row[length:]) <= {0}
        border = row.index(SEP) + 1
        assert parts == [0] * border + [1] * (length - border) + [0] * (len(row) - length)
        found.append((row[1 : border - 1], row[border : length - 1]))
    return found


def test_every_pair_comes_as_it_is_and_changed(task: SentencePairs) -> None:
    rows, labels = [], []
    for x, y in task.batches("test", 100):
        rows += pieces(*x)
        labels += y.tolist()
    assert labels == [0, 1] * (len(labels) // 2) and all(len(a) <= 10 and len(b) <= 10 for a, b in rows)
    for same, changed in zip(rows[::2], rows[1::2], strict=True):
        if task.kind == "order":
            assert changed == same[::-1]
        else:
            assert changed[0] == same[0] and changed[1] != same[1]


def test_a_random_piece_is_of_another_document(place) -> None:
    """Documents of words of their own."""
    text = "".join(f" \n = A{k} = \n \n" + f" d{k} x . d{k} y . d{k} z . d{k} w . \n" for k in range(40))
    task = place({"wikitext2/valid.txt": text.encode(), "wikitext2/test.txt": b"\n"}, SentencePairs, length=11, size=90)
    for source in (task.batch("train", 2_000, generator(1)), next(task.batches("train", 9_999))):
        (ids, segments), y = source
        names = {number for number, word in enumerate(task.words.words) if re.fullmatch(r"d\d+", word)}
        for (a, b), changed in zip(pieces(ids, segments), y.tolist(), strict=True):
            assert ({*a} & names == {*b} & names) is not bool(changed)
    assert abs(task.batch("train", 2_000, generator(1))[1].double().mean() - 0.5) < 0.07


def test_small_pairs_by_hand(place) -> None:
    text = "".join(f" \n = A{k} = \n \n" + f" d{k} x . y . z z . a b c d e f . g . \n" for k in range(99))
    task = place({"wikitext2/valid.txt": text.encode(), "wikitext2/test.txt": b"\n"}, SentencePairs, length=13, size=90)
    (ids, segments), _ = next(task.batches("train", 1))
    ((a, b),) = pieces(ids, segments)
    # d x . and y . have five words, which is all that fits; then z z ., and of what follows the first five.
    assert task.words.decode(a).split()[1:] == ["x", ".", "y", "."] and task.words.decode(b) == "z z ."
    assert len(task._homes["train"]) == 2 * len(set(task._homes["train"].tolist()))
    second = [task.words.decode(part) for part in task._pairs[1]]
    assert second == ["a b c d e", "g ."]


def test_shared_words_solve_one_question_and_say_nothing_of_the_other(task: SentencePairs) -> None:
    found = task.baselines()
    if task.kind == "order":
        assert found["word overlap"] == 1 / 2  # exactly, for the number is the same either way
    else:
        assert found["word overlap"] > 0.9


def test_the_overlap_by_hand(task: SentencePairs) -> None:
    rare = torch.tensor(task._rarity)
    ids = torch.tensor([[CLS, 7, 8, 8, SEP, 8, 9, 7, SEP, 0], [CLS, 7, SEP, 8, SEP, 0, 0, 0, 0, 0]])
    segments = torch.tensor([[0] * 5 + [1] * 4 + [0], [0] * 3 + [1] * 2 + [0] * 5])
    assert task.overlap((ids, segments)).tolist() == [pytest.approx((rare[7] + rare[8]).item()), 0]


def test_the_threshold_is_the_best_of_all_in_training(place) -> None:
    """Found one by one, on documents that share words now and then."""
    draw = random.Random(0)

    def sentence(k: int) -> str:
        return " ".join(f"w{(k + draw.randrange(9)) % 30}" for _ in range(4)) + " ."

    text = "".join(f" \n = A{k} = \n \n" + " ".join(sentence(k) for _ in range(8)) + "\n" for k in range(99))
    task = place({"wikitext2/valid.txt": text.encode(), "wikitext2/test.txt": b"\n"}, SentencePairs, length=13)
    found = {}
    for split in ("train", "test"):
        ((x, y),) = task.batches(split, 9_999)
        found[split] = task.overlap(x), y
    known, truth = found["train"]
    values = known.unique()
    limits = torch.cat([values[:1] - 1, (values[1:] + values[:-1]) / 2, values[-1:] + 1])
    rights = torch.stack([((known < limit).long() == truth).double().mean() for limit in limits])
    best = [limit for limit, right in zip(limits, rights, strict=True) if right == rights.max()]
    scores, labels = found["test"]
    accuracies = [((scores < limit).long() == labels).double().mean().item() for limit in best]
    assert task.baselines()["word overlap"] in accuracies and rights.max() > 0.6


@reads(SentencePairs, source="wikitext2")
def test_the_true_text() -> None:
    assert SentencePairs("next", "wikitext2", length=128).baselines()["word overlap"] == pytest.approx(0.860, abs=1e-3)


def test_documents_that_have_no_pairs(place) -> None:
    place(small.corpora(), lambda: None)
    with pytest.raises(ValueError, match=r"source must have pairs in two documents of '\w+', 'ud_ewt' with length 64"):
        SentencePairs("order", "ud_ewt")
