"""Schedules: a factor on the learning rate as a function of the step, which counts from 1."""

import math
from collections.abc import Callable

Schedule = Callable[[float], float]


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


def inverse_sqrt(warmup: int) -> Schedule:
    """A factor for the rate: linear from 0 to 1 over ``warmup`` steps, then falling with 1 / sqrt(step).

    The schedule of Vaswani et al. (2017), eq. 3, up to its constant: there the peak is (D * warmup) ** -0.5.
    """
    if warmup < 1:
        raise ValueError(f"warmup must be at least 1, got {warmup}")
    return lambda step: min(step / warmup, math.sqrt(warmup / step))
