"""Two small tasks: the labels by hand, and that no one who may not look can know them."""

import math
from collections import Counter, defaultdict

import pytest
import torch
from support.compare import generator

from rtx_lib.tasks.next_symbol import SIDES, LookUp, NextSymbol

# The next symbol


@pytest.mark.parametrize("side", SIDES)
def test_labels_by_hand(side: str) -> None:
    task = NextSymbol(9, symbols=4, side=side)
    x, y = task.batch("train", 200, generator())
    assert task.name == f"symbol-{side}-9x4" and task.mask == 5 and task.vocabulary == 6
    for row, label in zip(x.tolist(), y.tolist(), strict=True):
        for t in range(9):
            if t % 2 == 0:
                assert row[t] in (1, 2, 3, 4) and label[t] == -100
                continue
            left, right = row[t - 1], row[t + 1]
            wanted = {"next": right, "previous": left, "both": (left - 1 + right - 1) % 4 + 1}[side]
            assert row[t] == task.mask and label[t] == wanted
    assert task.weight(y) == 200 * 4 and torch.equal(NextSymbol(9, symbols=4).batch("train", 200, generator())[0], x)


def entropy(pairs) -> float:
    """H(label | what is seen), in nats, counted."""
    seen = defaultdict(Counter)
    for what, label in pairs:
        seen[what][label] += 1
    total = sum(sum(counts.values()) for counts in seen.values())
    return -sum(n * math.log(n / sum(counts.values())) for counts in seen.values() for n in counts.values()) / total


@pytest.mark.parametrize("side", SIDES)
def test_what_can_be_known_from_either_side(side: str) -> None:
    """Of all rows of three: the label's entropy given the left, the right, and both."""
    task = NextSymbol(3, symbols=3, side=side)
    shown = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    x, y = task._label(shown)
    given = [
        [(key(row), label[1]) for row, label in zip(x.tolist(), y.tolist(), strict=True)]
        for key in (lambda row: row[:2], lambda row: row[1:], lambda row: row)
    ]
    given = [entropy((tuple(what), label) for what, label in pairs) for pairs in given]
    bars = task.baselines()
    open_, shut = bars["both sides loss"], bars["marginal loss"]
    assert shut == math.log(3) and bars["marginal"] == 1 / 3 and open_ == 0
    wanted = {"next": [shut, open_, open_], "previous": [open_, shut, open_], "both": [shut, shut, open_]}[side]
    assert given == pytest.approx(wanted, abs=1e-12)


def test_the_finite_splits_are_the_same_for_every_side() -> None:
    tasks = [NextSymbol(5, side=side) for side in SIDES]
    first = [next(task.batches("test", 10_000))[0] for task in tasks]
    assert torch.equal(first[0], first[1]) and torch.equal(first[0], first[2]) and len(first[0]) == 10_000
    assert Counter(first[0][:, ::2].flatten().tolist()).keys() == set(range(1, 9))


# The dictionary of one row


def test_rows_by_their_rule() -> None:
    task = LookUp(3, questions=2, keys=8, values=5)
    x, y = task.batch("train", 500, generator(1))
    assert x.shape == y.shape == (500, 9) and task.vocabulary == 14
    for row, label in zip(x.tolist(), y.tolist(), strict=True):
        said = dict(zip(row[:6:2], row[1:6:2], strict=True))
        assert len(said) == len(set(said.values())) == 3
        assert set(said) <= set(range(1, 9)) and set(said.values()) <= set(range(9, 14))
        assert row[6] in said and row[7] == said[row[6]] and row[8] in said
        answers = {6: said[row[6]], 8: said[row[8]]}
        assert label == [answers.get(t, -100) for t in range(9)]
    assert task.weight(y) == 500 * 2 and task.name == "look-up-3-2-of-8x5"


def test_nothing_but_looking_up_helps() -> None:
    """Keys and values have nothing to do with each other, nor has the place of a pair with the question."""
    task = LookUp(4, questions=1, keys=6, values=6)
    x, y = task.batch("train", 20_000, generator(2))
    asked, answer = x[:, -1], y[:, -1]
    table = torch.zeros(7, 13).index_put((asked, answer), torch.ones(20_000), accumulate=True)[1:, 7:]
    assert (table / 20_000 - 1 / 36).abs().max() < 0.008  # more than six standard deviations
    places = (x[:, 0:8:2] == asked[:, None]).double()
    assert (places.sum(1) == 1).all() and (places.mean(0) - 1 / 4).abs().max() < 0.02
    bars = task.baselines()
    assert bars["a shown value"] == 1 / 4 and bars["a shown value loss"] == math.log(4)
    assert (bars["a value loss"], bars["uniform guess loss"]) == (math.log(6), math.log(13))
