"""Findings: what a training on the page showed, with the bound that its sentence means and the rate at which it held.

Training is chaotic: another processor, another number of threads or another version of a package rounds differently,
and after a thousand steps the same seed may end elsewhere. So the outcome of a training is never asserted.

The rate is that of the replication study: the chapters run over many seeds, data, instruction sets and numbers of
threads. ``book/results/study/replication.json.xz`` keeps the value of every finding in every run, so that a rate can be
counted for any bound. ``make replicate`` makes it (``book/rtx_book/build/replicate.py``).
"""

import functools
import json
import lzma
import math
import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from rtx_book.paths import results_folder

MIME = "application/vnd.rtx-finding+json"
"""Under this name a finding lies in the outputs of an executed notebook, for programs."""

PROFILES = ("smoke", "book", "paper")
LOOKS = {True: ("✓", "held"), False: ("✗", "fell"), None: ("·", "unjudged")}
AUDIT = "application/vnd.rtx-audit+json"
"""Under this name the name of a chapter lies in the output that holds its audit of claims."""

_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_ONE_SIDE = re.compile(rf"(<=|>=|==|<|>) ({_NUMBER})")
_BETWEEN = re.compile(rf"between ({_NUMBER}) and ({_NUMBER})")


@dataclass(frozen=True)
class Bound:
    """Where a value must lie: ``"< 0.05"``, ``">= 3"``, ``"== 5"`` or ``"between 0.1 and 0.6"``.

    Raises
    ------
    ValueError
        For a text of another form, or an interval whose ends are in the wrong order.
    """

    text: str

    def __post_init__(self) -> None:
        between = _BETWEEN.fullmatch(self.text)
        if not between and not _ONE_SIDE.fullmatch(self.text):
            raise ValueError(f"bound must look like '< 0.05' or 'between 0.1 and 0.6', got {self.text!r}")
        if between and not float(between[1]) < float(between[2]):
            raise ValueError(f"bound must name the lower end first, got {self.text!r}")

    def holds(self, value: float) -> bool:
        """Whether ``value`` lies there; one that is not a number compares with nothing, and lies nowhere."""
        if between := _BETWEEN.fullmatch(self.text):
            return float(between[1]) < value < float(between[2])
        one = _ONE_SIDE.fullmatch(self.text)
        assert one  # __post_init__ has seen to it
        return bool(_SIGNS[one[1]](value, float(one[2])))


@dataclass(frozen=True)
class Finding:
    """One finding of one run.

    Attributes
    ----------
    id
        Its stable name, ``gradients-wall``; the chapter's word comes first.
    chapter
        The notebook that it stands in, without suffix.
    sentence
        What was found, in the reader's words.
    value
        The number that decides; None where it was not finite.
    bound
        Where the number must lie for the sentence to be true, as :class:`Bound` reads it.
    judged
        Whether the run was long enough to decide. In ``smoke`` it never is.
    """

    id: str
    chapter: str
    sentence: str
    value: float | None
    bound: str
    judged: bool

    @property
    def held(self) -> bool | None:
        """Whether the sentence is true of this run; None where nothing was judged."""
        return Bound(self.bound).holds(math.nan if self.value is None else self.value) if self.judged else None


# ------------------------------------------------------------------------------------------------ the replication study

STUDY = "study/replication.json.xz"
PLANNED = {"first": 20, "second": 6}
"""Runs of each chapter: with the seeds by which bounds were judged, and with seeds that nobody had looked at."""
FEWEST = 19
"""Of the first runs: a sentence that held in fewer was reworded, was given a larger effect, or went."""
REWORDED = {"indrnn-brake": "< 0.333", "positions-late": "> 0.25", "positions-base-helps": "> 0.05"}
REWORDED |= {"gradients-cliff-sgd": ">= 5", "hybrids-delta": "> 0.98"}
"""Findings that say less since some of the first runs were seen, and the bounds that they had."""
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
    path = path or results_folder() / STUDY
    return json.loads(lzma.decompress(path.read_bytes())) if path.exists() else {}


def runs_of(study: Mapping[str, Any], chapter: str, part: str | None = None) -> list[dict[str, Any]]:
    """The runs of a chapter, of one part of the study (``first`` or ``second``) where it is named."""
    return [run for run in study.get("chapters", {}).get(chapter, {}).get("runs", []) if part in (None, run["part"])]


def values_of(runs: Iterable[Mapping[str, Any]], id: str) -> list[float]:
    """A finding's value in each run that has it; one that was not finite is nan."""
    return [math.nan if run["values"][id] is None else run["values"][id] for run in runs if id in run["values"]]


def studied(study: Mapping[str, Any], chapter: str, id: str) -> Finding | None:
    """A finding as the study has it; None where it is not in there."""
    known = study.get("chapters", {}).get(chapter, {}).get("findings", {}).get(id)
    return Finding(id, chapter, known["sentence"], None, known["bound"], True) if known else None


def rate_of(study: Mapping[str, Any], found: Finding, part: str | None = None, **where: Any) -> Rate | None:
    """How often a finding's value kept to its bound, in the runs whose settings are ``where``; None without runs.

    Nor is there a rate of the second part where the bound was changed after somebody had looked at it.
    """
    known = study.get("chapters", {}).get(found.chapter, {}).get("findings", {})
    if part == "second" and known.get(found.id, {}).get("looked"):
        return None
    runs = runs_of(study, found.chapter, part)
    values = values_of((run for run in runs if all(run[key] == value for key, value in where.items())), found.id)
    return Rate(sum(map(Bound(found.bound).holds, values)), len(values)) if values else None


# ------------------------------------------------------------------------------------------------ in words


def rate_text(rate: Rate | None) -> str:
    """ "held in 38 of 40 runs"; the list of findings says which runs were seen before the bound was set."""
    if rate is None:
        return "not in the replication study yet"
    return f"held in {rate.held} of {rate.runs} {'run' if rate.runs == 1 else 'runs'}"


def findings_of(notebook: Mapping[str, Any]) -> list[Finding]:
    """The findings in the outputs of an executed notebook, in their order."""
    outputs = (output for cell in notebook["cells"] if cell["cell_type"] == "code" for output in cell["outputs"])
    return [Finding(**output["data"][MIME]) for output in outputs if MIME in output.get("data", {})]
