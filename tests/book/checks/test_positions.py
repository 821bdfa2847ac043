"""The checks accept the right answer, and name each planted slip."""

import torch
from support.answers import chapter

from rtx_book.checks import positions as checks
from rtx_lib.layers.positions import Sinusoidal


def shift_matrix(k, width, *, share=2, signs=(1, -1), swap=False, alike=False):
    """Rotations by k w_i on the diagonal; the arguments plant slips."""
    blocks = []
    for i in range(width // 2):
        angle = torch.tensor(k * 10000.0 ** (-(0 if alike else i) * share / width))
        cos, sin = (angle.sin(), angle.cos()) if swap else (angle.cos(), angle.sin())
        blocks.append(torch.stack([cos, signs[0] * sin, signs[1] * sin, cos]).view(2, 2))
    return torch.block_diag(*blocks)


def halves(k, width):
    order = [*range(0, width, 2), *range(1, width, 2)]
    return shift_matrix(k, width)[order][:, order]


def rotary(x, p, *, share=2, alike=False, minus=-1):
    z, out = x.view(-1, 2), []
    for i, (a, b) in enumerate(z):
        angle = torch.tensor(p * 10000.0 ** (-(0 if alike else i) * share / len(x)), dtype=torch.float64)
        out += [a * angle.cos() + minus * b * angle.sin(), a * angle.sin() + b * angle.cos()]
    return torch.stack(out)


def in_halves(x, p):
    order = torch.arange(len(x)).view(2, -1).T.flatten()
    return rotary(x[order], p)[order.argsort()]


def slopes(heads):
    return torch.tensor([2.0 ** (-8 * h / heads) for h in range(1, heads + 1)])


def pad_and_view(x, kept=slice(1, None)):
    rows, columns = x.shape
    return torch.cat([x.new_zeros(rows, 1), x], dim=1).view(columns + 1, rows)[kept].reshape(rows, columns)


def rolled(x, by):
    return torch.stack([row.roll(by(i, len(x))) for i, row in enumerate(x)])


SLIPS = {
    checks.check_shift_matrix: [
        (lambda k, width: shift_matrix(-k, width), "way back"),
        (lambda k, width: shift_matrix(k, width, signs=(1, 1)), "same sign"),
        (halves, "all sines before all cosines"),
        (lambda k, width: shift_matrix(k, width, share=1), "half as fast"),
        (lambda k, width: shift_matrix(k, width, alike=True), "same angle"),
        (lambda k, width: shift_matrix(k, width, swap=True), "changed places"),
        (lambda k, width: shift_matrix(3, width), "k is not used"),
    ],
    checks.check_rotary: [
        (lambda x, p: rotary(x, -p), "turns backwards"),
        (in_halves, "two halves"),
        (lambda x, p: rotary(x, p, share=1), "half as fast"),
        (lambda x, p: rotary(x, p, alike=True), "same angle"),
        (lambda x, p: rotary(x, p + 1), "count from 0"),
        (lambda x, p: rotary(x, p, minus=1), "minus sign is missing"),
        (lambda x, p: x + Sinusoidal(len(x)).encode(torch.tensor([p]))[0], "multiplies"),
        (lambda x, p: x, "nothing turned"),
    ],
    checks.check_slopes: [
        (lambda heads: 2 ** (8 / heads) * slopes(heads), "first slope is 1"),
        (lambda heads: 2.0 ** -torch.arange(1, heads + 1), "8 heads alone"),
        (lambda heads: -slopes(heads), "slopes are positive"),
        (lambda heads: slopes(heads).flip(0), "order is reversed"),
        (lambda heads: 1 - torch.arange(heads) / heads, "geometric"),
        (lambda heads: (-8 * torch.arange(1, heads + 1) / heads).exp(), "not e"),
    ],
    checks.check_relative_shift: [
        (lambda x: x, "nothing moved"),
        (lambda x: rolled(x, lambda i, rows: rows - 1 - i), "to the right"),
        (lambda x: rolled(x, lambda i, rows: min(0, i + 2 - rows)), "one place short"),
        (lambda x: x.roll(1 - len(x), 1), "moved alike"),
        (lambda x: torch.cat([x, x.new_zeros(len(x), 1)], 1).flatten()[len(x) :].view(x.shape), "zeros comes last"),
        (lambda x: pad_and_view(x, slice(-1)), "was kept"),
    ],
    checks.check_slip: [("a", "between -1 and 1"), ("b", "still differ"), ("d", "no end"), ("e", "one of a, b, c, d")],
}

test_slips, test_stubs = chapter(SLIPS)
