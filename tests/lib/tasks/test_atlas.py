"""The made-up atlas: what is hidden, and in which two ways a word of a name can be told."""

import itertools
import math

import pytest
import torch

from rtx_lib.tasks import Atlas, Task
from rtx_lib.tasks.atlas import HIDDEN, LANDS, PARTS

NAME, PART, LAND = (0, 1), 5, 7


def batch(hidden, size=2_000):
    task = Atlas(hidden)
    x, y = task.batch("train", size, torch.Generator().manual_seed(0))
    return task, x, y


@pytest.mark.parametrize("hidden", HIDDEN)
def test_what_is_hidden_is_asked_for(hidden):
    task, x, y = batch(hidden)
    assert isinstance(task, Task) and x.shape == y.shape == (2_000, 8) and (x > 0).all()
    assert torch.equal(x == task.mask, y != -100)
    patterns = {tuple(row.nonzero().flatten().tolist()) for row in x == task.mask}
    pieces = {(0,), (1,), (PART,), (LAND,)}
    known = {"pieces": pieces, "units": {NAME, (PART,), (LAND,)}, "name": {NAME}, "piece": {(0,), (1,)}}
    assert patterns == known[hidden]
    counts = (x == task.mask).double().mean(0)
    share = {"pieces": 1 / 4, "units": 1 / 3, "name": 1.0, "piece": 0.5}[hidden]
    assert counts[0].item() == pytest.approx(share, abs=0.04)
    assert task.weight(y) == int((x == task.mask).sum())


def test_a_name_is_told_by_its_other_word_or_by_part_and_land_together():
    task, x, y = batch("pieces", 5_000)
    rows = torch.where(y >= 0, y, x)
    assert task.decode(rows[0]).split()[2:5] == ["is", "in", "the"] and task.decode(rows[0]).split()[6] == "of"
    facts = {tuple(row) for row in rows[:, [0, 1, PART, LAND]].tolist()}
    assert len(facts) == 32 == len(PARTS) * len(LANDS)
    for places, known in (((0,), 1), ((1,), 1), ((2, 3), 1), ((2,), 8), ((3,), 4)):
        by = {tuple(fact[i] for i in places): set() for fact in facts}
        for fact in facts:
            by[tuple(fact[i] for i in places)].add(fact[:2])
        assert {len(names) for names in by.values()} == {known}
    words = [word for fact in facts for word in fact[:2]]
    assert len(set(words)) == 64, "no word is in two names"
    assert len(set(task.words)) == len(task.words) == task.vocabulary


def test_the_rows_are_the_same_whatever_is_hidden():
    rows = [torch.where(y >= 0, y, x) for _, x, y in (batch(hidden, 50) for hidden in HIDDEN)]
    assert all(torch.equal(a, b) for a, b in itertools.pairwise(rows))


def test_baselines():
    assert Atlas().baselines() == {"unigram loss": math.log(32), "land alone loss": math.log(4)}


def test_ids_of_no_word_are_refused():
    with pytest.raises(ValueError, match=r"ids must hold ids from 0 to"):
        Atlas().decode([500])
