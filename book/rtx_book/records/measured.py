"""Numbers out of the records, for the prose of the pages and for the ledger.

In Markdown a number that comes from a record stands in a mark that says which one,
``<span data-record="nottingham-tcn.loss.median">3.84</span>``. Jupyter and Colab show what was typed; the build
puts the record's value in, with as many decimals as were typed; a test fails where the two part.

What a mark may name, after the recipe:

==========================================  ====================================================================
``METRIC.STATISTIC``                        a metric of the test split over the seeds: median, mean, min, max
``elsewhere.VARIANT.METRIC.STATISTIC``      the same for a variant of the test
``baselines.NAME``                          what is reached without learning
``configuration.NAME``, ``parameters``      what is the same for all seeds; NAME may be ``model_arguments.width``
``seconds.STATISTIC``                       the duration of the training
``steps to METRIC VALUE.STATISTIC``         the first evaluation at which the metric reached the value
``last NAME.STATISTIC``                     what the last evaluation along the way holds
``seeds``, ``diverged``                     how many runs there are, and how many of them diverged
==========================================  ====================================================================

Terms may be joined from left to right by ``-``, ``+``, ``*`` and ``/`` between spaces. A typed ``93 %`` stands for
0.93.
"""

import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rtx_book.records.seeds import steps_to

Records = Mapping[str, Sequence[Mapping[str, Any]]]

MARK = re.compile(r'<span data-record="([^"]*)"(?: title="[^"]*")?>([^<]*)</span>')
NUMBER = re.compile(r"([-+−]?)(\d+|\d{1,3}(?:,\d{3})+)(?:\.(\d+))?([ \xa0]?%)?")
STATISTICS: dict[str, Any] = {"median": statistics.median, "mean": statistics.fmean, "min": min, "max": max}
FIXED = ("parameters", "seeds", "diverged")


class Unmeasured(ValueError):
    """No record of the recipe is there."""


def split(path: str, records: Records) -> tuple[str, str]:
    """Recipe and rest of ``RECIPE.REST``; a recipe's name may have dots. `Unmeasured` where it has no record."""
    if not (recipe := named_recipe(path, records)):
        raise Unmeasured(f"no record of the recipe in {path!r}")
    return recipe, path[len(recipe) + 1 :]


def named_recipe(path: str, records: Records) -> str:
    """The recipe that a path begins with; nothing where it has no record."""
    return max((name for name in records if path.startswith(f"{name}.")), key=len, default="")


def series(path: str, records: Records) -> list[float | None]:
    """One value a seed of ``RECIPE.REST`` without a statistic.

    None stands for a run that has none: it diverged, or its value was not finite, which no record keeps. `ValueError`
    where no run has a value although not all diverged: then the name is wrong.
    """
    recipe, rest = split(path, records)
    values = [_of(record, rest) for record in records[recipe]]
    measured = not rest.startswith(("configuration.", "baselines."))
    if all(value is None for value in values) and not (measured and all(run["diverged"] for run in records[recipe])):
        raise ValueError(f"{path!r}: the records have no number {rest!r}")
    return values


def lost(values: Sequence[float | None], runs: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many runs have no value, by reason: they diverged, or for another one; reasons that are none are left out."""
    without = [run for value, run in zip(values, runs, strict=True) if value is None]
    return dict(sorted(Counter("diverged" if run["diverged"] else "without a value" for run in without).items()))


def _of(record: Mapping[str, Any], rest: str) -> float | None:
    head, _, tail = rest.partition(".")
    if head in ("parameters", "seconds") and not tail:
        return float(record[head])
    if head == "baselines":
        value = record[head].get(tail)
    elif head == "configuration":
        value = record[head]
        for key in tail.split("."):
            value = value.get(key) if isinstance(value, dict) else None
    elif head == "elsewhere":
        variant, _, metric = tail.rpartition(".")
        value = ((record.get("elsewhere") or {}).get(variant) or {}).get(metric)
    elif found := re.fullmatch(r"steps to (\w+) ([\d.]+)", rest):
        value = steps_to(record, found[1], float(found[2]))
        return math.inf if value is None else float(value)
    elif rest not in record["metrics"] and (found := re.fullmatch(r"last (\w+)", rest)):  # a metric may be so called
        value = record["evaluations"][-1].get(found[1]) if record["evaluations"] else None
    else:
        value = record["metrics"].get(rest)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _term(path: str, records: Records) -> float:
    """The value of one term: a number, or one number for the seeds of a recipe."""
    if re.fullmatch(r"\d+(\.\d+)?", path):
        return float(path)
    recipe, rest = split(path, records)
    runs = records[recipe]
    if rest == "seeds":
        return float(len(runs))
    if rest == "diverged":
        return float(sum(bool(run["diverged"]) for run in runs))
    if rest.startswith(("configuration.", "baselines.")) or rest == "parameters":
        if len(same := {*series(path, records)}) != 1:
            raise ValueError(f"{path!r} differs between the seeds")
        return float(same.pop() or 0.0)
    if "." not in rest:
        raise ValueError(f"{path!r} names no statistic")
    path, _, statistic = path.rpartition(".")
    values = [value for value in series(path, records) if value is not None]
    if not values:
        raise ValueError(f"{path!r}: no run has a value")
    if statistic not in STATISTICS:
        raise ValueError(f"{path!r}: {statistic!r} is no statistic: {', '.join(STATISTICS)}")
    return float(STATISTICS[statistic](values))


def value(expression: str, records: Records) -> float:
    """The value of a mark. `Unmeasured` where a recipe has no record, `ValueError` for what cannot be read."""
    first, *others = re.split(r" ([-+*/]) ", expression.strip())
    total = _term(first, records)
    for sign, term in zip(others[::2], others[1::2], strict=True):
        right = _term(term, records)
        total = {"-": total - right, "+": total + right, "*": total * right}.get(sign, total / (right or math.nan))
    return total


def formatted(number: float, typed: str) -> str:
    """`number` as `typed` is written: its decimals, its separators, its sign, its per cent."""
    shape = NUMBER.fullmatch(typed)
    if not shape:
        raise ValueError(f"{typed!r} is no number: digits, with a decimal point, commas or a per cent sign")
    sign, whole, decimals, percent = shape.groups()
    number *= 100 if percent else 1
    text = f"{number:{'+' if sign == '+' else ''}{',' if ',' in whole else ''}.{len(decimals or '')}f}"
    return text.replace("-", "−" if sign == "−" else "-") + (percent or "")


def explained(expression: str, records: Records) -> str:
    """What a reader sees who points at the number."""
    term = re.split(r" [-+*/] ", expression)[0]
    recipe, rest = split(term, records)
    if rest in FIXED or rest.startswith(("configuration.", "baselines.")):
        return f"from the records of {recipe}"
    path, _, statistic = term.rpartition(".")
    values = series(path, records)
    seeds = sum(value is not None for value in values)
    others = "".join(f", {count} {reason}" for reason, count in lost(values, records[recipe]).items())
    return f"{statistic} over {seeds} seed{'s' * (seeds > 1)}{others}, from the records of {recipe}"


def filled(text: str, records: Records) -> str:
    """`text` with every mark's number out of the records; a recipe without records keeps what was typed."""

    def one(mark: re.Match[str]) -> str:
        expression, typed = mark.groups()
        try:
            number = formatted(value(expression, records), typed)
        except Unmeasured:
            return mark[0]
        return f'<span data-record="{expression}" title="{explained(expression, records)}">{number}</span>'

    return MARK.sub(one, text)


def faults(text: str, records: Records) -> list[str]:
    """Marks whose typed number is not the record's, or that name nothing; broken marks too."""
    found = []
    for expression, typed in MARK.findall(text):
        try:
            number = formatted(value(expression, records), typed)
        except ValueError as error:
            found.append(str(error))
            continue
        if number != typed:
            found.append(f"{expression}: the records say {number}, the text says {typed}")
    if broken := text.count("data-record") - len(MARK.findall(text)):
        found.append(f'marks not of the form <span data-record="...">3.84</span>: {broken}')
    return found
