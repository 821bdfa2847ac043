"""The directive ``findings``: every finding of the book with its rate, worst first, out of the replication study."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rtx_book.claims.findings import CONFIDENCE, PLANNED, Finding, Rate, rate_of, runs_of, values_of
from rtx_book.sphinx.ledger import title_of
from rtx_book.sphinx.tables import paragraphs, row, table
from rtx_book.words import number

FILE = "book/results/study/replication.json"
HOW = "make replicate"
HEAD = ("Finding", "Held", "Values", "By data and seeds")  # a phone shows the first two


@dataclass(frozen=True)
class Row:
    """A finding with its rate over the whole study."""

    found: Finding
    rate: Rate


def rows_of(study: Mapping[str, Any]) -> list[Row]:
    """All findings that some run has, the least rate first; equal ones by the lower bound, then in the book's order."""
    found = [
        Finding(id, chapter, one["sentence"], None, one["bound"], True)
        for chapter, content in study.get("chapters", {}).items()
        for id, one in content["findings"].items()
    ]
    rows = [Row(one, rate) for one in found if (rate := rate_of(study, one)) is not None]
    return sorted(rows, key=lambda row: (row.rate.share, row.rate.at_least))


def spread(values: Sequence[float]) -> str:
    """Median and range of the values: ``0.164 (0.151 to 0.171)``."""
    whole = sorted(value for value in values if math.isfinite(value))
    lost = f", {len(values) - len(whole)} not finite" if len(whole) < len(values) else ""
    if not whole:
        return "none finite"
    middle, low, high = statistics.median(whole), whole[0], whole[-1]
    if low == high:
        return f"{number(low)} in every run{lost}"
    return f"{number(middle)} ({number(low)} to {number(high)}){lost}"


def split(study: Mapping[str, Any], found: Finding) -> list[str]:
    """The rate in parts: by data, and with the seeds that nobody had looked at when the bound was set."""
    parts = {
        "true data": rate_of(study, found, data="true"),
        "embedded data": rate_of(study, found, data="embedded"),
        "seeds before the bound": rate_of(study, found, "first"),
        "seeds after it": rate_of(study, found, "second"),
    }
    return [f"{name}: {rate.held} of {rate.runs}" for name, rate in parts.items() if rate]


def machines(study: Mapping[str, Any]) -> str:
    """How many runs were made with which processor, instruction set, threads and versions, and in how many hours."""
    runs = [run for chapter in study["chapters"] for run in runs_of(study, chapter)]
    sets = Counter(run["instructions"] for run in runs)
    threads = Counter(run["threads"] for run in runs)
    versions = sorted({f"Python {run['python']}, torch {run['torch']}" for run in runs})
    hours = sum(run["cpu_seconds"] for run in runs if math.isfinite(run["cpu_seconds"])) / 3600
    return (
        f"{len(runs)} runs of {len(study['chapters'])} chapters in {hours:.1f} CPU hours; instruction sets: "
        + ", ".join(f"{name} {count}" for name, count in sorted(sets.items()))
        + "; threads: "
        + ", ".join(f"{name} in {count}" for name, count in sorted(threads.items()))
        + f"; {'; '.join(versions)}; processors: {', '.join(sorted({run['processor'] for run in runs}))}."
    )


class Findings(SphinxDirective):
    """A summary and the table of all findings, or a line that the study has not begun. It takes no argument."""

    def run(self) -> list[nodes.Node]:
        root = Path(self.env.app.confdir)
        path = root / FILE
        self.env.note_dependency(str(path))
        study = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        rows = rows_of(study)
        if not rows:
            return [nodes.paragraph("", "There is no run yet. To make them: ", nodes.literal("", HOW))]
        always = sum(one.rate.held == one.rate.runs for one in rows)
        counts = [one.rate.runs for one in rows]
        runs = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
        text = (
            f"{len(rows)} findings, each with {runs} runs. {always} held in every run, "
            f'{len(rows) - always} in fewer. "At least" is the exact lower end of a one-sided {CONFIDENCE:.0%} '
            "interval of the rate."
        )
        chapters = [len(runs_of(study, chapter)) for chapter in study["chapters"]]
        if (least := min(chapters)) < (planned := sum(PLANNED.values())):
            text = f"The study is under way: {planned} runs of each chapter are planned, some have {least}. {text}"
        up = "../" * self.env.docname.count("/")
        titles = {one.found.chapter: title_of(one.found.chapter, root).partition(":")[0] for one in rows}
        body = [self.entry(one, study, up, titles) for one in rows]
        return [nodes.paragraph("", text), nodes.paragraph("", f"The study: {machines(study)}"), table(HEAD, body)]

    def entry(self, one: Row, study: Mapping[str, Any], up: str, titles: Mapping[str, str]) -> nodes.row:
        found, rate = one.found, one.rate
        page = nodes.reference("", titles[found.chapter], refuri=f"{up}notebooks/{found.chapter}.html", internal=True)
        name = [
            nodes.paragraph("", found.sentence),
            nodes.paragraph("", "", page, nodes.Text(", "), nodes.literal("", found.id), classes=["about"]),
        ]
        held = paragraphs([f"{rate.held} of {rate.runs}", f"at least {math.floor(100 * rate.at_least)} %"])
        values = values_of(runs_of(study, found.chapter), found.id)
        return row(
            [
                name,
                held,
                paragraphs([spread(values), "bound " + re.sub(r"([<>=]) ", "\\1\u00a0", found.bound)]),
                paragraphs(split(study, found)),
            ],
            ids=[found.id],
        )


def setup(app: Sphinx) -> None:
    app.add_directive("findings", Findings)
