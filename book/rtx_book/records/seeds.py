"""What several seeds say together: medians with their range, how many solved a task, and in how many steps.

The metrics of :data:`rtx_book.words.RISING` are better where they are larger; every other one (a loss, an error, bits
per character) where it is smaller. The finish line of a task is a value of its metric; a run that meets it exactly has
reached it.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest, quantile_test

from rtx_book.words import listed, rises

Record = Mapping[str, Any]
Values = Sequence[float] | np.ndarray

MIN_SEEDS = 3
"""With fewer runs on either side nothing is said about which is better."""


def varies(run: Record) -> bool:
    """Whether another seed may change a record: not one computed from others, or of what is fitted without chance."""
    return not run.get("computed") and run.get("configuration", {}).get("model") != "statistician"


LEVEL = 0.95


def median_interval(values: Values) -> tuple[float, float]:
    """The exact 95 % interval of the median from the order of the values; of fewer than six, their range.

    Whatever the distribution, a value lies below its median with probability 1/2. So the count of seeds below the
    median is binomial, and the k-th smallest and k-th largest of n values hold the median between them with
    probability 1 - 2 P(count < k). The interval takes the largest k for which that is at least 95 % (Conover 1999,
    section 3.2; ``scipy.stats.quantile_test``). Even the whole range of fewer than six values reaches less,
    1 - 2 * 0.5**n: 75 % for three, 94 % for five. It is then a range, and pages call it so.

    Why not ``scipy.stats.bootstrap``: of three or five values its draws have no medians but those values themselves.
    Its ends are then values of the sample too, at a level that it states and does not reach, and its BCa form is not
    defined where all seeds agree. The order of the values needs no draws and no seed.

    Parameters
    ----------
    values
        One a seed, finite, at least one.

    Returns
    -------
    tuple[float, float]
        The lower and the upper end, both of them among the values.

    Raises
    ------
    ValueError
        For no value, or one that is not finite.
    """
    numbers = np.sort(np.asarray(values, dtype=float))
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise ValueError(f"values must be one or more finite numbers, got {values}")
    interval = quantile_test(numbers, p=0.5).confidence_interval(LEVEL)
    ends = (numbers[0], numbers[-1]) if np.isnan(interval).any() else interval  # of too few there is none
    return float(ends[0]), float(ends[1])


def better(metric: str, value: float, other: float) -> bool:
    """Whether ``value`` is better than ``other``; equal ones are not."""
    return value > other if rises(metric) else value < other


def reached(metric: str, value: float, line: float) -> bool:
    """Whether ``value`` is at the finish line or beyond it."""
    return value >= line if rises(metric) else value <= line


def final(record: Record, metric: str) -> float | None:
    """The metric on the test split; None for a run that diverged, or whose test has no finite value of it."""
    return None if record["diverged"] else record["metrics"].get(metric)


def best(record: Record, metric: str) -> float | None:
    """The best value along the way, on the validation split; None for a run that diverged or lacks the metric."""
    if record["diverged"]:
        return None
    values = [row[metric] for row in record["evaluations"] if metric in row]
    return (max if rises(metric) else min)(values, default=None)


def steps_to(record: Record, metric: str, value: float) -> int | None:
    """The step of the first evaluation at which the metric reached ``value``; None if it never did."""
    rows = (row for row in record["evaluations"] if metric in row)
    return next((row["step"] for row in rows if reached(metric, row[metric], value)), None)


def solved(record: Record, metric: str, value: float) -> bool:
    """Whether the metric on the test split reached ``value``; a run that diverged has not."""
    found = final(record, metric)
    return found is not None and reached(metric, found, value)


def tally(records: Sequence[Record], metric: str, line: float) -> str:
    """How many runs met the line in training, and the step by which all of these had: "2 of 3, by 1,400"."""
    if not records:
        return "no run"
    steps = [step for record in records if (step := steps_to(record, metric, line)) is not None]
    lost = sum(bool(record["diverged"]) for record in records)
    more = f", by {max(steps):,}" if steps else f", {lost} diverged" if lost else ""
    return f"{len(steps)} of {len(records)}{more}"


def share_interval(count: int, of: int) -> tuple[float, float]:
    """The exact 95 % interval of a share, from 0 to 1, of which ``count`` of ``of`` were (Clopper, Pearson 1934)."""
    interval = binomtest(count, of).proportion_ci(LEVEL)
    return float(interval.low), float(interval.high)


def told_share(count: int, of: int) -> str:
    """How many seeds of some, and the interval of their share: "18 of 20 (68 to 99 %)"."""
    low, high = share_interval(count, of)
    return f"{count} of {of} ({100 * low:.0f} to {100 * high:.0f} %)"


def told_solved(
    records: Sequence[Record], metric: str, line: float, test: str = ""
) -> tuple[int, int, tuple[float, float], float | None]:
    """How many runs solved a task, of how many, the interval of that share, and the median step at which they had.

    With ``test``, they are judged by that one of their ``elsewhere``; the steps are those of their own evaluations.
    """
    tested = [{**record, "metrics": record["elsewhere"][test]} if test else record for record in records]
    there = [record for record in tested if solved(record, metric, line)]
    steps = [step for record in there if (step := steps_to(record, metric, line)) is not None]
    share = share_interval(len(there), len(records))
    return len(there), len(records), share, statistics.median(steps) if steps else None


def summarise(records: Sequence[Record], metric: str, line: float | None = None) -> dict[str, Any]:
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
    dict[str, Any]
        "seeds", how many; "values", the metric of those that did not diverge, in the order of the records, with their
        "median" and its interval from "low" to "high" (:func:`median_interval`: of fewer than six, their range);
        "diverged" and "solved", how many; "steps_to", the median step to the line of those that reached it; "seconds",
        the median; "parameters". None stands for what there is not. A run that diverged has no value: a median beside
        "diverged" is that of the others. One whose test has no finite value of the metric counts as diverged, too:
        "values" and "diverged" make up the seeds.
    """
    values = [value for record in records if (value := final(record, metric)) is not None]
    low, high = median_interval(values) if values else (None, None)
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

WORDS = {None: "too few runs", 1: "better with every seed", -1: "worse with every seed", 0: "undecided: seeds overlap"}
"""What :func:`verdict` says, in words."""


def finals(records: Sequence[Record], metric: str = "loss") -> np.ndarray:
    """The test metric of each run that has one, (seeds,); see :func:`final`."""
    return np.array([value for record in records if (value := final(record, metric)) is not None])


def elsewhere(records: Sequence[Record], metric: str = "loss") -> dict[str, np.ndarray]:
    """The metric on each variant of the test that every run has, (seeds,); runs that diverged are left out."""
    tests = [record["elsewhere"] for record in records if not record["diverged"] and record.get("elsewhere")]
    shared = [name for name in (tests[0] if tests else ()) if all(metric in test.get(name, {}) for test in tests)]
    return {name: np.array([test[name][metric] for test in tests]) for name in shared}


def verdict(ours: Values, theirs: Values, *, metric: str = "loss") -> int | None:
    """Whether one set of runs is better than another: only if every seed of it is better than every seed of the other.

    Parameters
    ----------
    ours, theirs
        A value a seed, in any number.
    metric
        Its name, which says whether larger is better (:func:`rtx_book.words.rises`).

    Returns
    -------
    int | None
        1 if ours are better, -1 if they are worse, 0 if the seeds overlap, None for fewer than ``MIN_SEEDS`` on a side.
    """
    if min(len(ours), len(theirs)) < MIN_SEEDS:
        return None
    a, b = (np.asarray(v, dtype=float) * (-1 if rises(metric) else 1) for v in (ours, theirs))
    return 1 if a.max() < b.min() else -1 if a.min() > b.max() else 0


def tell(ours: Values, theirs: Values, *, metric: str = "loss", digits: int = 3) -> str:
    """How far the medians are apart, and whether the seeds allow to say so: "−0.031, better with every seed"."""
    outcome = verdict(ours, theirs, metric=metric)
    if outcome is None:
        return WORDS[None]
    return f"{_signed(np.median(ours) - np.median(theirs), digits)}, {WORDS[outcome]}"


def _signed(change: float, digits: int) -> str:
    """A difference with its sign, which is never a hyphen: "−0.031"; nothing has a plus."""
    return f"{change + 0.0:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def tell_changes(rows: Mapping[str, Values], base: str) -> str:
    """How far the losses of others are from one's, in words: "A (+0.37) and B (+0.21) are worse with every seed".

    Parameters
    ----------
    rows
        A value a seed, by name.
    base
        The name of those with which the others are compared.
    """
    groups: dict[int | None, list[str]] = {}
    for name, row in rows.items():
        if name != base:
            change = _signed(np.median(row) - np.median(rows[base]), 2)
            groups.setdefault(verdict(row, rows[base]), []).append(f"{name} ({change})")
    parts = []
    for outcome, names in groups.items():
        decided = f"{listed(names)} {'are' if names[1:] else 'is'} {WORDS[outcome]}"
        open_end = "the seeds overlap" if outcome == 0 else "there are too few runs"
        parts.append(decided if outcome else f"for {listed(names)} {open_end}")
    return "; ".join(parts)


def with_range(values: Values, *, digits: int = 2, line: float | None = None) -> str:
    """The median with the least and the greatest value, as a cell of a table: "3.29 (3.27–3.33)"; a dash for none.

    With a ``line``, the loss that is reached without learning, a dagger marks values that :func:`misses` it.
    """
    if not len(values):
        return "–"
    mark = " †" if line is not None and misses(values, line) else ""
    return f"{np.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f}){mark}"


def misses(values: Values, line: float, *, metric: str = "loss") -> bool:
    """Whether a seed is no better than what is reached without learning: then being ahead of it says nothing."""
    return not all(better(metric, value, line) for value in values)


def leaders(rows: Mapping[str, Values], *, metric: str = "loss") -> list[str]:
    """The names, three at most, that are ahead of all others: with every seed, the fewest of whom that can be said.

    Parameters
    ----------
    rows
        A value a seed, by name.
    metric
        As for :func:`verdict`.

    Returns
    -------
    list[str]
        The names, that of the best median first; none where nobody is ahead or there is nobody else.
    """
    ranked = sorted(rows, key=lambda name: float(np.median(rows[name])), reverse=rises(metric))
    for count in range(1, min(4, len(ranked))):
        first, others = ranked[:count], ranked[count:]
        if all(verdict(rows[one], rows[other], metric=metric) == 1 for one in first for other in others):
            return first
    return []
