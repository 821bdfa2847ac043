"""The checks accept the right answer, and name each planted slip."""

import pytest
import torch
from support.answers import chapter

from rtx_book.checks import recurrence_returns as checks


def last_change(y, period):
    differ = (y[period:] != y[:-period]).any(1).nonzero()
    return int(differ.max()) + 1 + period if len(differ) else 0


RIGHT = {
    checks.check_flip: [
        (lambda x: (1 - 2 * x, 0), "Right: a 1 turns"),
        (lambda x: (torch.where(x == 1, -1.0, 1.0), torch.zeros_like(x)), "Right: a 1 turns"),
    ]
}
SLIPS = {
    checks.check_last_change: [
        (lambda y, p: last_change(y, 1), "not with its neighbour"),
        (lambda y, p: last_change(y, p) - 1, "from 1"),
        (lambda y, p: last_change(y, p) - p, "first step, not from the first that has one"),
        (lambda y, p: int((y[p:] != y[:-p]).any(1).int().argmax()) + 1 + p if last_change(y, p) else 0, "the first"),
        (lambda y, p: last_change((y * 1000).round(), p), "bits count"),
        (lambda y, p: last_change(y[:, :1], p), "the first alone"),
        (lambda y, p: int((y[p:] != y[:-p]).any(1).sum()), "number of steps"),
        (lambda y, p: 8, "8 where step 5"),
        (lambda y, p: None, "must return a whole number"),
    ],
    checks.check_flip: [
        (lambda x: (2 * x - 1, 0), "at a 0"),
        (lambda x: (-torch.ones_like(x), 0), "one factor"),
        (lambda x: (1 - x, x), "erases"),
        (lambda x: (torch.where(x == 1, 0.5, 0.9), x), "negative where a 1"),
        (lambda x: (0.99 - 1.98 * x, 0), "after 5,000 steps"),
        (lambda x: (1 - 2 * x, x), "none of the usual slips"),
        (lambda x: 1 - 2 * x, "must return a pair"),
    ],
}

test_slips, test_stubs, test_right_answers = chapter(SLIPS, RIGHT)


@pytest.mark.parametrize("kind", ["IndRNN", "gated mean"])
@pytest.mark.parametrize("seed", range(12))
def test_units_on_their_own_come_to_repeat_themselves(kind, seed):
    """The theorem, with more networks than the exercise shows, and well before their end."""
    assert last_change(checks.outputs(kind, seed), 2) < checks.STEPS // 2


@pytest.mark.parametrize("seed", range(4))
def test_units_that_are_mixed_need_not(seed):
    assert last_change(checks.outputs("tanh RNN", seed), 2) > checks.STEPS - 2


def test_outputs_are_bits_of_float32():
    y = checks.outputs("gated mean", 0, steps=20)
    assert y.dtype == torch.float32 and y.shape == (20, 8)
    assert torch.equal(y, checks.outputs("gated mean", 0, steps=20))
