"""The checks accept the right answer, and name each planted slip."""

import numpy as np
import pytest
from support.answers import chapter

from rtx_book.checks import race as checks
from rtx_book.records.seeds import steps_to


def quantiles(low, high, statistic=np.median, axis=1):
    def interval(values, draws, level=0.95):
        return np.quantile(statistic(np.asarray(values)[draws], axis=axis), [low(level), high(level)])

    return interval


both = {"low": lambda level: (1 - level) / 2, "high": lambda level: (1 + level) / 2}
interval = quantiles(**both)


def normal(values, draws, level=0.95):
    medians, z = np.median(np.asarray(values)[draws], axis=1), {0.95: 1.959964, 0.8: 1.281552}[level]
    return [medians.mean() - z * medians.std(), medians.mean() + z * medians.std()]


def arrival(steps, values, metric, line):
    rows = [{"step": step, metric: value} for step, value in zip(steps, values, strict=True)]
    return steps_to({"evaluations": rows}, metric, line)


def first(test):
    def answer(steps, values, metric, line):
        return next((s for s, v in zip(steps, values, strict=True) if test(v, metric, line)), None)

    return answer


def found(change):
    """An answer that goes on from the right step."""
    return lambda steps, values, metric, line: (
        None if (step := arrival(steps, values, metric, line)) is None else change(step, steps, values, metric)
    )


def units(gates=3, biases=2, read=True, bias=1):
    def answer(budget, inputs, outputs):
        def size(H):
            return gates * H * (inputs + H + biases) + read * outputs * (H + bias)

        return min(range(1, 400), key=lambda H: abs(size(H) - budget))

    return answer


def most(budget, inputs, outputs):
    return max(H for H in range(1, 400) if 3 * H * (inputs + H + 2) + outputs * (H + 1) <= budget)


TRUE = {report: sound for report, (sound, _) in checks.REPORTS.items()}


@pytest.mark.parametrize("report", TRUE)
def test_reports(report):
    with pytest.raises(AssertionError, match=checks.REPORTS[report][1]):
        checks.check_reports(TRUE | {report: not TRUE[report]})


RIGHT = {
    checks.check_interval: [(interval, "Right: quantiles"), (lambda *args: tuple(interval(*args)), "Right: quantiles")]
}
SLIPS = {
    checks.check_interval: [
        (lambda values, draws, level: interval(values, np.arange(len(values))[:, None], level), "not drawn"),
        (quantiles(**both, statistic=np.mean), "not the mean"),
        (quantiles(**both, axis=0), "over the draws"),
        (quantiles(lambda level: 1 - level, lambda level: level), "on each side: half"),
        (quantiles(lambda level: 0, lambda level: level), "one-sided"),
        (lambda *args: interval(*args)[::-1], "wrong order"),
        (normal, "normal distribution"),
        (quantiles(**both, statistic=lambda drawn, axis: drawn), "of the values themselves"),
        (lambda *args: interval(*args).mean(), "it returned 1"),
        (lambda *args: ..., "must return two numbers$"),
        (lambda *args: "low, high", "it returned 'low, high'"),
    ],
    checks.check_arrival: [
        (first(lambda v, metric, line: v >= line), "wrong direction, mse falls"),
        (first(lambda v, metric, line: v <= line), "wrong direction, accuracy rises"),
        (first(lambda v, metric, line: v > line if metric == "accuracy" else v < line), "meets the line exactly"),
        (first(lambda v, metric, line: v >= line if metric == "accuracy" else v < line), "loss .*meets the line"),
        (found(lambda step, steps, *_: steps.index(step)), "a place in the list"),
        (lambda steps, values, metric, line: arrival(steps[::-1], values[::-1], metric, line), "the last step beyond"),
        (found(lambda _, steps, v, metric: steps[v.index((max if metric == "accuracy" else min)(v))]), "the best step"),
        (lambda steps, *others: arrival(steps, *others) or steps[-1], "never arrives"),
        (lambda steps, values, metric, line: arrival(steps[1:], values[1:], metric, line), "first evaluation"),
        (lambda *args: ..., "a step or None"),
        (lambda *args: 75, "is 150, got 75"),
    ],
    checks.check_hidden_units: [
        (units(biases=1), "two biases"),
        (units(biases=0), "biases are left out"),
        (units(read=False), "readout is left out"),
        (units(bias=0), "readout has a bias"),
        (units(gates=4), "four blocks"),
        (units(gates=1), "one block"),
        (units(gates=2), "candidate"),
        (most, "the most that fits"),
        (lambda *args: 100, "^100 for 50817, 2, 1 is not right"),
    ],
}

test_slips, test_stubs, test_right_answers = chapter(SLIPS, RIGHT)
