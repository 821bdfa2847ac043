"""Schedules: a factor on the learning rate as a function of the step, which counts from 1, or of the evaluations."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from rtx_lib.shapes import expect_each

Schedule = Callable[[float], float]
Plateau = Callable[[Sequence[dict[str, Any]]], float]


def warmup_cosine(steps: int, warmup: int = 0, floor: float = 0.0) -> Schedule:
    """A factor for the rate: linear from 0 over ``warmup`` steps, then half a cosine to ``floor`` at ``steps``."""
    expect_each(warmup=(warmup, f"[0, {steps})"), floor=(floor, "[0, 1]"))

    def factor(step: float) -> float:
        if step < warmup:
            return step / warmup
        done = min(1.0, (step - warmup) / (steps - warmup))  # beyond `steps` the cosine would rise again
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * done))

    return factor


def warmup_constant(warmup: int = 0) -> Schedule:
    """A factor for the rate: linear from 0 over ``warmup`` steps, then 1."""
    expect_each(warmup=(warmup, "[0, inf]"))
    return lambda step: min(1.0, step / max(1, warmup))


def staircase(every: int, drop: float = 10.0) -> Schedule:
    """A factor for the rate: 1 for ``every`` steps, then ``drop`` times less for as many, and so on."""
    expect_each(every=(every, "[1, inf]"), drop=(drop, "[1, inf]"))
    return lambda step: drop ** -((math.ceil(step) - 1) // every)


def drop_on_plateau(patience: int, drop: float, metric: str = "loss", spared: int = 0) -> Plateau:
    """A factor for the rate, divided by ``drop`` when an evaluation is no better than the worst of those before it.

    It is compared with ``patience`` of them, and the first ``spared`` evaluations never lower the rate. This is how the
    scripts of TCN (Bai, Kolter and Koltun 2018) and R-Transformer (Wang et al. 2019) lower theirs, epoch by epoch; for
    music and characters they wait for one that is worse than the worst. The factor is computed from the whole list
    each time, so that a run that was resumed gets what one in a single sitting gets.
    """
    expect_each(patience=(patience, "[1, inf]"), drop=(drop, "[1, inf]"))

    def factor(evaluations: Sequence[dict[str, Any]]) -> float:
        expect_each(metric=(metric, evaluations[0] if evaluations else [metric]))
        values = [row[metric] for row in evaluations]
        drops = sum(values[i] >= max(values[i - patience : i]) for i in range(max(patience, spared), len(values)))
        return drop**-drops

    return factor
