"""The directive ``ledger``: claims of the papers, out of ``book/claims.yml``, beside what the records say.

The file holds what a person must write: the claim, its source, the published number, how our setting differs, and a
*rule* that decides. Our numbers and the verdict are computed from the records at every build.

A rule is a line. Its names are those under ``ours`` of the same claim; in place of one there may be a number, and
before a name a factor, ``1.5 * TCN``.

=====================  =======================================================================
``every A < B``        every seed of A lies below every seed of B (or ``>``: above)
``none A < B``         no seed of A lies below any seed of B
``some A < B``         at least one seed of A lies below every seed of B
``apart A < B``        the bootstrap interval of A's median lies below that of B's
``median A < B``       the median of A lies below that of B
``close A ~ B: 5%``    the medians differ by at most 5 % of B's
=====================  =======================================================================

A run without a value, as one that diverged, lies neither below nor above anything, and nothing can be said to lie
below or above it. So a rule is false if B has such a run. It is false if A has one, too, except that ``none`` holds of
such a run, and ``some`` looks at the others. An interval takes three seeds: with fewer, ``apart`` is false.

A claim whose rules are all true "holds at our scale", or "holds" where the claim says ``scale: paper`` because our
setting is the paper's; otherwise it does "not at our scale". A claim is "not tried" until all runs that it names are
there: of a recipe that belongs to a sweep, every seed of the sweep. A claim that a chapter settles without records
names the ``proof``, a line of the notebook that asserts it, or its contrary (``refuted: true``), in every full run.
"""

from __future__ import annotations

import functools
import json
import math
import operator
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rtx_lib.evidence import measured

FILE, FOLDER = "book/claims.yml", "book/results"
HOLDS, SCALED, FAILS, UNTRIED = VERDICTS = ("holds", "holds at our scale", "not at our scale", "not tried")
SIGNS = {HOLDS: "✓", SCALED: "≈", FAILS: "✗", UNTRIED: "–"}
NEEDED = {"id", "chapter", "claim", "source", "published", "differs"}
KEYS = NEEDED | {"ours", "unit", "rules", "scale", "proof", "refuted"}
NUMBER = r"\d+(?:\.\d+)?"
RULE = re.compile(rf"(every|none|some|apart|median|close) (.+?) ([<>~]) (.+?)(?:: ({NUMBER})%)?")
COMPARE: dict[str, Callable[[float, float], bool]] = {"<": operator.lt, ">": operator.gt}
WORDS = {"<": "below", ">": "above"}


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
    scale: str = "ours"
    proof: str = ""
    refuted: bool = False


def read_claims(path: Path) -> list[Claim]:
    """The claims of the file; `ValueError` names the entry that is not one, and says why."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    claims = []
    for place, entry in enumerate(entries, start=1):
        name = entry.get("id", f"number {place}")
        if unknown := sorted(set(entry) - KEYS):
            raise ValueError(f"claim {name}: unknown {', '.join(unknown)}; there are {', '.join(sorted(KEYS))}")
        if missing := sorted(NEEDED - {key for key, value in entry.items() if value}):
            raise ValueError(f"claim {name}: {', '.join(missing)} missing")
        claim = Claim(**entry)
        if claim.scale not in ("ours", "paper"):
            raise ValueError(f"claim {name}: scale is {claim.scale!r}; it must be ours or paper")
        if claim.rules and claim.proof:
            raise ValueError(f"claim {name}: rules and a proof; one of them decides")
        if claim.refuted and not claim.proof:
            raise ValueError(f"claim {name}: refuted, without the proof that says so")
        for rule in claim.rules:
            parsed(rule, claim)
        claims.append(claim)
    if double := [name for name, count in Counter(claim.id for claim in claims).items() if count > 1]:
        raise ValueError(f"claim {double[0]}: two have this id")
    return claims


# ------------------------------------------------------------------------------------------------ verdicts

Parsed = tuple[str, str, str, str, float]


def parsed(rule: str, claim: Claim) -> Parsed:
    """Kind, left side, sign, right side and tolerance of a rule; `ValueError` for what is none."""
    shape = RULE.fullmatch(rule)
    if not shape or (shape[1] == "close") != (shape[3] == "~") or (shape[1] == "close") != bool(shape[5]):
        raise ValueError(f"claim {claim.id}: {rule!r} is no rule")
    for side in (shape[2], shape[4]):
        factor, times, name = side.rpartition(" * ")
        if name not in claim.ours and (times or not re.fullmatch(NUMBER, name)):
            raise ValueError(f"claim {claim.id}: {rule!r} names {name!r}, which is not one of ours")
        if times and not re.fullmatch(NUMBER, factor):
            raise ValueError(f"claim {claim.id}: {rule!r} has the factor {factor!r}, which is no number")
    if not measures(shape[2], claim) and not measures(shape[4], claim):
        raise ValueError(f"claim {claim.id}: {rule!r} names none of ours")
    return shape[1], shape[2], shape[3], shape[4], float(shape[5] or 0) / 100


def measures(side: str, claim: Claim) -> bool:
    """Whether a side of a rule is one of our series, with or without a factor; else it is a number."""
    return side.rpartition(" * ")[2] in claim.ours


def side_values(side: str, claim: Claim, records: measured.Records) -> list[float | None]:
    """The seeds' values of one side of a rule; a number is one value."""
    factor, _, name = side.rpartition(" * ")
    if not measures(side, claim):
        return [float(name)]
    scale = float(factor or 1)
    return [None if value is None else scale * value for value in measured.series(claim.ours[name], records)]


def truth(rule: str, claim: Claim, records: measured.Records) -> bool:
    """Whether the records bear the rule out."""
    kind, one, sign, other, tolerance = parsed(rule, claim)
    left, right = side_values(one, claim, records), side_values(other, claim, records)
    if None in right or (None in left and kind not in ("none", "some")):
        return False
    whole = [[value for value in side if value is not None] for side in (left, right)]
    if kind == "none":
        return not any(COMPARE[sign](a, b) for a in whole[0] for b in whole[1])
    if kind == "some":
        return any(all(COMPARE[sign](a, b) for b in whole[1]) for a in whole[0])
    if kind == "every":
        return all(COMPARE[sign](a, b) for a in whole[0] for b in whole[1])
    if kind == "apart":
        if any(len(values) < 3 for side, values in zip((one, other), whole, strict=True) if measures(side, claim)):
            return False
        (low, high), (least, most) = (interval(side) for side in whole)
        return high < least if sign == "<" else low > most
    a, b = (statistics.median(side) for side in whole)
    return COMPARE[sign](a, b) if kind == "median" else abs(a - b) <= tolerance * abs(b)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The bootstrap interval of the median, where all values are finite."""
    from rtx_lib.evidence.seeds import bootstrap_interval  # here, so that the other pages build without numpy

    return bootstrap_interval(values) if all(map(math.isfinite, values)) else (min(values), max(values))


@functools.cache
def planned() -> dict[str, set[int]]:
    """The seeds of every recipe that belongs to a sweep."""
    from rtx_lib.sweeps import SWEEPS  # here, so that the other pages build without torch

    return {recipe.name: set(sweep.seeds) for sweep in SWEEPS.values() for recipe in sweep.recipes}


def tried(claim: Claim, records: measured.Records) -> bool:
    """Whether all runs that the claim names are there: of a recipe that belongs to a sweep, every seed of it."""
    try:
        for path in claim.ours.values():
            measured.series(path, records)
            recipe, _ = measured.split(path, records)
            if not planned().get(recipe, set()) <= {record["seed"] for record in records[recipe]}:
                return False
    except measured.Unmeasured:
        return False
    return bool(claim.rules)


def verdict(claim: Claim, records: measured.Records) -> str:
    """One of `VERDICTS`, computed."""
    if not claim.proof and not tried(claim, records):
        return UNTRIED
    if claim.refuted if claim.proof else not all(truth(rule, claim, records) for rule in claim.rules):
        return FAILS
    return HOLDS if claim.scale == "paper" else SCALED


def proof_is_there(claim: Claim, root: Path) -> bool:
    """Whether a line of the chapter's code is the proof, but for a comment at its end."""
    notebook = json.loads((root / "notebooks" / f"{claim.chapter}.ipynb").read_text(encoding="utf-8"))
    cells = ("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    return any(line.partition("  #")[0].strip() == claim.proof for code in cells for line in code.splitlines())


# ------------------------------------------------------------------------------------------------ texts

def number(value: float) -> str:
    """Three significant digits; whole numbers from a thousand on with commas; never for a step not reached."""
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.3g}".rstrip(".")


def spoken(rule: str, claim: Claim) -> str:
    """The rule in words."""
    kind, one, sign, other, tolerance = parsed(rule, claim)
    word = WORDS.get(sign, "")
    seeds = f"every seed of {other}" if measures(other, claim) else other
    middle = f"that of {other}" if measures(other, claim) else other
    return {
        "every": f"every seed of {one} {word} {seeds}",
        "none": f"no seed of {one} {word} {seeds.replace('every', 'a')}",
        "some": f"at least one seed of {one} {word} {seeds}",
        "apart": f"the interval of {one} {word} {middle}",
        "median": f"the median of {one} {word} {middle}",
        "close": f"the medians of {one} and {other} within {tolerance:.0%}",
    }[kind].replace("%", " %")


def said(values: Sequence[float | None], runs: Sequence[Mapping[str, Any]]) -> str:
    """Median and bootstrap interval over the seeds, and how many runs diverged or have no value for another reason."""
    whole = [value for value in values if value is not None]
    parts = []
    if whole:
        low, high = interval(whole)
        text = number(statistics.median(whole))
        ends = number(low), number(high)
        parts.append(text if {*ends} == {text} else f"{text} [{ends[0]}, {ends[1]}]")
    for reason, count in measured.lost(values, runs).items():
        parts.append(f"all {count} {reason}" if count == len(runs) else f"{count} of {len(runs)} {reason}")
    return ", ".join(parts)


def budget(claim: Claim, records: measured.Records) -> str:
    """Seeds, steps and parameters of the runs that a claim rests on."""
    recipes = list(dict.fromkeys(measured.split(path, records)[0] for path in claim.ours.values()))

    def span(values: Iterable[float], word: str) -> str:
        low, high = min(found := sorted(values)), max(found)
        return f"{low:,.0f} {word}" if low == high else f"{low:,.0f} to {high:,.0f} {word}"

    return ", ".join((
        span((len(records[name]) for name in recipes), "seeds"),
        span((record["configuration"]["steps"] for name in recipes for record in records[name]), "steps"),
        span((record["parameters"] for name in recipes for record in records[name]), "parameters")))


def title_of(chapter: str, root: Path) -> str:
    """"8. R-Transformer": number and first heading of a notebook; the name itself where there is none yet."""
    path = root / "notebooks" / f"{chapter}.ipynb"
    count, _, name = chapter.partition("_")
    if path.is_file():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        heading = re.search(r"^# (.+)$", "".join("".join(cell["source"]) + "\n" for cell in cells[:3]), flags=re.M)
        name = heading[1] if heading else name
    return f"{int(count)}. {_capital(name.replace('_', ' '))}"


# ------------------------------------------------------------------------------------------------ the page

class Ledger(SphinxDirective):
    """The summary, the filter and all claims by chapter. It stands at the end of a section, without arguments."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.app.confdir)
        for name in (FILE, *(str(path.relative_to(root)) for path in (root / FOLDER).glob("*.json"))):
            self.env.note_dependency(str(root / name))
        try:
            claims = read_claims(root / FILE)
            records = _records(root / FOLDER)
            judged = [(claim, verdict(claim, records)) for claim in claims]
            if absent := [claim.id for claim in claims if claim.proof and not proof_is_there(claim, root)]:
                raise ValueError(f"claim {absent[0]}: no code cell of its chapter holds its proof")
        except ValueError as error:
            raise self.error(f"ledger: {error}") from error
        chapters = sorted({claim.chapter for claim in claims})
        titles = {chapter: title_of(chapter, root) for chapter in chapters}
        count = Counter(outcome for _, outcome in judged)
        found: list[nodes.Node] = [*self.summary(judged, titles), nodes.raw("", chooser(count), format="html")]
        for chapter in chapters:
            part = nodes.section("", nodes.title("", titles[chapter]), ids=[f"claims-{nodes.make_id(chapter)}"],
                                 names=[], classes=["claims"])
            if (page := f"notebooks/{chapter}") in self.env.found_docs:
                part += self.markdown(f"The chapter: {{doc}}`/{page}`.")
            part += [self.entry(claim, outcome, records) for claim, outcome in judged if claim.chapter == chapter]
            found.append(part)
        return found

    def markdown(self, text: str) -> list[nodes.Node]:
        """The nodes of a text, with its citations."""
        holder = nodes.container()
        self.state.nested_parse(StringList(text.splitlines(), source=FILE), self.content_offset, holder)
        return holder.children

    def summary(self, judged: Sequence[tuple[Claim, str]], titles: Mapping[str, str]) -> list[nodes.Node]:
        count = Counter(outcome for _, outcome in judged)
        text = (f"Of {len(judged)} claims, {count[HOLDS]} hold in their own setting, {count[SCALED]} hold at our "
                f"scale, {count[FAILS]} do not, and {count[UNTRIED]} were not tried, or not yet with all seeds.")
        group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in range(1 + len(VERDICTS))),
                             cols=1 + len(VERDICTS))
        group += nodes.thead("", _row([nodes.Text("Chapter"), *(badge(outcome) for outcome in VERDICTS)]))
        rows = []
        for chapter, title in titles.items():
            own = Counter(outcome for claim, outcome in judged if claim.chapter == chapter)
            place = f"#claims-{nodes.make_id(chapter)}"
            link = nodes.reference("", title.partition(":")[0], refuri=place, internal=True)
            rows.append(_row([link, *(nodes.Text(str(own[outcome] or "")) for outcome in VERDICTS)]))
        rows.append(_row([nodes.strong("", "All"), *(nodes.strong("", str(count[o])) for o in VERDICTS)]))
        group += nodes.tbody("", *rows)
        return [nodes.paragraph("", text, classes=["ledger-summary"]), nodes.table("", group, classes=["ledger-table"])]

    def entry(self, claim: Claim, outcome: str, records: measured.Records) -> nodes.container:
        """One claim: a badge and the sentence, then a list of what speaks for the badge."""
        box = nodes.container(ids=[f"claim-{claim.id}"], classes=["claim", css(outcome)])
        sentence = self.markdown(claim.claim)
        sentence[0].insert(0, [badge(outcome), nodes.Text(" ")])
        sentence[0]["classes"].append("claim-sentence")
        box += sentence
        rows: list[tuple[str, list[nodes.Node]]] = [("Source", self.markdown(claim.source)),
                                                    ("Published", self.markdown(claim.published))]
        if claim.rules and outcome != UNTRIED:
            rows.append(("Here", [self.numbers(claim, records), nodes.paragraph("", budget(claim, records) + ".")]))
            rows += [("Rule", [nodes.paragraph("", f"{_capital(spoken(rule, claim))}: "
                                               f"{'yes' if truth(rule, claim, records) else 'no'}.")
                               for rule in claim.rules])]
        elif claim.rules:
            rows.append(("Here", [nodes.paragraph("", "Runs are still missing.")]))
        if claim.proof:
            rows.append(("Here", [nodes.paragraph("", "Asserted in every full run of the chapter: ",
                                                  nodes.literal("", claim.proof))]))
        rows.append(("Setting", self.markdown(claim.differs)))
        listing = nodes.definition_list(classes=["claim-rows"])
        for term, content in rows:
            listing += nodes.definition_list_item("", nodes.term("", term), nodes.definition("", *content))
        box += listing
        return box

    def numbers(self, claim: Claim, records: measured.Records) -> nodes.paragraph:
        """Our numbers, each name a link to its recipe's records."""
        up = "../" * self.env.docname.count("/")
        text = nodes.paragraph()
        for place, (name, path) in enumerate(claim.ours.items()):
            recipe, _ = measured.split(path, records)
            link = f"{up}book/records.html#{nodes.make_id(f'recipe-{recipe}')}"
            text += [nodes.Text("; " if place else ""), nodes.reference("", name, refuri=link, internal=True),
                     nodes.Text(f" {said(measured.series(path, records), records[recipe])}")]
        text += nodes.Text(f" {claim.unit}." if claim.unit else ".")
        return text


@functools.lru_cache(maxsize=2)
def _records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return measured.load(folder)


def _row(content: Iterable[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in content))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def css(outcome: str) -> str:
    return f"claim-{outcome.replace(' ', '-')}"


def badge(outcome: str) -> nodes.inline:
    """The verdict in words with a sign before it, so that it does not rest on colour."""
    look = css(outcome).replace("claim", "verdict")
    return nodes.inline("", f"{SIGNS[outcome]} {outcome}", classes=["verdict", look])


def chooser(count: Mapping[str, int]) -> str:
    """The filter, with how many claims each choice leaves.

    It works by style sheet alone: a radio button hides the claims of the other verdicts.
    """
    choices = {"all": sum(count.values())} | {outcome: count.get(outcome, 0) for outcome in VERDICTS}
    labels = (f'<label><input type="radio" name="verdict" id="show-{name.replace(" ", "-")}"'
              f'{" checked" if name == "all" else ""}> {name} ({left})</label>' for name, left in choices.items())
    return f'<fieldset class="ledger-filter book-control"><legend>Show</legend>{"".join(labels)}</fieldset>'


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("ledger", Ledger)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
