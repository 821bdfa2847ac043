"""What papers claim, weighed against our records, proofs and findings: the entries of ``book/claims.yml``.

A person writes the claim, its source, the published number and how our setting differs, and names what decides:

- ``rules`` about records (:mod:`rtx_book.records.rules`), all of which must be true, or as many as ``enough`` says;
- or a ``finding`` of the chapter, which decides by its rate in the replication study;
- or a ``proof``, a line of the chapter that asserts it, or its contrary.

The verdict is one of five, and computed:

===================  =============================================================================================
holds                the rules are true, the proof is there, or the finding held in nine of ten runs of the study
contradicted         the contrary of every rule is shown, with at least `MIN_SEEDS` seeds on every side; where a proof
                     or a finding shows the contrary of the claim, the entry says ``refuted: true``
undecided            anything between: seeds overlap, one rule is true and another false, too few runs, a rival that
                     does not beat the baseline named in ``trivial``, nothing run, or the entry says in ``open``
                     which part of the claim its finding does not reach
budget too small     the entry names in ``short`` what our runs lack, whatever they show
claimed by nobody    no source makes the claim (``nobody: true``): a question of our own, shown apart
===================  =============================================================================================

An entry with ``unpublished: true`` is from a text that nobody can look up: it stands on the page of slips alone.

An entry with ``scale: paper`` is judged in the claim's own setting; all others "at our scale", as ``differs`` says.
"""

import functools
import html
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtx_book.claims.findings import ALMOST_ALWAYS, MIN_RUNS, Rate, rate_of, rate_text, studied
from rtx_book.paths import book_file
from rtx_book.records import measured, rules
from rtx_book.records.rules import read_entries, truth
from rtx_book.records.seeds import MIN_SEEDS, better, median_interval
from rtx_book.words import padded

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
    open: str = ""
    short: str = ""
    nobody: bool = False
    unpublished: bool = False


@dataclass(frozen=True)
class Judgement:
    """One of `VERDICTS`, and in a clause what is to be said beside it; nothing where it speaks for itself."""

    verdict: str
    why: str = ""


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
        if claim.open and not (claim.finding or claim.rules):
            raise ValueError(f"{name}: open, without the rules or the finding that do not decide it")
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
    if claim.open:
        found = Judgement(UNDECIDED, claim.open)
    elif claim.proof:
        found = Judgement(CONTRADICTED if claim.refuted else HOLDS)
    elif claim.finding:
        found = _by_finding(claim, study or {})
    else:
        found = _by_rules(claim, records)
    if claim.nobody:
        return Judgement(NOBODY, f"our answer: {ANSWERS[found.verdict]}")
    return Judgement(SHORT, claim.short) if claim.short else found


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
    found = studied(study, claim.chapter, claim.finding)
    return rate_of(study, found) if found else None


def _by_rules(claim: Claim, records: measured.Records) -> Judgement:
    if not claim.rules:
        return Judgement(UNDECIDED, "not run")
    if few := too_few(claim, records):
        return Judgement(UNDECIDED, few)
    weak = beaten_by_trivial(claim, records)
    compared = {rule: rules.names(rules.parse(rule, claim.ours), claim.ours) for rule in claim.rules}
    outcomes = [truth(rule, claim.ours, records) for rule, names in compared.items() if not set(weak) & set(names)]
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
        recipe = measured.named_recipe(path, records)
        count = len(measured.series(path, records)) if recipe else 0
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


# ------------------------------------------------------------------------------------------------ how they are told


def said(values: Sequence[float | None], runs: Sequence[Mapping[str, Any]]) -> str:
    """Median and range over the seeds, and how many runs diverged or have no value for another reason."""
    whole = [value for value in values if value is not None]
    parts = []
    if whole:
        finite = all(map(math.isfinite, whole))
        low, high = median_interval(whole) if finite else (min(whole), max(whole))
        text, *ends = ("never" if math.isinf(end) else padded(end) for end in (statistics.median(whole), low, high))
        parts.append(text if {*ends} == {text} else f"{text} [{ends[0]}, {ends[1]}]")
    for reason, count in measured.lost(values, runs).items():
        parts.append(f"all {count} {reason}" if count == len(runs) else f"{count} of {len(runs)} {reason}")
    return ", ".join(parts)


def numbers(claim: Claim, records: measured.Records) -> list[tuple[str, str, str]]:
    """Name, recipe and numbers of each of ours that has records."""
    found = {name: measured.named_recipe(path, records) for name, path in claim.ours.items()}
    there = [(name, claim.ours[name], recipe) for name, recipe in found.items() if recipe]
    return [(name, recipe, said(measured.series(path, records), records[recipe])) for name, path, recipe in there]


def budget(claim: Claim, records: measured.Records) -> str:
    """Seeds, steps and parameters of the runs that a claim rests on; a baseline has none."""
    found = (recipe for name, recipe, _ in numbers(claim, records) if ".baselines." not in claim.ours[name])
    groups = [records[name] for name in dict.fromkeys(found)]
    if not groups:
        return "Nothing learned"
    runs = [run for group in groups for run in group]
    steps, parameters = [run["configuration"]["steps"] for run in runs], [run["parameters"] for run in runs]
    ranges = {"seeds": [len(group) for group in groups], "steps": steps, "parameters": parameters}
    ends = {word: dict.fromkeys(f"{end(values):,.0f}" for end in (min, max)) for word, values in ranges.items()}
    return ", ".join(f"{' to '.join(own)} {word}" for word, own in ends.items())


def told_finding(claim: Claim, study: Mapping[str, Any]) -> str:
    """What the replication study says of a claim's finding: its sentence, and at which rate it held."""
    found = studied(study, claim.chapter, claim.finding)
    name = f"\u201c{found.sentence.rstrip('.')}\u201d" if found else f"The finding {claim.finding}"
    return f"{name}: {rate_text(rate_of_claim(claim, study))}."


# ------------------------------------------------------------------------------------------------ sources


@functools.cache
def papers() -> dict[str, tuple[str, str]]:
    """ "Author and Author (year)" and where a notebook links it, by key, out of the book's bibliography."""
    found = {}
    text = book_file("references.bib").read_text(encoding="utf-8")
    for key, entry in re.findall(r"^@\w+\{([^,]+),(.*?)^\}", text, flags=re.M | re.S):
        fields = dict(re.findall(r"(\w+) += \{(.*?)\},?$", entry, flags=re.M | re.S))
        last = [name.partition(",")[0].strip("{}") for name in " ".join(fields["author"].split()).split(" and ")]
        authors = f"{last[0]} et al." if len(last) > 2 else " and ".join(last)
        home = f"https://doi.org/{fields['doi']}" if "doi" in fields else fields.get("url", "../book/references.bib")
        found[key] = f"{authors} ({fields['year']})", home
    return found


def as_roles(text: str) -> str:
    """A notebook's Markdown, which any Jupyter shows, with Sphinx's links, roles for citations, labels for formulas."""
    text = re.sub(r"(?<=\]\()https://github\.com/[\w-]+/[\w.-]+/blob/main/book/", "../book/", text)  # of set-repo
    for key, (name, home) in papers().items():
        text = text.replace(f"[{name}]({home})", f"{{cite:t}}`{key}`")
        text = text.replace(f"[{name[:-7]}, {name[-5:-1]}]({home})", f"{{cite:p}}`{key}`")
    text = re.sub(r"\((\{cite:p\}`\w+`(?:; \{cite:p\}`\w+`)*)\)", lambda m: m[1].replace("`; {cite:p}`", ","), text)
    text = re.sub(r"\[\(\d+\)\]\(#(eq-[\w-]+)\)", r"{eq}`\1`", text)
    text = re.sub(r'<a id="(eq-[\w-]+)"></a>\n(\$\$.+?)\n\\tag\{\d+\}\n\$\$', r"\2\n$$ (\1)", text, flags=re.S)
    text = re.sub(r'^<a id="([\w-]+)"></a>$', r"(\1)=", text, flags=re.M)
    return re.sub(r"^> \*\*(.+)\.\*\* (.+)$", r"```{admonition} \1\n:class: warning\n\2\n```", text, flags=re.M)


def plain(text: str) -> str:
    """Markdown with roles as it reads without Sphinx: a citation as author and year, a link as its words."""

    names = re.compile(r"\{cite:\w+\}`([^`]+)`")
    text = names.sub(lambda m: "; ".join(papers().get(key, (key,))[0] for key in m[1].split(",")), text)
    return re.sub(r"\{\w+\}`(?:([^`<]+?) *<[^`>]+>|([^`]+))`", lambda m: m[1] or m[2], text)


def as_html(text: str) -> str:
    """The same as HTML, with code in its own face."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(plain(text), quote=False))
