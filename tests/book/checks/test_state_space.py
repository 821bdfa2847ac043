"""The checks accept the right answer, and name each planted slip."""

import cmath
import math

import torch
import torch.nn.functional as F
from support.answers import chapter

from rtx_book.checks import state_space as checks


def discretised(v):
    delta = F.softplus(v)
    return torch.exp(-delta), 1 - torch.exp(-delta), delta


def swing(period, half):
    return complex(-math.log(2) / half, 2 * math.pi / period)


def scan(u, delta, A, B, C, keep=lambda delta, A: (delta * A).exp(), write=lambda delta, B: delta * B, first="write"):
    h, y = u.new_zeros(len(u), *A.shape), []
    for t in range(u.shape[1]):
        step = delta[:, t, :, None]
        kept = keep(step, A) * h
        h = kept + write(step, B[:, t, None]) * u[:, t, :, None]
        y.append(((h if first == "write" else kept) * C[:, t, None]).sum(-1))
    return torch.stack(y, 1)


RIGHT = {checks.check_swing: [(swing, "Right: the real part"), (lambda p, h: swing(p, h).conjugate(), "Right")]}
SLIPS = {
    checks.check_swing: [
        (lambda p, h: -swing(p, h).conjugate(), "or it grows"),
        (lambda p, h: complex(-math.log(2) / h, 1 / p), "not 1"),
        (lambda p, h: complex(-math.log(2) / h, math.pi / p), "not pi"),
        (lambda p, h: complex(-1 / h, 2 * math.pi / p), "1/e"),
        (lambda p, h: cmath.exp(swing(p, h)), "asked for is A"),
        (lambda p, h: swing(h, p), "are exchanged"),
        (lambda p, h: 1, "none of the usual slips"),
    ],
    checks.check_discretised: [
        (lambda v: (torch.exp(-v), 1 - torch.exp(-v), v), "softplus"),
        (lambda v: (torch.exp(F.softplus(v)), v, v), "A is -1"),
        (lambda v: (discretised(v)[1], v, v), "first comes what is kept"),
        (lambda v: (discretised(v)[0], F.softplus(v), F.softplus(v)), "which comes third"),
        (lambda v: (discretised(v)[0], -discretised(v)[1], v), "divided by A"),
        (lambda v: (discretised(v)[0], discretised(v)[0], v), "what is kept"),
        (lambda v: (*discretised(v)[:2], discretised(v)[1]), "once more"),
        (lambda v: (*discretised(v)[:2], v), "Delta is softplus"),
        (lambda v: v, "must return three"),
    ],
    checks.check_scan: [
        (lambda u, delta, A, B, C: scan(u, delta, A, C, B), "are exchanged"),
        (lambda *given: scan(*given, first="read"), "after the input was written"),
        (lambda *given: scan(*given, write=lambda delta, B: B), "Delta B u"),
        (lambda *given: scan(*given, keep=lambda delta, A: (-delta * A).exp()), "below 0 already"),
        (lambda *given: scan(*given, keep=lambda delta, A: A.exp()), "belongs into what is kept"),
        (lambda u, delta, A, B, C: scan(u, delta, A, B, C[:, -1:].expand_as(C)), "at its own step"),
        (lambda *given: scan(*given)[:, -1], "the shape must be"),
    ],
}

test_slips, test_stubs, test_right_answers = chapter(SLIPS, RIGHT)
