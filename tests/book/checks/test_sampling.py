"""The check of sampling accepts the right answer, and names each planted slip."""

import torch
from support.answers import chapter

from rtx_book.checks import language_models as checks


def kept(p, stays, *, back=True, scale=True):
    p, order = p.sort(descending=True)
    p = p * stays(p)
    p = p / p.sum() if scale else p
    return torch.zeros_like(p).scatter(-1, order, p) if back else p


def before(share):
    return lambda p: p.cumsum(-1) - p < share


def late(z, t, share):
    return (z / t).where(kept(z.softmax(-1), before(share)) > 0, -torch.inf).softmax(-1)


def in_place(z, t, share):
    p = (z / t).softmax(-1)
    p = p * before(share)(p)
    return p / p.sum()


RIGHT = {checks.check_tempered_top_p: [(lambda z, t, share: kept((z / t).softmax(-1), before(share)), "Right")]}
SLIPS = {
    checks.check_tempered_top_p: [
        (lambda z, t, share: kept((z / t).softmax(-1), lambda p: p.cumsum(-1) <= share), "crosses the line"),
        (lambda z, t, share: kept((z / t).softmax(-1), before(share), scale=False), "rescaled"),
        (late, "before the"),
        (lambda z, t, share: kept((z * t).softmax(-1), before(share)), "multiplied"),
        (lambda z, t, share: kept(z.softmax(-1), before(share)), "temperature is missing"),
        (lambda z, t, share: kept((z / t).softmax(-1), before(share), back=False), "sorted order"),
        (in_place, "order of the ids"),
        (lambda z, t, share: (z / t).softmax(-1), "nothing was cut"),
        (lambda z, t, share: z[:3], "shape must be that of z"),
    ]
}

test_right_answers, test_slips, test_stubs = chapter(RIGHT, SLIPS)
