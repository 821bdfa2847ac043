"""The checks accept the right answer, and name each planted slip."""

import math

import torch
from support.answers import chapter

from rtx_book.checks import indrnn as checks


def interval(length, keep, magnitude):
    return keep ** (1 / length), magnitude ** (1 / length)


def backward(g, factors):
    out = [g[-1]]
    for t in reversed(range(len(g) - 1)):
        out.append(g[t] + factors[t] * out[-1])
    return torch.stack(out[::-1])


def gradient(h, u, g):
    return backward(g, u * (h[1:] > 0))


def clip(h, g):
    return min(max(h, g[2]), g[3])


def compose(g, f):
    return *line(f, g), *sorted(clip(g[0] + g[1] * h, g) for h in f[2:])


def line(f, g):
    return g[0] + g[1] * f[0], g[1] * f[1]


SLIPS = {
    checks.check_interval: [
        (lambda T, k, m: (0.0, math.inf), "asks for the root"),
        (lambda T, k, m: (k / T, m / T), "not a multiple"),
        (lambda T, k, m: (k ** (1 / (T - 1)), m ** (1 / (T - 1))), "one factor too few"),
        (lambda T, k, m: (math.log(k) / T, math.log(m) / T), "undo it with exp"),
        (lambda T, k, m: interval(T, k, m)[::-1], "swapped"),
        (lambda T, k, m: (0.0, m ** (1 / T)), "low is 0"),
        (lambda T, k, m: (k ** (1 / T), 9.0), r"high is 9, and 9\^784 = inf"),
        (lambda T, k, m: None, "two numbers"),
    ],
    checks.check_gradient: [
        (lambda h, u, g: gradient(h, u, torch.cat([0 * g[:-1], g[-1:]])), "loss at T alone"),
        (lambda h, u, g: backward(g, u * (h[:-1] > 0)), "not of step t"),
        (lambda h, u, g: (h > 0) * gradient(h, u, g), "gradient of the pre-activation"),
        (lambda h, u, g: backward(g, [u] * 8), "slope is missing"),
        (lambda h, u, g: backward(g.flip(0), u * (h > 0).flip(0)).flip(0), "the wrong way"),
        (lambda h, u, g: gradient(h, abs(u), g), "sign of u"),
        (lambda h, u, g: g, "direct derivatives alone"),
    ],
    checks.check_compose: [
        (lambda g, f: compose(f, g), "the order is wrong"),
        (lambda g, f: (*line(f, g), *(clip(g[0] + g[1] * h, g) for h in f[2:])), "^negative u: a negative u turns"),
        (lambda g, f: (*line(f, g), *g[2:]), "ends of f are missing"),
        (lambda g, f: (*line(f, g), *sorted(g[0] + g[1] * h for h in f[2:])), "ends of g are missing"),
        (lambda g, f: (*line(f, g), clip(f[2], g), clip(f[3], g)), "not carried through"),
        (lambda g, f: (line(f, g)[0], f[1] + g[1], *compose(g, f)[2:]), "do not add"),
        (lambda g, f: (f[0] + g[0], *compose(g, f)[1:]), "a_g . u_g a_f"),
        (lambda g, f: (*line(f, g), -math.inf, math.inf), "not finite"),
        (lambda g, f: (*line(f, g), 0.5, 0.6), "none of the usual"),
        (lambda g, f: line(f, g), "must return a map"),
        (lambda g, f: None, "must return a map"),
    ],
}

test_slips, test_stubs = chapter(SLIPS)
