"""The checks accept the right answer, and name each planted slip."""

import torch
import torch.nn.functional as F
from support.answers import chapter

from rtx_book.checks import r_transformer as checks


def windows(x, M, before=None, after=0):
    return F.pad(x, (0, 0, M - 1 if before is None else before, after)).unfold(1, M, 1).mT[:, : x.shape[1]]


def steps(z, W, M, order=None):
    T = z.shape[1] - M + 1
    h = torch.zeros_like(z[:, :T])
    for j in range(M) if order is None else order(M):
        h = torch.tanh(z[:, j : j + T] + h @ W.T)
    return h


def whole(z, W, M):
    return torch.cat([steps(z[:, : t + 1], W, t + 1) for t in range(z.shape[1])], dim=1)


RIGHT = {
    checks.check_order: [
        ("zfbcs", "Right: the gradient"),
        ("f z b c s", "Right: the gradient"),
        ("FBCSZ", "Right: the gradient"),
    ]
}
SLIPS = {
    checks.check_windows: [
        (lambda x, M: windows(x, M, before=0, after=M), "begin at their step"),
        (lambda x, M: windows(x, M, before=1, after=M), "centred"),
        (lambda x, M: windows(x, M, before=M), "one step too early"),
        (lambda x, M: windows(x, M).flip(2), "run backwards"),
        (lambda x, M: windows(torch.cat([x[:, :1].repeat(1, M - 1, 1), x], 1), M, before=0), "first input again"),
        (lambda x, M: windows(x, M).mT, "exchanged"),
    ],
    checks.check_steps: [
        (lambda z, W, M: whole(z, W, M)[:, M - 1 :], "one run over everything"),
        (whole, "T windows"),
        (lambda z, W, M: steps(z, W, M, lambda M: reversed(range(M))), "read backwards"),
        (lambda z, W, M: steps(z, W, M, lambda M: range(M - 1)), "last step is missing"),
        (lambda z, W, M: steps(z, W, M, lambda M: range(1, M)), "first step is missing"),
        (lambda z, W, M: steps(z, W.T, M), "transposed"),
        (lambda z, W, M: torch.tanh(z[:, M - 1 :]), "not there"),
        (lambda z, W, M: sum(steps(z, W, M, lambda M, k=k: range(k)) for k in (1, 2, 3)) / 3, "mean over the steps"),
    ],
    checks.check_order: [
        ("fzcbs", "authors' music script"),
        ("fczbs", "of the batch before"),
        ("zfbsc", "after the step"),
        ("zbfcs", "needs a loss"),
        ("zfscb", "before the backward pass: it uses"),
        ("fbzcs", "takes the gradient away"),
        ("fbcs", "each of five letters"),
    ],
}

test_slips, test_stubs, test_right_answers = chapter(SLIPS, RIGHT)
