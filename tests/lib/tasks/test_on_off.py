"""Sentences on switches: all are true, and who sees one side alone cannot know what the other side decides."""

import math
from collections import Counter, defaultdict

import pytest
import torch

from rtx_lib.tasks.on_off import OnOff

LENGTH = 8


def test_every_sentence_is_true() -> None:
    task = OnOff()
    texts = [task.words.decode(row) for row in task.sentences]
    assert len(set(texts)) == 12 and "the lamp was on pressed once now off" in texts
    for text in texts:
        _, _, _, before, _, times, _, after = text.split()
        assert (before != after) == (times == "once")


def test_one_word_is_hidden() -> None:
    task = OnOff()
    x, y = task.batch("train", 2_000, torch.Generator().manual_seed(0))
    hidden = y >= 0
    assert (hidden.sum(1) == 1).all() and (x[hidden] == task.mask).all() and task.weight(y) == 2_000
    whole = torch.where(hidden, y, x)
    known = {tuple(row) for row in task.sentences.tolist()}
    assert {tuple(row) for row in whole.tolist()} == known
    assert hidden.double().mean(0).tolist() == pytest.approx([1 / LENGTH] * LENGTH, abs=0.03)
    ((x, y),) = task.batches("test", 1_000)
    assert x.shape == (96, LENGTH) and torch.equal((y >= 0).sum(0), torch.full((LENGTH,), 12))


def entropies(task: OnOff, seen) -> list[float]:
    """Of each place the entropy of its word, in nats, given what is seen of the rest."""
    found = []
    for place in range(LENGTH):
        counts = defaultdict(Counter)
        for row in task.sentences.tolist():
            counts[tuple(row[i] for i in range(LENGTH) if i != place and seen(i, place))][row[place]] += 1
        total = sum(n / 12 * math.log(sum(own.values()) / n) for own in counts.values() for n in own.values())
        found.append(total)
    return found


def test_what_each_side_knows() -> None:
    task, thing, turn = OnOff(), math.log(3), math.log(2)
    left = entropies(task, lambda i, place: i < place)
    right = entropies(task, lambda i, place: i > place)
    both = entropies(task, lambda i, place: True)
    assert left == pytest.approx([0, thing, 0, turn, 0, turn, 0, 0])
    assert right == pytest.approx([0, thing, 0, 0, 0, turn, 0, turn])
    assert both == pytest.approx([0, thing, 0, 0, 0, 0, 0, 0])
    bars = task.baselines()
    assert bars["one side loss"] == pytest.approx(sum(left) / LENGTH) == pytest.approx(sum(right) / LENGTH)
    assert bars["glued loss"] == pytest.approx((thing + turn) / LENGTH)
    assert bars["both sides loss"] == pytest.approx(sum(both) / LENGTH)
    assert bars["uniform guess loss"] == pytest.approx(math.log(task.vocabulary))
