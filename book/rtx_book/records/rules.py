"""The rules that weigh records against a sentence: a line such as ``every A < B``.

How the files of entries, ``book/claims.yml`` and ``book/statements.yml``, are read stands here too. The names in a
rule are those under ``ours`` of the same entry, each with the path of a number in the records
(:mod:`rtx_book.records.measured`). In place of one there may be a number, and before a name a factor, ``1.5 * TCN``.

=====================  =====================================================  ==========================================
rule                   true if                                                the contrary is shown if
=====================  =====================================================  ==========================================
``every A < B``        every seed of A lies below every seed of B             every seed of A lies above every one of B
``none A < B``         no seed of A lies below any seed of B                  every seed of A lies below every one of B
``some A < B``         at least one seed of A lies below every seed of B      every seed of A lies above every one of B
``each A < B``         every seed of A lies below the same seed of B          every seed of A lies above the same one
``median A < B``       the median of A lies below that of B                   every seed of A lies above every one of B
``close A ~ B: 5%``    the medians differ by at most 5 % of B's               all seeds differ by more, to one side
``overlap A ~ B``      neither has all its seeds below all of the other       every seed of one below all of the other
=====================  =====================================================  ==========================================

With ``>`` in place of ``<`` above and below change places. Where neither column is met the records decide nothing.

A run without a value, as one that diverged, lies neither below nor above anything. On the left it has not reached
what the rule asks for: it stands with those on the other side. On the right it leaves the rule undecided.
"""

import dataclasses
import operator
import re
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rtx_book.records import measured

KINDS = ("every", "none", "some", "each", "median", "close", "overlap")
_NUMBER = r"\d+(?:\.\d+)?"
_SHAPE = re.compile(rf"({'|'.join(KINDS)}) (.+?) ([<>~]) (.+?)(?:: ({_NUMBER})%)?")
_COMPARE: dict[str, Callable[[float, float], bool]] = {"<": operator.lt, ">": operator.gt}
_WORDS = {"<": "below", ">": "above"}

Ours = Mapping[str, str]


@dataclass(frozen=True)
class Rule:
    """A rule taken apart: ``left`` and ``right`` are names with or without a factor, or numbers."""

    kind: str
    left: str
    sign: str
    right: str
    tolerance: float


def parse(rule: str, ours: Ours) -> Rule:
    """Take a rule apart.

    Raises
    ------
    ValueError
        For a line that is no rule, a name that is not one of ``ours``, or a factor that is no number.
    """
    shape = _SHAPE.fullmatch(rule)
    if not shape or (shape[1] in ("close", "overlap")) != (shape[3] == "~") or (shape[1] == "close") != bool(shape[5]):
        raise ValueError(f"{rule!r} is no rule")
    for side in (shape[2], shape[4]):
        factor, times, name = side.rpartition(" * ")
        if name not in ours and (times or not re.fullmatch(_NUMBER, name)):
            raise ValueError(f"{rule!r} names {name!r}, which is not one of ours")
        if times and not re.fullmatch(_NUMBER, factor):
            raise ValueError(f"{rule!r} has the factor {factor!r}, which is no number")
    found = Rule(shape[1], shape[2], shape[3], shape[4], float(shape[5] or 0) / 100)
    if not names(found, ours):
        raise ValueError(f"{rule!r} names none of ours")
    if found.kind == "each" and len(names(found, ours)) < 2:
        raise ValueError(f"{rule!r} compares seed by seed, which takes two of ours")
    return found


def names(rule: Rule, ours: Ours) -> list[str]:
    """Which of ours a rule compares."""
    return [name for name in (_name(rule.left), _name(rule.right)) if name in ours]


def _name(side: str) -> str:
    return side.rpartition(" * ")[2]


def _values(side: str, ours: Ours, records: measured.Records) -> dict[int, float | None]:
    """The values of one side by seed; a number is one value."""
    factor, _, name = side.rpartition(" * ")
    if name not in ours:
        return {0: float(name)}
    recipe, _ = measured.split(ours[name], records)
    found = zip(records[recipe], measured.series(ours[name], records), strict=True)
    return {run["seed"]: None if value is None else float(factor or 1) * value for run, value in found}


def truth(rule: str, ours: Ours, records: measured.Records) -> bool | None:
    """What the records say to a rule.

    Parameters
    ----------
    rule
        A line as the table of this module shows.
    ours
        The names in it, each with its path, ``{"TCN": "race-copy-tcn.accuracy"}``.
    records
        The runs by recipe, as :func:`rtx_book.records.records.load` gives them.

    Returns
    -------
    bool | None
        True if they bear it out, False if they show the contrary, None if they decide neither.

    Raises
    ------
    ValueError
        For a rule that is none, or a path without a record (then `measured.Unmeasured`) or number.
    """
    found = parse(rule, ours)
    left, right = _values(found.left, ours, records), _values(found.right, ours, records)
    if None in right.values():
        return None
    a, b = ([value for value in side.values() if value is not None] for side in (left, right))
    lost = len(a) < len(left)
    if found.sign == "~":
        yes, no = (False, False) if lost else (_close if found.kind == "close" else _overlap)(a, b, found.tolerance)
        return True if yes else False if no else None
    holds, against = (_COMPARE[sign] for sign in ("<>" if found.sign == "<" else "><"))
    above = all(against(x, y) for x in a for y in b)  # all of A that have a value, on the other side
    below = not lost and all(holds(x, y) for x in a for y in b)
    yes, no = below, above
    if found.kind == "none":
        yes, no = not any(holds(x, y) for x in a for y in b), below
    elif found.kind == "some":
        yes = any(all(holds(x, y) for y in b) for x in a)
    elif found.kind == "median":
        yes = not lost and holds(statistics.median(a), statistics.median(b))
    elif found.kind == "each":
        pairs = [(left[seed], y) for seed, y in right.items() if seed in left and y is not None]
        paired = len(pairs) == len(left) == len(right)
        yes = paired and all(x is not None and holds(x, y) for x, y in pairs)
        no = paired and all(x is None or against(x, y) for x, y in pairs)
    return True if yes else False if no else None


def _close(a: list[float], b: list[float], tolerance: float) -> tuple[bool, bool]:
    near = abs(statistics.median(a) - statistics.median(b)) <= tolerance * abs(statistics.median(b))
    return near, any(all(sign * (x - y) > tolerance * abs(y) for x in a for y in b) for sign in (1, -1))


def _overlap(a: list[float], b: list[float], tolerance: float) -> tuple[bool, bool]:
    apart = min(a) > max(b) or min(b) > max(a)
    return not apart, apart


def spoken(rule: str, ours: Ours) -> str:
    """The rule in words: "every seed of A below every seed of B"."""
    found = parse(rule, ours)
    one, other, word = found.left, found.right, _WORDS.get(found.sign, "")
    series = _name(other) in ours
    seeds = f"every seed of {other}" if series else other
    middle = f"that of {other}" if series else other
    return {
        "every": f"every seed of {one} {word} {seeds}",
        "none": f"no seed of {one} {word} {seeds.replace('every', 'any')}",
        "some": f"at least one seed of {one} {word} {seeds}",
        "each": f"every seed of {one} {word} the same seed of {other}",
        "median": f"the median of {one} {word} {middle}",
        "close": f"the medians of {one} and {other} within {100 * found.tolerance:g}%",
        "overlap": f"the seeds of {one} and {other} overlapping",
    }[found.kind].replace("%", " %")


# ------------------------------------------------------------------------------------------------ files of entries


def read_entries(path: Path, kind: type[Any], word: str, needed: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """The entries of a YAML file as objects, each with a name for messages: ``claim tcn-copy``, ``claim number 3``.

    Parameters
    ----------
    path
        The file.
    kind
        A dataclass, whose fields are the keys that an entry may have; one with rules has ``rules`` and ``ours``.
    word
        What an entry is called.
    needed
        The keys that must be filled.

    Raises
    ------
    ValueError
        Naming the first entry that has another key, lacks one, has a rule that is none, or the id of an
        earlier one.
    """
    known, ids = [field.name for field in dataclasses.fields(kind)], set[str]()
    for place, entry in enumerate(yaml.safe_load(path.read_text(encoding="utf-8")) or [], start=1):
        name = f"{word} {entry.get('id', f'number {place}')}"
        if unknown := sorted(set(entry) - set(known)):
            raise ValueError(f"{name}: unknown {', '.join(unknown)}; there are {', '.join(known)}")
        if missing := sorted(key for key in needed if not entry.get(key)):
            raise ValueError(f"{name}: {', '.join(missing)} missing")
        if entry.get("id") in ids:
            raise ValueError(f"{name}: two have this id")
        ids |= {entry["id"]} if "id" in entry else set()
        found = kind(**entry)
        for line in found.rules:
            try:
                parse(line, found.ours)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
        yield name, found
