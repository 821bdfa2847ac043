"""What several seeds say together: medians with bootstrap intervals, how many solved a task, and in how many steps.

The metrics of ``RISING`` are better where they are larger; every other one (a loss, an error, bits per character)
where it is smaller. The finish line of a task is a value of its metric; a run that meets it exactly has reached it.
"""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

RISING = ("accuracy", "exact")
"""Metrics of the tasks that are better where they are larger: shares of what is right."""


def rises(metric: str) -> bool:
    """Whether the metric is better where it is larger; that of a reference as the metric itself."""
    return metric.removeprefix("reference_") in RISING


def bootstrap_interval(
    values: Sequence[float],
    *,
    statistic: Callable[..., Any] = np.median,
    level: float = 0.95,
    draws: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """The percentile bootstrap interval of a statistic (Efron and Tibshirani 1993, chapter 13).

    Few values give a rough interval, which never leaves their range: of 5 values whose median
    is asked for, the 95 % interval is about the whole range. One value gives itself twice.

    Parameters
    ----------
    values
        One a seed.
    statistic
        Called once as ``statistic(samples, axis=1)`` with samples (draws, seeds), as numpy's functions can be.
    level
        The share of the draws inside, half of the others on each side.
    draws, seed
        How often to draw as many values with replacement, and the seed of drawing them.

    Raises
    ------
    ValueError
        For no value, a value that is not finite, a level not between 0 and 1, or fewer than one draw.
    """
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise ValueError(f"values must be one or more finite numbers, got {values}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    samples = np.random.default_rng(seed).choice(numbers, size=(draws, len(numbers)))
    low, high = np.quantile(statistic(samples, axis=1), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def better(metric: str, value: float, other: float) -> bool:
    """Whether ``value`` is better than ``other``; equal ones are not."""
    return value > other if rises(metric) else value < other


def reached(metric: str, value: float, line: float) -> bool:
    """Whether ``value`` is at the finish line or beyond it."""
    return value >= line if rises(metric) else value <= line


def final(record: dict[str, Any], metric: str) -> float | None:
    """The metric on the test split; None for a run that diverged, or whose test has no finite value of it."""
    return None if record["diverged"] else record["metrics"].get(metric)


def best(record: dict[str, Any], metric: str) -> float | None:
    """The best value that an evaluation on the validation split found; None where :func:`final` is None for a run
    that diverged, or where no evaluation has the metric."""
    if record["diverged"]:
        return None
    values = [row[metric] for row in record["evaluations"] if metric in row]
    return (max if rises(metric) else min)(values, default=None)


def steps_to(record: dict[str, Any], metric: str, value: float) -> int | None:
    """The step of the first evaluation at which the metric reached ``value``; None if it never did."""
    rows = (row for row in record["evaluations"] if metric in row)
    return next((row["step"] for row in rows if reached(metric, row[metric], value)), None)


def solved(record: dict[str, Any], metric: str, value: float) -> bool:
    """Whether the metric on the test split reached ``value``; a run that diverged has not."""
    found = final(record, metric)
    return found is not None and reached(metric, found, value)


def summarise(records: Sequence[dict[str, Any]], metric: str, line: float | None = None) -> dict[str, Any]:
    """One recipe's seeds in numbers.

    Parameters
    ----------
    records
        Of one recipe, in any number.
    metric
        Of the test split.
    line
        The finish line, or None if there is none.

    Returns
    -------
    dict
        "seeds", how many; "values", the metric of those that did not diverge, in the order of the records, with their
        "median" and its 95 % interval from "low" to "high"; "diverged" and "solved", how many; "steps_to", the median
        step to the line of those that reached it; "seconds", the median; "parameters". None stands for what there is
        not. A run that diverged has no value: a median beside "diverged" is that of the others. One whose test has no
        finite value of the metric counts as diverged, too: "values" and "diverged" make up the seeds.
    """
    values = [value for record in records if (value := final(record, metric)) is not None]
    low, high = bootstrap_interval(values) if values else (None, None)
    steps = [] if line is None else [steps_to(record, metric, line) for record in records]
    finished = [step for step in steps if step is not None]
    return {
        "seeds": len(records),
        "median": statistics.median(values) if values else None,
        "low": low,
        "high": high,
        "values": values,
        "solved": None if line is None else sum(solved(record, metric, line) for record in records),
        "diverged": len(records) - len(values),
        "steps_to": statistics.median(finished) if finished else None,
        "seconds": statistics.median(record["seconds"] for record in records) if records else None,
        "parameters": records[0]["parameters"] if records else None,
    }


# ------------------------------------------------------------------------------------------------ A against B

MIN_SEEDS = 3
"""With fewer runs on either side nothing is said about which is better."""

WORDS = {None: "too few runs", 1: "better with every seed", -1: "worse with every seed", 0: "undecided: seeds overlap"}
"""What :func:`verdict` says, in words."""


def finals(records: Sequence[dict[str, Any]], metric: str = "loss") -> np.ndarray:
    """The test metric of each run that has one, (seeds,); see :func:`final`."""
    return np.array([value for record in records if (value := final(record, metric)) is not None])


def verdict(ours: Sequence[float], theirs: Sequence[float], *, metric: str = "loss") -> int | None:
    """Whether one set of runs is better than another: only if every seed of it is better than every seed of the other.

    Args:
        ours, theirs: a value a seed, in any number.
        metric: its name, which says whether larger is better (:func:`rises`).

    Returns:
        1 if ours are better, -1 if they are worse, 0 if the seeds overlap, None for fewer than ``MIN_SEEDS`` on a side.
    """
    if min(len(ours), len(theirs)) < MIN_SEEDS:
        return None
    a, b = (np.asarray(v, dtype=float) * (-1 if rises(metric) else 1) for v in (ours, theirs))
    return 1 if a.max() < b.min() else -1 if a.min() > b.max() else 0


def tell(ours: Sequence[float], theirs: Sequence[float], *, metric: str = "loss", digits: int = 3) -> str:
    """How far the medians are apart, and whether the seeds allow to say so: "-0.031, better with every seed"."""
    outcome = verdict(ours, theirs, metric=metric)
    if outcome is None:
        return WORDS[None]
    return f"{np.median(ours) - np.median(theirs) + 0.0:+.{digits}f}, {WORDS[outcome]}"


def tell_pairs(after: Sequence[float], before: Sequence[float], *, digits: int = 3) -> str:
    """The same for two tests of the same models, pair by pair: "+0.004, higher in each of 3 models"."""
    change = np.asarray(after, dtype=float) - np.asarray(before, dtype=float)
    up = int((change > 0).sum())
    words = "higher in each" if up == len(change) else "lower in each" if (change < 0).all() else f"higher in {up}"
    return f"{np.median(change) + 0.0:+.{digits}f}, {words} of {len(change)} models"
