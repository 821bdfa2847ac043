"""Sentences on weekdays: all are true, and who sees one side alone cannot know what the other side decides."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import pytest
import torch

from rtx_lib.tasks.weekdays import DAYS, NUMBERS, Weekdays

LENGTH = 7


def test_every_sentence_is_true() -> None:
    task = Weekdays()
    texts = [task.words.decode(row) for row in task.sentences]
    assert len(set(texts)) == 49 and "from monday three days on is thursday" in texts
    for text in texts:
        _, first, number, *_, last = text.split()
        assert (DAYS.index(first) + NUMBERS.index(number)) % 7 == DAYS.index(last)


def test_one_word_is_hidden() -> None:
    task = Weekdays()
    x, y = task.batch("train", 2_000, torch.Generator().manual_seed(0))
    hidden = y >= 0
    assert (hidden.sum(1) == 1).all() and (x[hidden] == task.mask).all() and task.weight(y) == 2_000
    whole = torch.where(hidden, y, x)
    known = {tuple(row) for row in task.sentences.tolist()}
    assert {tuple(row) for row in whole.tolist()} == known
    assert hidden.double().mean(0) == pytest.approx([1 / LENGTH] * LENGTH, abs=0.03)
    ((x, y),) = task.batches("test", 1_000)
    assert x.shape == (343, LENGTH) and torch.equal((y >= 0).sum(0), torch.full((LENGTH,), 49))


def entropies(task: Weekdays, seen) -> list[float]:
    """Of each place the entropy of its word, in nats, given what is seen of the rest."""
    found = []
    for place in range(LENGTH):
        counts = defaultdict(Counter)
        for row in task.sentences.tolist():
            counts[tuple(row[i] for i in range(LENGTH) if i != place and seen(i, place))][row[place]] += 1
        total = sum(n / 49 * math.log(sum(own.values()) / n) for own in counts.values() for n in own.values())
        found.append(total)
    return found


def test_what_each_side_knows() -> None:
    task, open_ = Weekdays(), math.log(7)
    left = entropies(task, lambda i, place: i < place)
    right = entropies(task, lambda i, place: i > place)
    assert left == pytest.approx([0, open_, open_, 0, 0, 0, 0])
    assert right == pytest.approx([0, 0, open_, 0, 0, 0, open_])
    assert entropies(task, lambda i, place: True) == pytest.approx([0] * LENGTH)
    bars = task.baselines()
    assert bars["one side loss"] == pytest.approx(sum(left) / LENGTH) == pytest.approx(sum(right) / LENGTH)
    assert bars["glued loss"] == pytest.approx(open_ / LENGTH) and bars["both sides loss"] == 0
    assert bars["uniform guess loss"] == pytest.approx(math.log(task.vocabulary))


def test_added_logits_cannot_name_the_number() -> None:
    """The loss is convex in the logits of both readers; at equal logits its gradient is 0, so ln 7 is the least."""
    task = Weekdays()
    rows = [[row[1] - 9, row[6] - 9, row[2] - 16] for row in task.sentences.tolist()]
    first, last, number = torch.tensor(rows).T
    left, right = (torch.zeros(7, 7, dtype=torch.float64, requires_grad=True) for _ in range(2))
    loss = torch.nn.functional.cross_entropy(left[first] + right[last], number)
    slopes = torch.autograd.grad(loss, (left, right))
    assert loss.item() == pytest.approx(math.log(7)) and max(float(s.abs().max()) for s in slopes) < 1e-15


def test_bad_arguments_are_named() -> None:
    task = Weekdays()
    with pytest.raises(ValueError, match="size must be a whole number of at least 1"):
        task.batch("train", 0, torch.Generator())
    with pytest.raises(ValueError, match="split must be one of"):
        task.batch("exam", 1, torch.Generator())
    _, y = task.batch("train", 2, torch.Generator())
    with pytest.raises(ValueError, match="prediction must be the model's whole output"):
        task.loss(torch.zeros(2, LENGTH), y)
