"""Schedules: a factor on the learning rate as a function of the step, which counts from 1, or of the evaluations."""

import math
from collections.abc import Callable, Sequence
from typing import Any

Schedule = Callable[[float], float]
Plateau = Callable[[Sequence[dict[str, Any]]], float]


def warmup_cosine(steps: int, warmup: int = 0, floor: float = 0.0) -> Schedule:
    """A factor for the rate: linear from 0 over ``warmup`` steps, then half a cosine to ``floor`` at ``steps``."""
    if not 0 <= warmup < steps:
        raise ValueError(f"warmup must lie in [0, steps), got warmup={warmup}, steps={steps}")
    if not 0 <= floor <= 1:
        raise ValueError(f"floor must lie in [0, 1], got {floor}")

    def factor(step: float) -> float:
        if step <= warmup:
            return step / warmup
        done = min(1.0, (step - warmup) / (steps - warmup))  # beyond `steps` the cosine would rise again
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * done))

    return factor


def warmup_constant(warmup: int = 0) -> Schedule:
    """A factor for the rate: linear from 0 over ``warmup`` steps, then 1."""
    if warmup < 0:
        raise ValueError(f"warmup must be at least 0, got {warmup}")
    return lambda step: min(1.0, step / max(1, warmup))


def staircase(every: int, drop: float = 10.0) -> Schedule:
    """A factor for the rate: 1 for ``every`` steps, then ``drop`` times less for as many, and so on."""
    _check_drop(every, drop)
    return lambda step: drop ** -((math.ceil(step) - 1) // every)


def drop_on_plateau(patience: int, drop: float, metric: str = "loss", spared: int = 0) -> Plateau:
    """A factor for the rate, divided by ``drop`` when an evaluation is no better than the worst of those before it.

    It is compared with ``patience`` of them, and the first ``spared`` evaluations never lower the rate. This is how the
    scripts of TCN (Bai, Kolter and Koltun 2018) and R-Transformer (Wang et al. 2019) lower theirs, epoch by epoch; for
    music and characters they wait for one that is worse than the worst. The factor is computed from the whole list
    each time, so that a run that was resumed gets what one in a single sitting gets.
    """
    _check_drop(patience, drop)

    def factor(evaluations: Sequence[dict[str, Any]]) -> float:
        values = [row[metric] for row in evaluations]
        drops = sum(values[i] >= max(values[i - patience : i]) for i in range(max(patience, spared), len(values)))
        return drop**-drops

    return factor


def _check_drop(every: int, drop: float) -> None:
    if every < 1:
        raise ValueError(f"the number of steps or evaluations must be at least 1, got {every}")
    if not drop >= 1:
        raise ValueError(f"drop must be at least 1, got {drop}")
