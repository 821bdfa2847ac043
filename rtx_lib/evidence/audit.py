"""How claims are told: our numbers in words, sources without Sphinx, and the table at the end of a chapter."""

from __future__ import annotations

import functools
import html
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from rtx_lib.evidence import claims, measured
from rtx_lib.evidence.claims import Claim, Judgement
from rtx_lib.evidence.records import load
from rtx_lib.evidence.seeds import median_interval
from rtx_lib.evidence.study import load_study


def number(value: float) -> str:
    """Three significant digits; whole numbers from a thousand on with commas; never for a step not reached."""
    if math.isinf(value):
        return "never"
    digits = f"{value:#.3g}"
    return f"{value:,.0f}" if abs(float(digits)) >= 1000 else digits.rstrip(".")


def said(values: Sequence[float | None], runs: Sequence[Mapping[str, Any]]) -> str:
    """Median and range over the seeds, and how many runs diverged or have no value for another reason."""
    whole = [value for value in values if value is not None]
    parts = []
    if whole:
        finite = all(map(math.isfinite, whole))
        low, high = median_interval(whole) if finite else (min(whole), max(whole))
        text = number(statistics.median(whole))
        ends = number(low), number(high)
        parts.append(text if {*ends} == {text} else f"{text} [{ends[0]}, {ends[1]}]")
    for reason, count in measured.lost(values, runs).items():
        parts.append(f"all {count} {reason}" if count == len(runs) else f"{count} of {len(runs)} {reason}")
    return ", ".join(parts)


def numbers(claim: Claim, records: measured.Records) -> list[tuple[str, str, str]]:
    """Name, recipe and numbers of each of ours that has records."""
    found = []
    for name, path in claim.ours.items():
        try:
            recipe, _ = measured.split(path, records)
        except measured.Unmeasured:
            continue
        found.append((name, recipe, said(measured.series(path, records), records[recipe])))
    return found


def budget(claim: Claim, records: measured.Records) -> str:
    """Seeds, steps and parameters of the runs that a claim rests on."""
    recipes = list(dict.fromkeys(recipe for _, recipe, _ in numbers(claim, records)))

    runs = [run for name in recipes for run in records[name]]
    ranges = {
        "seeds": [len(records[name]) for name in recipes],
        "steps": [run["configuration"]["steps"] for run in runs],
        "parameters": [run["parameters"] for run in runs],
    }
    ends = {word: dict.fromkeys(f"{end(values):,.0f}" for end in (min, max)) for word, values in ranges.items()}
    return ", ".join(f"{' to '.join(own)} {word}" for word, own in ends.items())


def told_finding(claim: Claim, study: Mapping[str, Any]) -> str:
    """What the replication study says of a claim's finding: its sentence, and at which rate it held."""
    from rtx_lib.evidence.findings import rate_text

    known = study.get("chapters", {}).get(claim.chapter, {}).get("findings", {}).get(claim.finding)
    name = f"\u201c{known['sentence'].rstrip('.')}\u201d" if known else f"The finding {claim.finding}"
    return f"{name}: {rate_text(claims.rate_of_claim(claim, study))}."


# ------------------------------------------------------------------------------------------------ sources


@functools.cache
def papers() -> dict[str, str]:
    """ "Author and Author (year)" by key, out of the book's bibliography; the author alone where there is no year."""
    found = {}
    text = claims.book_file("references.bib").read_text(encoding="utf-8")
    for key, entry in re.findall(r"^@\w+\{([^,]+),(.*?)^\}", text, flags=re.M | re.S):
        fields = dict(re.findall(r"(\w+) += \{(.*?)\},?$", entry, flags=re.M | re.S))
        last = [name.partition(",")[0] for name in " ".join(fields["author"].split()).split(" and ")]
        authors = f"{last[0]} et al." if len(last) > 2 else " and ".join(last)
        found[key] = f"{authors} ({fields['year']})" if fields["year"].isdigit() else authors
    return found


def plain(text: str) -> str:
    """Markdown with roles as it reads without Sphinx: a citation as author and year, a link as its words."""

    def cited(role: re.Match[str]) -> str:
        return "; ".join(papers().get(key, key) for key in role[1].split(","))

    text = re.sub(r"\{cite:\w+\}`([^`]+)`", cited, text)
    return re.sub(r"\{\w+\}`(?:([^`<]+?) *<[^`>]+>|([^`]+))`", lambda m: m[1] or m[2], text)


def as_html(text: str) -> str:
    """The same as HTML, with code in its own face."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(plain(text), quote=False))


# ------------------------------------------------------------------------------------------------ the table

HEAD = ("claim", "source", "what we measured", "verdict")
OWN = "Questions of our own: no source makes these claims"


class Audit:
    """The claims of a chapter as Jupyter, Colab and the site show them: ``data`` as HTML, ``repr`` as text.

    Parameters
    ----------
    chapter
        The notebook's name without suffix, ``02_vanishing_gradients``.
    ledger
        The address of the ledger's page, so that each verdict links its claim there; nothing for no links.

    Raises
    ------
    ValueError
        For a chapter without claims.
    """

    def __init__(self, chapter: str, ledger: str = "") -> None:
        own = [claim for claim in claims.all_claims() if claim.chapter == chapter]
        if not own:
            raise ValueError(f"chapter must have claims in claims.yml, got {chapter!r}")
        records, study = load(), load_study()
        self.ledger = ledger
        own.sort(key=lambda claim: claim.nobody)  # questions of our own stand last
        self.rows = [(one, claims.judge(one, records, study), self.measured(one, records, study)) for one in own]

    @staticmethod
    def measured(claim: Claim, records: measured.Records, study: Mapping[str, Any]) -> str:
        """What speaks for the verdict, with the setting, as Markdown."""
        if claim.finding:
            here = told_finding(claim, study)
        elif claim.proof:
            here = f"Asserted on this page: `{claim.proof}`."
        elif told := "; ".join(f"{name}: {text}" for name, _, text in numbers(claim, records)):
            here = f"{told}{f' {claim.unit}' * bool(claim.unit)}. {budget(claim, records)}."
        else:
            here = ""
        return f"{here} Setting: {claim.differs}".strip()

    @property
    def data(self) -> str:
        """The table as HTML."""
        cell = '<{0} style="text-align: left; vertical-align: top">{1}</{0}>'
        rows = ["".join(cell.format("th", text) for text in HEAD)]
        for place, (claim, found, here) in enumerate(self.rows):
            if claim.nobody and not (place and self.rows[place - 1][0].nobody):
                rows.append(f'<th colspan="4" style="text-align: left">{OWN}</th>')
            name = html.escape(claims.label(claim, found)).replace(" ", "\u00a0", 1)  # the sign stays with its word
            link = f'<a href="{self.ledger}#claim-{claim.id}">{name}</a>' if self.ledger else name
            look = f"verdict verdict-{found.verdict.replace(' ', '-')}"
            badge = f'<span class="{look}">{link}</span>{as_html(_because(found))}'
            texts = (*map(as_html, (claim.claim, claim.source, here)), badge)
            rows.append("".join(cell.format("td", text) for text in texts))
        return f'<table class="book-audit">{"".join(f"<tr>{row}</tr>" for row in rows)}</table>'

    def _repr_html_(self) -> str:
        return self.data

    def __repr__(self) -> str:
        return "\n".join(
            f"{claims.label(claim, found)}{_because(found)}: {plain(claim.claim)} [{plain(claim.source)}] {plain(here)}"
            for claim, found, here in self.rows
        )


def _because(found: Judgement) -> str:
    return f" ({found.why})" if found.why else ""
