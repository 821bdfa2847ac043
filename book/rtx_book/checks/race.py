"""Checks of the exercises on comparing models; each message names the likely slip.

Every check returns without a word of blame if its argument is None: the exercise is not answered yet.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from rtx_book.checks.answers import compare, compare_cases, exercise, judge, judged, of_chapter, variant

solution, ask = of_chapter(__name__)

REPORTS = judged("reports")
"""What the last exercise asks: whether the report supports its conclusion, and why."""


@exercise("Right: quantiles of the medians of the draws.")
def check_interval(answer: Callable[..., Sequence[float]]) -> None:
    """``answer(values, draws, level=0.95)`` must be the ends of the percentile interval of the median.

    values are n numbers, draws an array (R, n) of indices.
    """
    rng = np.random.default_rng(variant(10))
    for n, level, z in ((7, 0.95, 1.959964), (9, 0.8, 1.281552)):
        values = rng.gamma(2.0, size=n)
        draws = rng.integers(n, size=(900, n))
        drawn, tail = values[draws], (1 - level) / 2
        medians = np.median(drawn, axis=1)

        def ends(numbers: np.ndarray, low: float = tail, high: float = 1 - tail) -> Tensor:
            return torch.from_numpy(np.quantile(numbers, [low, high]))

        right, by_draw = ends(medians), ends(np.median(drawn, axis=0))
        normal = torch.tensor([medians.mean() - z * medians.std(), medians.mean() + z * medians.std()])
        slips = {
            "the values are not drawn: index them with the draws": ends(values),
            "the median is asked for, not the mean": ends(drawn.mean(axis=1)),
            "the median is taken over the draws: each draw, a row, has a median of its own": by_draw,
            "what lies outside is cut off on each side: half of it belongs on each": ends(medians, 1 - level, level),
            "the ends are one-sided: one half of what lies outside belongs on each side": ends(medians, 0, level),
            "the ends are in the wrong order": right.flip(0),
            "this is the interval of a normal distribution: take quantiles of the medians": normal,
            "this interval is of the values themselves, not of their median": ends(drawn.ravel()),
        }
        compare(_pair(answer(list(values), draws, level)), right, slips)


def _pair(given: object) -> Tensor:
    """What was given as two numbers."""
    assert given is not ... and given is not None, "the function must return two numbers"
    try:
        array = np.array(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"the function must return two numbers, it returned {given!r}") from error
    assert array.shape == (2,), f"the function must return two numbers, it returned {array.size}"
    return torch.from_numpy(array)


@exercise("Right: the first step at the line or beyond it, on the side that the metric comes from.")
def check_arrival(answer: Callable[..., int | None]) -> None:
    """``answer(steps, values, metric, line)`` must be the first step at the finish line or beyond it, or None.

    "accuracy" is reached from below, every other metric from above.
    """
    steps = [50, 100, 150, 200, 250]
    exact = "a run that meets the line exactly has reached it"
    never = "a run that never arrives has no step: return None"
    cases: list[tuple[list[float], str, float, int | None, str]] = [
        ([0.2, 0.6, 0.96, 0.99, 0.97], "accuracy", 0.95, 150, ""),
        ([0.2, 0.1, 0.008, 0.001, 0.005], "mse", 0.01, 150, ""),
        ([2.9, 2.2, 1.7, 1.5, 1.6], "loss", 1.8, 150, ""),
        ([0.2, 0.95, 0.97, 0.99, 0.98], "accuracy", 0.95, 100, exact),
        ([2.9, 1.8, 1.7, 1.5, 1.6], "loss", 1.8, 100, exact),
        ([0.2, 0.6, 0.7, 0.9, 0.8], "accuracy", 0.95, None, never),
        ([0.2, 0.1, 0.1, 0.05, 0.02], "mse", 0.01, None, never),
        ([0.97, 0.6, 0.96, 0.99, 0.98], "accuracy", 0.95, 50, "a run may arrive at its first evaluation"),
    ]
    for values, metric, line, right, remark in cases:
        given = answer(list(steps), list(values), metric, line)
        assert given is not ..., "the function must return a step or None"
        if given == right:
            continue
        where = f"{metric} {values}, line {line}"
        sign, side = (1, "rises") if metric == "accuracy" else (-1, "falls")
        beyond, before = [sign * (v - line) >= 0 for v in values], [sign * (v - line) <= 0 for v in values]
        if right is not None:
            last = [step for step, there in zip(steps, beyond, strict=True) if there][-1]
            best = steps[int(np.argmax(sign * np.array(values)))]
            turned = given is not None and given == steps[before.index(True)]
            assert given != beyond.index(True), f"{where}: this is a place in the list, the step is asked for"
            assert not turned, f"{where}: the wrong direction, {metric} {side} to its line"
            assert given != last, f"{where}: this is the last step beyond the line, the first is asked for"
            assert given != best, f"{where}: this is the best step, the first beyond the line is asked for"
        raise AssertionError(f"{where}: {remark or f'the first step beyond the line is {right}'}, got {given}")


@exercise("Right: three blocks of inputs, states and two biases, and the readout.")
def check_hidden_units(answer: Callable[[int, int, int], int]) -> None:
    """``answer(budget, inputs, outputs)`` must be the hidden units of a GRU with readout closest to a budget.

    The GRU has two biases, 3 H (D + H + 2) parameters, the readout O (H + 1).
    """
    cases = [(50_817, 2, 1), (51_300, 1, 10), (54_700, 64, 65), (310, 3, 5), (1_000, 2, 40), (5_600, 3, 90)]

    def size(H: int, inputs: int, outputs: int, gates: int = 3, biases: int = 2, read: int = 1, bias: int = 1) -> int:
        return gates * H * (inputs + H + biases) + read * outputs * (H + bias)

    def closest(**changes: int) -> Callable[..., int]:
        return lambda budget, *io: min(range(1, 400), key=lambda H: abs(size(H, *io, **changes) - budget))

    def most(budget: int, *io: int) -> int:
        return max(H for H in range(1, 400) if size(H, *io) <= budget)

    slips = {
        "a GRU of torch.nn has two biases for each block, one for the input and one for the state": {"biases": 1},
        "the biases are left out": {"biases": 0},
        "the readout is left out": {"read": 0},
        "the readout has a bias": {"bias": 0},
        "these are the four blocks of an LSTM: a GRU has three": {"gates": 4},
        "this is one block, as in a plain RNN: a GRU has three": {"gates": 1},
        "two blocks are counted: the candidate is one too": {"gates": 2},
    }
    named = {message: closest(**changes) for message, changes in slips.items()}
    named["this is the most that fits: the closest number may lie above the budget"] = most
    compare_cases(answer, closest(), named, cases)


@exercise()
def check_reports(answers: Mapping[str, bool | None]) -> None:
    """``answers`` must say of each report in ``REPORTS`` whether it supports its conclusion; None: not answered yet."""
    judge(answers, REPORTS, "reports", "Right: equal size, equal tuning, equal cost, and seeds enough to tell.")
