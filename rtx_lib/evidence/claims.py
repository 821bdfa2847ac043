"""What papers claim, weighed against our records, proofs and findings: the entries of ``book/claims.yml``.

A person writes the claim, its source, the published number and how our setting differs, and names what decides:

- ``rules`` about records (:mod:`rtx_lib.evidence.rules`), all of which must be true, or as many as ``enough`` says;
- or a ``finding`` of the chapter, which decides by its rate in the replication study;
- or a ``proof``, a line of the chapter that asserts it, or its contrary.

The verdict is one of five, and computed:

===================  =============================================================================================
holds                the rules are true, the proof is there, or the finding held in nine of ten runs of the study
contradicted         the contrary of every rule is shown, with at least `MIN_SEEDS` seeds on every side; where a proof
                     or a finding shows the contrary of the claim, the entry says ``refuted: true``
undecided            anything between: seeds overlap, one rule is true and another false, too few runs, a rival that
                     does not beat the baseline named in ``trivial``, nothing run
budget too small     the entry names in ``short`` what our runs lack, and they do not bear the claim out, or do so by
                     failing to learn (``failure: true``)
claimed by nobody    no source makes the claim (``nobody: true``): a question of our own, shown apart
===================  =============================================================================================

An entry with ``scale: paper`` is judged in the claim's own setting; all others "at our scale", as ``differs`` says.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rtx_lib
from rtx_lib.evidence import measured, rules
from rtx_lib.evidence.entries import read_entries
from rtx_lib.evidence.rules import truth
from rtx_lib.evidence.seeds import MIN_SEEDS, better
from rtx_lib.evidence.study import ALMOST_ALWAYS, MIN_RUNS, Rate, rate

__all__ = ["VERDICTS", "Claim", "Judgement", "book_file", "judge", "label", "read_claims"]

VERDICTS = ("holds", "contradicted", "undecided", "budget too small", "claimed by nobody")
HOLDS, CONTRADICTED, UNDECIDED, SHORT, NOBODY = VERDICTS
SIGNS = dict(zip(VERDICTS, "✓✗?–○", strict=True))
ANSWERS = {HOLDS: "yes", CONTRADICTED: "no", UNDECIDED: "open"}
NEEDED = ("id", "chapter", "claim", "source", "published", "differs")


@dataclass(frozen=True)
class Claim:
    """One entry of the file."""

    id: str
    chapter: str
    claim: str
    source: str
    published: str
    differs: str
    ours: Mapping[str, str] = field(default_factory=dict)
    unit: str = ""
    rules: Sequence[str] = ()
    enough: int = 0
    trivial: str = ""
    scale: str = "ours"
    proof: str = ""
    finding: str = ""
    refuted: bool = False
    short: str = ""
    failure: bool = False
    nobody: bool = False


@dataclass(frozen=True)
class Judgement:
    """One of `VERDICTS`, and in a clause what is to be said beside it; nothing where it speaks for itself."""

    verdict: str
    why: str = ""


def book_file(name: str) -> Path:
    """A file of the book: ``book/NAME`` of a checkout, else ``rtx_lib/NAME`` of the installed package."""
    package = Path(rtx_lib.__file__).parent
    checkout = package.parent / "book" / name
    return checkout if checkout.is_file() else package / name


def read_claims(path: Path) -> list[Claim]:
    """The claims of a file.

    Raises
    ------
    ValueError
        Naming the entry that is not one, and why.
    """
    claims = []
    for name, claim in read_entries(path, Claim, "claim", NEEDED):
        if claim.scale not in ("ours", "paper"):
            raise ValueError(f"{name}: scale is {claim.scale!r}; it must be ours or paper")
        if sum(map(bool, (claim.rules, claim.proof, claim.finding))) > 1:
            raise ValueError(f"{name}: one of rules, a proof and a finding decides, not two of them")
        if claim.refuted and not (claim.proof or claim.finding):
            raise ValueError(f"{name}: refuted, without the proof or the finding that says so")
        if claim.enough and not 0 < claim.enough < len(claim.rules):
            raise ValueError(f"{name}: enough is {claim.enough}; it must be fewer than its {len(claim.rules)} rules")
        claims.append(claim)
    return claims


# ------------------------------------------------------------------------------------------------ verdicts


def judge(claim: Claim, records: measured.Records, study: Mapping[str, Any] | None = None) -> Judgement:
    """The verdict on a claim, out of the records and the replication study.

    Raises
    ------
    ValueError
        For a path of ``ours`` that names no number of its records.
    """
    if claim.proof:
        found = Judgement(CONTRADICTED if claim.refuted else HOLDS)
    elif claim.finding:
        found = _by_finding(claim, study or {})
    else:
        found = _by_rules(claim, records)
    if claim.nobody:
        return Judgement(NOBODY, f"our answer: {ANSWERS[found.verdict]}")
    counts = found.verdict == HOLDS and not claim.failure
    return Judgement(SHORT, claim.short) if claim.short and not counts else found


def _by_finding(claim: Claim, study: Mapping[str, Any]) -> Judgement:
    found = rate_of_claim(claim, study)
    if found is None:
        return Judgement(UNDECIDED, "not in the replication study yet")
    if found.runs < MIN_RUNS:
        return Judgement(UNDECIDED, f"too few runs of the study: {found.runs}")
    if found.share < ALMOST_ALWAYS:
        return Judgement(UNDECIDED, f"the finding held in {found.held} of {found.runs} runs")
    return Judgement(CONTRADICTED if claim.refuted else HOLDS)


def rate_of_claim(claim: Claim, study: Mapping[str, Any]) -> Rate | None:
    """How often the finding of a claim held in the study; None where it is not in there."""
    bound = study.get("chapters", {}).get(claim.chapter, {}).get("findings", {}).get(claim.finding, {}).get("bound")
    return rate(study, claim.chapter, claim.finding, bound) if bound else None


def _by_rules(claim: Claim, records: measured.Records) -> Judgement:
    if not claim.rules:
        return Judgement(UNDECIDED, "not run")
    if few := too_few(claim, records):
        return Judgement(UNDECIDED, few)
    weak = beaten_by_trivial(claim, records)
    said = {
        rule: truth(rule, claim.ours, records)
        for rule in claim.rules
        if not set(weak) & set(rules.names(rules.parse(rule, claim.ours), claim.ours))
    }
    outcomes = list(said.values())
    needed = claim.enough or len(claim.rules)
    if outcomes.count(True) >= needed:
        return Judgement(HOLDS)
    if outcomes.count(False) > len(claim.rules) - needed:
        if claim.enough or set(outcomes) == {False}:
            return Judgement(CONTRADICTED)
        other = "another holds" if True in outcomes else "the seeds do not decide the rest"
        return Judgement(UNDECIDED, f"one part is contradicted, {other}")
    if weak:
        who = f"{' and '.join(weak)} {'does' if len(weak) == 1 else 'do'}"
        return Judgement(UNDECIDED, f"{who} not beat the trivial baseline, {claim.trivial}, with every seed")
    return Judgement(UNDECIDED, "the seeds do not decide it")


def too_few(claim: Claim, records: measured.Records) -> str:
    """ "too few runs: 1 of LSTM" where a series has fewer than `MIN_SEEDS` of them; else nothing."""
    for name, path in claim.ours.items():
        try:
            count = len(measured.series(path, records))
        except measured.Unmeasured:
            count = 0
        if count < MIN_SEEDS:
            return f"too few runs: {count or 'none'} of {name}"
    return ""


def beaten_by_trivial(claim: Claim, records: measured.Records) -> list[str]:
    """Which of ours do not beat the trivial baseline of their task with every seed; they say nothing of a rival.

    The baseline is looked for by its name in the records of each of ours. It is in the unit of the metric.

    Raises
    ------
    ValueError
        Where no record of the claim has the baseline.
    """
    weak, there = [], False
    for name, path in claim.ours.items() if claim.trivial else ():
        recipe, metric = measured.split(path, records)
        metric = re.split("[. ]", metric)[-1]  # of "elsewhere.64.accuracy" or "last loss"
        lines = [run["baselines"].get(claim.trivial) for run in records[recipe]]
        if None in lines:
            continue
        there = True
        values = measured.series(path, records)
        if not all(v is not None and better(metric, v, line) for v, line in zip(values, lines, strict=True)):
            weak.append(name)
    if claim.trivial and not there:
        raise ValueError(f"claim {claim.id}: no record of its runs has the baseline {claim.trivial!r}")
    return weak


def label(claim: Claim, found: Judgement) -> str:
    """The verdict in words; a clear one says "at our scale" unless the setting is the claim's own."""
    ours = claim.scale == "ours" and found.verdict in (HOLDS, CONTRADICTED)
    return f"{SIGNS[found.verdict]} {found.verdict}{' at our scale' * ours}"


@functools.cache
def all_claims() -> tuple[Claim, ...]:
    """The claims of the book."""
    return tuple(read_claims(book_file("claims.yml")))
