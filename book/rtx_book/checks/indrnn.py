"""Checks of the exercises on independent neurons; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

import functools
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from rtx_book.checks.answers import compare, exercise, numeric, of_chapter, refuse

solution, ask = of_chapter(__name__)
(check_memory,) = numeric(__name__)

Clamp = tuple[float, float, float, float]
"""A map h -> clamp(a + u h, lo, hi) as (a, u, lo, hi)."""


@exercise()
def check_interval(answer: Callable[[int, float, float], tuple[float, float]]) -> None:
    """``answer(length, keep, magnitude)`` must return the least and the largest ``|u|`` allowed.

    Over ``length`` steps the factor ``|u|^length`` must lie between ``keep`` (below 1) and ``magnitude`` (at least 1).
    """
    given = answer(784, 0.1, 5.0)
    assert isinstance(given, Sequence) and len(given) == 2, "the function must return two numbers: (low, high)"
    low, high = map(float, given)
    assert low <= high, f"the ends are swapped: {low:.6g} is above {high:.6g}"
    slips = {
        "these are powers: |u|^T = 5 asks for the root, 5^(1/T)": (0.0, math.inf),
        "the factor is a power of u, not a multiple: take the T-th root instead of dividing by T": (0.1 / 784, 5 / 784),
        "these roots have one factor too few: over T steps u is applied T times": (0.1 ** (1 / 783), 5 ** (1 / 783)),
        "the logarithm is left: undo it with exp": (math.log(0.1) / 784, math.log(5) / 784),
    }
    refuse(slips, lambda wrong: _close((low, high), wrong))
    for name, end, factor in (("low", low, 0.1), ("high", high, 5.0)):
        power = torch.tensor(end, dtype=torch.float64) ** 784  # of Python's floats it raises where it overflows
        made = f"{end:.8g}^784 = {power.item():.3g}"
        assert _close([end], [factor ** (1 / 784)]), f"{name} is {end:.8g}, and {made}, not {factor}"
    print(f"Right: from {low:.5f} to {high:.5f} for 784 steps, a window of width {high - low:.5f}.")


@exercise("Right: at each step its own loss, and u times what comes back through an active step.")
def check_gradient(answer: Callable[[Tensor, float, Tensor], Tensor]) -> None:
    """``answer(h, u, g)`` must be dL/dh_t, (T,), of one ReLU neuron with losses at every step.

    h (T,) holds the states and g (T,) the direct derivatives dL_t/dh_t.
    """
    h = torch.tensor([0.7, 0.4, 0.0, 0.5, 0.9, 0.3, 0.0, 0.2, 0.6], dtype=torch.float64)
    g = torch.tensor([0.3, -0.8, 0.5, 1.1, -0.4, 0.9, 0.6, -0.7, 1.3], dtype=torch.float64)
    u, on = -0.9, (h > 0).double()
    right = _backward(g, u * on[1:])
    last = torch.zeros_like(g)
    last[-1] = g[-1]
    slips = {
        "this is equation 3, a loss at T alone: every step adds its own g_t": _backward(last, u * on[1:]),
        "the slope on the way from step t+1 back to t is that of step t+1, not of step t": _backward(g, u * on[:-1]),
        "this is the gradient of the pre-activation: g_t itself does not pass the slope of step t": on * right,
        "the slope is missing: where the ReLU is off, nothing comes back": _backward(g, u * torch.ones_like(g)),
        "time runs the wrong way: start at T and end at 1": _backward(g.flip(0), u * on.flip(0)).flip(0),
        "|u| was used: the sign of u belongs to the product": _backward(g, -u * on[1:]),
        "these are the direct derivatives alone: add what comes back from step t+1": g,
    }
    compare(answer(h.clone(), u, g.clone()), right, slips, tolerance=1e-6)  # u times a mask is float32


@exercise("Right: two clamped lines make a clamped line, for every sign of u.")
def check_compose(answer: Callable[[Clamp, Clamp], Clamp]) -> None:
    """``answer(g, f)`` must be the map h -> g(f(h)), each map (a, u, lo, hi) for h -> clamp(a + u h, lo, hi)."""
    f: Clamp = (0.3, 0.8, 0.2, 2.0)  # with the first partner, every slip gives another map
    pairs: dict[str, tuple[Clamp, Clamp]] = {
        "positive u": (f, (-0.1, 0.9, 0.0, 1.0)),
        "wide second map": ((0.2, 1.1, 0.1, 1.0), (0.1, 0.5, -1.0, 9.0)),
        "negative u": (f, (1.0, -0.7, 0.0, 2.0)),
        "two negative u": ((1.2, -0.5, 0.0, 2.0), (0.9, -0.6, 0.0, 2.0)),
        "u = 0": (f, (0.4, 0.0, 0.0, 2.0)),
        "no overlap": ((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 0.0, 1.0)),
    }
    for name, (first, second) in pairs.items():
        given = answer(second, first)
        assert isinstance(given, Sequence) and len(given) == 4, "the function must return a map: (a, u, lo, hi)"
        map_ = tuple(map(float, given))
        assert all(map(math.isfinite, map_)), f"the map {map_} holds numbers that are not finite"
        h = torch.linspace(-8, 8, 1601, dtype=torch.float64)
        if (_apply(map_, h) - _apply(second, _apply(first, h))).abs().max() < 1e-9:
            continue
        slips = {f"{name}: {message}": wrong for message, wrong in _slips(first, second).items()}
        refuse(slips, functools.partial(_close, map_))
        raise AssertionError(f"{name}: {map_} is another function than first f, then g, by none of the usual slips")


def _close(ones: Sequence[float], others: Sequence[float]) -> bool:
    return all(math.isclose(*pair, rel_tol=1e-9, abs_tol=1e-12) for pair in zip(ones, others, strict=True))


def _backward(g: Tensor, factors: Tensor) -> Tensor:
    """delta_T = g_T, delta_t = g_t + factors[t] delta_{t+1}."""
    deltas = [g[-1]]
    for t in range(len(g) - 2, -1, -1):
        deltas.append(g[t] + factors[t] * deltas[-1])
    return torch.stack(deltas[::-1])


def _apply(map_: Sequence[float], h: Tensor) -> Tensor:
    a, u, low, high = map_
    return (a + u * h).clamp(low, high)


def _clip(ends: Sequence[float], g: Clamp) -> list[float]:
    return [min(max(end, g[2]), g[3]) for end in ends]


def _right(f: Clamp, g: Clamp) -> Clamp:
    ends = _clip([g[0] + g[1] * end for end in f[2:]], g)
    return g[0] + g[1] * f[0], g[1] * f[1], min(ends), max(ends)


def _slips(f: Clamp, g: Clamp) -> dict[str, tuple[float, ...]]:
    (a, u, *ends), images = _right(f, g), [g[0] + g[1] * end for end in f[2:]]
    uncarried = "the ends of f were cut to those of g, not carried through g first, to a_g + u_g lo and a_g + u_g hi"
    return {
        "the order is wrong: f acts first, then g, though g is named first": _right(g, f),
        "a negative u turns the ends around: the image of hi is then the lower one": (a, u, *_clip(images, g)),
        "the ends of f are missing: f's floor and ceiling pass through g as well": (a, u, *g[2:]),
        "the ends of g are missing: clamp the images of f's ends to them": (a, u, *sorted(images)),
        uncarried: (a, u, *_clip(f[2:], g)),
        "the slopes multiply, they do not add": (a, f[1] + g[1], *ends),
        "the offset of f passes through g: it is a_g + u_g a_f": (f[0] + g[0], u, *ends),
    }
