"""The directive ``ledger``: the claims of ``book/claims.yml`` with what our records, proofs and findings say.

The page is drawn here. What a claim is, and how it is weighed, stands in :mod:`rtx_book.claims.claims`.
"""

from __future__ import annotations

import ast
import functools
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rtx_book.claims.claims import (
    CONTRADICTED,
    HOLDS,
    NOBODY,
    SHORT,
    SIGNS,
    UNDECIDED,
    VERDICTS,
    Claim,
    Judgement,
    beaten_by_trivial,
    budget,
    judge,
    label,
    numbers,
    read_claims,
    told_finding,
    too_few,
    truth,
)
from rtx_book.claims.findings import STUDY, load_study
from rtx_book.paths import chapters_of, in_order
from rtx_book.records import measured, rules
from rtx_book.records.records import load
from rtx_book.sphinx.tables import line, paragraphs, row, table

FILE, FOLDER = "book/claims.yml", "book/results"
ANSWERS = {True: "yes", False: "no, the contrary", None: "not decided"}
Judged = Sequence[tuple[Claim, Judgement]]


# ------------------------------------------------------------------------------------------------ notebooks


@functools.lru_cache(maxsize=32)
def _code(root: Path, chapter: str) -> tuple[str, ...]:
    notebook = json.loads((root / "notebooks" / f"{chapter}.ipynb").read_text(encoding="utf-8"))
    return tuple("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")


def proof_is_there(claim: Claim, root: Path) -> bool:
    """Whether a line of the chapter's code is the proof, but for a comment at its end."""
    lines = (line for code in _code(root, claim.chapter) for line in code.splitlines())
    return any(line.partition("  #")[0].strip() == claim.proof for line in lines)


def finding_is_there(claim: Claim, root: Path) -> bool:
    """Whether the chapter's code makes the finding: a call ``evidence.finding("its-id", ...)``."""
    calls = (
        node
        for code in _code(root, claim.chapter)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "finding"
    )
    return any(
        call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == claim.finding for call in calls
    )


def absent(claims: Iterable[Claim], root: Path) -> list[str]:
    """A line for each claim whose proof or finding is not in the code of its chapter."""
    return [
        f"claim {claim.id}: no code cell of its chapter holds its {kind}"
        for claim in claims
        for kind, there in (("proof", proof_is_there), ("finding", finding_is_there))
        if getattr(claim, kind) and not there(claim, root)
    ]


def title_of(chapter: str, root: Path) -> str:
    """ "8. R-Transformer": number and first heading of a notebook; the name itself where there is none yet."""
    path, name, order = root / "notebooks" / f"{chapter}.ipynb", chapter, chapters_of(root)
    if path.is_file():
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        heading = re.search(r"^# (.+)$", "".join("".join(cell["source"]) + "\n" for cell in cells[:3]), flags=re.M)
        name = heading[1] if heading else name
    number = f"{order.index(chapter) + 1}. " if chapter in order else ""
    return number + _capital(name.replace("_", " "))


# ------------------------------------------------------------------------------------------------ the page


class Ledger(SphinxDirective):
    """The summary, the filter and all claims by chapter. It stands at the end of a section, without arguments."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.app.confdir)
        for name in (FILE, *(str(path.relative_to(root)) for path in (root / FOLDER).rglob("*.json*"))):
            self.env.note_dependency(str(root / name))
        try:
            claims = read_claims(root / FILE)
            records, self.study = load(root / FOLDER), load_study(root / FOLDER / STUDY)
            judged = [(claim, judge(claim, records, self.study)) for claim in claims]
            if wrong := absent(claims, root):
                raise ValueError(wrong[0])
        except ValueError as error:
            raise self.error(f"ledger: {error}") from error
        chapters = in_order({claim.chapter for claim in claims}, root)
        titles = {chapter: title_of(chapter, root) for chapter in chapters}
        count = Counter(found.verdict for _, found in judged)
        page: list[nodes.Node] = [*self.summary(judged, titles), nodes.raw("", chooser(count), format="html")]
        for chapter in chapters:
            part = nodes.section(
                "",
                nodes.title("", titles[chapter]),
                ids=[f"claims-{nodes.make_id(chapter)}"],
                names=[],
                classes=["claims"],
            )
            if (name := f"notebooks/{chapter}") in self.env.found_docs:
                part += self.markdown(f"The chapter: {{doc}}`/{name}`.")
            own = sorted((pair for pair in judged if pair[0].chapter == chapter), key=lambda pair: pair[0].nobody)
            part += [self.entry(claim, found, records) for claim, found in own]
            page.append(part)
        return page

    def markdown(self, text: str) -> list[nodes.Node]:
        """The nodes of a text, with its citations."""
        holder = nodes.container()
        self.state.nested_parse(StringList(text.splitlines(), source=FILE), self.content_offset, holder)
        return holder.children

    def summary(self, judged: Judged, titles: Mapping[str, str]) -> list[nodes.Node]:
        count = Counter(found.verdict for _, found in judged)
        text = summed_up(judged)
        head = ["Chapter", *(badge(f"{SIGNS[v]} {v}", v) for v in VERDICTS)]
        rows = []
        for chapter, title in titles.items():
            own = Counter(found.verdict for claim, found in judged if claim.chapter == chapter)
            place = f"#claims-{nodes.make_id(chapter)}"
            link = nodes.reference("", title.partition(":")[0], refuri=place, internal=True)
            rows.append(row([line(link), *(paragraphs([str(own[outcome] or "")]) for outcome in VERDICTS)]))
        rows.append(row([line(nodes.strong("", str(cell))) for cell in ("All", *(count[o] for o in VERDICTS))]))
        return [nodes.paragraph("", text, classes=["ledger-summary"]), table(head, rows, "ledger-table")]

    def entry(self, claim: Claim, found: Judgement, records: measured.Records) -> nodes.container:
        """One claim: a badge and the sentence, then a list of what speaks for the badge."""
        box = nodes.container(ids=[f"claim-{claim.id}"], classes=["claim", css(found.verdict)])
        sentence = self.markdown(claim.claim)
        sentence[0].insert(0, [badge(label(claim, found), found.verdict), nodes.Text(" ")])
        sentence[0]["classes"].append("claim-sentence")
        box += sentence
        rows: list[tuple[str, list[nodes.Node]]] = []
        if found.why:
            rows.append(("Why", self.markdown(f"{_capital(found.why)}.")))
        rows += [("Source", self.markdown(claim.source)), ("Published", self.markdown(claim.published))]
        if numbers(claim, records):
            rows.append(("Here", [self.numbers(claim, records), nodes.paragraph("", f"{budget(claim, records)}.")]))
        if claim.rules and not too_few(claim, records):
            rows.append(("Rule", [nodes.paragraph("", text) for text in ruled(claim, records)]))
        if claim.finding:
            rows.append(("Here", [nodes.paragraph("", told_finding(claim, self.study))]))
        if claim.proof:
            rows.append(
                (
                    "Here",
                    [nodes.paragraph("", "Asserted in every run of the chapter: ", nodes.literal("", claim.proof))],
                )
            )
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
        for place, (name, recipe, told) in enumerate(numbers(claim, records)):
            link = f"{up}book/records.html#recipe-{records[recipe][0]['recipe']}"
            text += [
                nodes.Text("; " if place else ""),
                nodes.reference("", name, refuri=link, internal=True),
                nodes.Text(f" {told}"),
            ]
        text += nodes.Text(f" {claim.unit}." if claim.unit else ".")
        return text


def summed_up(judged: Judged) -> str:
    """How many claims have which verdict, in a sentence."""
    count = Counter(found.verdict for _, found in judged)
    own = sum(found.verdict == HOLDS and claim.scale == "paper" for claim, found in judged)
    made = len(judged) - count[NOBODY]

    def are(verdict: str) -> str:
        return f"{count[verdict]} {'is' if count[verdict] == 1 else 'are'}"

    more = "is a question" if count[NOBODY] == 1 else "are questions"
    return (
        f"Of {made} claims, {count[HOLDS]} hold, {own} of them in the claim's own setting and "
        f"{count[HOLDS] - own} at our scale; {are(CONTRADICTED)} contradicted; {are(UNDECIDED)} undecided; for "
        f"{count[SHORT]} our budget is too small. {count[NOBODY]} more {more} of our own, on which no source makes "
        "a claim; they count neither for nor against one."
    )


def ruled(claim: Claim, records: measured.Records) -> list[str]:
    """What became of each rule of a claim, in words."""
    weak = set(beaten_by_trivial(claim, records))
    enough = f"{claim.enough} of these {len(claim.rules)} {'is' if claim.enough == 1 else 'are'} enough."
    lines = [enough] if claim.enough else []
    for rule in claim.rules:
        void = weak & set(rules.names(rules.parse(rule, claim.ours), claim.ours))
        answer = "not counted" if void else ANSWERS[truth(rule, claim.ours, records)]
        lines.append(f"{_capital(rules.spoken(rule, claim.ours))}: {answer}.")
    return lines


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def css(verdict: str) -> str:
    return f"claim-{verdict.replace(' ', '-')}"


def badge(text: str, verdict: str) -> nodes.inline:
    """The verdict in words with a sign before it, so that it does not rest on colour."""
    return nodes.inline("", text, classes=["verdict", css(verdict).replace("claim-", "verdict-", 1)])


def chooser(count: Mapping[str, int]) -> str:
    """The filter, with how many claims each choice leaves.

    It works by style sheet alone: a radio button hides the claims of the other verdicts.
    """
    choices = {"all": sum(count.values())} | {verdict: count.get(verdict, 0) for verdict in VERDICTS}
    labels = (
        f'<label><input type="radio" name="verdict" id="show-{name.replace(" ", "-")}"'
        f"{' checked' if name == 'all' else ''}> {name} ({left})</label>"
        for name, left in choices.items()
    )
    return f'<fieldset class="ledger-filter book-control"><legend>Show</legend>{"".join(labels)}</fieldset>'


def setup(app: Sphinx) -> None:
    app.add_directive("ledger", Ledger)
