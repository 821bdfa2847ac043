"""The replication study: the chapters run over many seeds, data, instruction sets and numbers of threads.

``book/results/study/replication.json`` keeps the value of every finding in every run, so that a rate can be counted
for any bound. ``make replicate`` makes it (``book/replicate.py``).
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy.stats import binomtest

from rtx_lib.evidence.bounds import Bound
from rtx_lib.evidence.records import results_folder

if TYPE_CHECKING:
    from rtx_lib.evidence.findings import Finding

NAME = "study/replication.json"
PLANNED = {"first": 20, "second": 6}
"""Runs of each chapter: with the seeds by which bounds were judged, and with seeds that nobody had looked at."""
CONFIDENCE = 0.95
MIN_RUNS = 10
"""With fewer runs of the study a finding decides no claim: three of three would bear out a rate of 37 %."""
ALMOST_ALWAYS = 0.9
"""A sentence whose finding holds in a smaller share of the runs has no place in the book."""


@dataclass(frozen=True)
class Rate:
    """How often a finding held."""

    held: int
    runs: int

    @property
    def share(self) -> float:
        return self.held / self.runs

    @property
    def at_least(self) -> float:
        """The exact lower bound of the rate with 95 % confidence (Clopper and Pearson 1934, one-sided)."""
        return float(binomtest(self.held, self.runs, alternative="greater").proportion_ci(CONFIDENCE).low)


@functools.cache
def load_study(path: Path | None = None) -> dict[str, Any]:
    """The study's file as nested dicts, that of the book where no path is given; empty where there is none."""
    path = path or results_folder() / NAME
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def runs_of(study: Mapping[str, Any], chapter: str, part: str | None = None) -> list[dict[str, Any]]:
    """The runs of a chapter, of one part of the study (``first`` or ``second``) where it is named."""
    runs = study.get("chapters", {}).get(chapter, {}).get("runs", [])
    return [run for run in runs if part in (None, run["part"])]


def values_of(runs: Iterable[Mapping[str, Any]], id: str) -> list[float]:
    """A finding's value in each run that has it; one that was not finite is nan."""
    return [math.nan if run["values"][id] is None else run["values"][id] for run in runs if id in run["values"]]


def rate(
    study: Mapping[str, Any], chapter: str, id: str, bound: str, part: str | None = None, **where: Any
) -> Rate | None:
    """How often a finding's value kept to ``bound``, in the runs whose settings are ``where``; None without runs.

    Nor is there a rate of the second part where the bound was changed after somebody had looked at it.
    """
    told = study.get("chapters", {}).get(chapter, {}).get("findings", {}).get(id, {})
    if part == "second" and told.get("looked"):
        return None
    runs = runs_of(study, chapter, part)
    values = values_of((run for run in runs if all(run[key] == value for key, value in where.items())), id)
    return Rate(sum(map(Bound(bound).holds, values)), len(values)) if values else None


def rate_of(study: Mapping[str, Any], found: Finding, part: str | None = None, **where: Any) -> Rate | None:
    """:func:`rate` of a finding as a page has it."""
    return rate(study, found.chapter, found.id, found.bound, part, **where)
