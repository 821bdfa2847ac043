"""The checks accept the right answer, and name each planted slip."""

import math
from functools import partial

import torch
from support.answers import chapter

from rtx_book.checks import attention as checks
from rtx_lib.layers.decoding import beam_search

LEAST = torch.finfo(torch.float64).min


def fill(value, clear=True, keep=lambda mask: mask, axis=-1):
    def answer(scores, mask):
        weights = scores.masked_fill(~keep(mask), value).softmax(axis)
        return weights * keep(mask) if clear else weights

    return answer


def additive(
    s, h, W, U, v, *, inner=torch.tanh, outer=lambda e: e, weigh=lambda e: e.softmax(1), values=lambda h, U: h
):
    e = outer(inner((s @ W.T)[:, None] + h @ U.T) @ v)
    return (weigh(e)[..., None] * values(h, U)).sum(1)


def test_beam_search_finds_what_the_exercise_says():
    """One, two and three beams on the exercise's tree find ax, by and cz."""
    symbols = "<abcxyz."
    table = torch.zeros(8, 8)
    table[0, 1:4] = torch.tensor([0.45, 0.30, 0.25])
    table[1:4, 4:7] = torch.tensor([[0.4, 0.35, 0.25], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]])
    table[4:, 7] = 1.0

    def model(x, state):
        return table[x[1]].log(), None

    found = []
    for beams in (1, 2, 3):
        ids, log_p = beam_search(model, torch.zeros(1, 1), start=0, end=7, max_length=3, beams=beams)
        found.append(("".join(symbols[i] for i in ids[0]), round(log_p.exp().item(), 4)))
    assert found == [("ax.", 0.18), ("by.", 0.24), ("cz.", 0.25)]


RIGHT = {
    checks.check_masked_softmax: [
        (fill(LEAST), "gets 0"),
        (fill(-1e9), "gets 0"),
        (lambda e, mask: fill(-math.inf, False)(e, mask).nan_to_num(0.0), "gets 0"),
    ]
}
SLIPS = {
    checks.check_masked_softmax: [
        (fill(-math.inf, False), "is NaN"),
        (fill(LEAST, False), "got equal weights"),
        (fill(LEAST, keep=torch.logical_not), "turned round: True means that a query may attend"),
        (fill(LEAST, axis=-2), "over the queries; it must run over the keys, the last"),
        (lambda e, mask: e.softmax(-1) * mask, "do not sum to 1"),
        (lambda e, mask: (e * mask).softmax(-1), "keep a weight"),
        (lambda e, mask: (e * mask).softmax(-1) * mask, "took part in the sum"),
        (fill(-1.0, False), "set to -1"),
        (lambda e, mask: e.softmax(-1), "not used"),
        (lambda e, mask: e * 0, "everything is 0"),
    ],
    checks.check_additive: [
        (partial(additive, inner=lambda a: a), "tanh is missing"),
        (partial(additive, inner=lambda a: a, outer=torch.tanh), "tanh must come before v"),
        (partial(additive, weigh=lambda e: e.softmax(0)), "over the batch"),
        (partial(additive, values=lambda h, U: h @ U.T), "U h were averaged"),
        (partial(additive, weigh=lambda e: e), "the softmax is missing"),
        (partial(additive, weigh=lambda e: e.exp() / e.sum(1, keepdim=True)), "not by the sum of e"),
        (lambda s, h, W, U, v: h.mean(1), "all weights are equal: the scores"),
        (lambda s, h, W, U, v: additive(0 * s, h, W, U, v), "W s is missing"),
        (lambda s, h, W, U, v: h.sum(1), "do not enter the scores"),
        (lambda s, h, W, U, v: torch.ones(3, 7), "that of the weights"),
    ],
    checks.check_beam: [
        (("ax", 0.18), "greedy"),
        (("cz", 0.25), "not among the two"),
        (("ay", 0.1575), "second best"),
        (("bx", 0.03), "not what is left"),
        (("by", 0.8), "is a product"),
        (("by", 0.3), "not 0.3"),
        ("by", "a pair"),
    ],
}

test_slips, test_stubs, test_right_answers = chapter(SLIPS, RIGHT)
