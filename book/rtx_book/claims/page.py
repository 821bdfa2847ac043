"""What a page shows of its evidence: a line for each finding, and a card for each of its claims."""

import html
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rtx_book.claims import claims
from rtx_book.claims.claims import Claim, Judgement, all_claims, as_html, budget, judge, label, numbers, told_finding
from rtx_book.claims.claims import plain as words
from rtx_book.claims.findings import AUDIT, LOOKS, MIME, PROFILES, Bound, Finding, Rate, load_study, rate_of, rate_text
from rtx_book.records import measured
from rtx_book.records.records import load
from rtx_book.words import number

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")


class Evidence:
    """A chapter's findings and its audit of claims.

    Says in one line what the page is computed on.

    Parameters
    ----------
    chapter
        The notebook's name without suffix, ``vanishing_gradients``.
    profile
        ``smoke``, ``book`` or ``paper``; the first judges nothing.
    seed
        Of all trainings on the page.
    device
        Where they run; only its name is used.

    Raises
    ------
    ValueError
        For another profile.
    """

    def __init__(self, chapter: str, profile: str, seed: int, device: object) -> None:
        if profile not in PROFILES:
            raise ValueError(f"profile must be one of {', '.join(PROFILES)}, got {profile!r}")
        self.chapter, self.profile = chapter, profile
        self.findings: dict[str, Finding] = {}
        where = "a GPU" if str(device).startswith("cuda") else "a CPU" if str(device) == "cpu" else str(device)
        text = f"This page is computed on {where}, with seed {seed}, in the profile {profile}."
        _show({"text/html": f'<p class="book-computed">{html.escape(text)}</p>', "text/plain": text})

    def finding(self, id: str, sentence: str, value: float, bound: str) -> None:
        """Show whether what a training showed is what ``sentence`` says, and keep the value for programs.

        The page gets one line with the value, the bound and the rate of the replication study, whichever way it fell.

        Parameters
        ----------
        id
            A stable name in lower case, such as ``gradients-wall``; unique in the book.
        sentence
            The finding in the reader's words, true where ``value`` keeps to ``bound``.
        value
            The number that decides. A tensor of one element will do. One that is not finite is kept as None
            and does not hold.
        bound
            Where it must lie: ``"< 0.05"``, ``">= 3"``, ``"== 5"`` or ``"between 0.1 and 0.6"``.

        Raises
        ------
        ValueError
            For an id of another form or of an earlier finding, an empty sentence, or a bound that is none.
        """
        if not _ID.fullmatch(id):
            raise ValueError(f"id must be words in lower case joined by hyphens, got {id!r}")
        if (earlier := self.findings.get(id)) and earlier.sentence != sentence:  # a cell may run twice
            raise ValueError(f"id must be new in the chapter, {id!r} is there already: {earlier.sentence}")
        if not sentence.strip():
            raise ValueError(f"sentence must say what was found, got {sentence!r}")
        number = float(value)
        kept = number if math.isfinite(number) else None
        found = Finding(id, self.chapter, sentence, kept, Bound(bound).text, self.profile != "smoke")
        self.findings[id] = found
        _show(bundle(found, load_study()))

    def audit(self) -> None:
        """Show the ledger's claims about this chapter with what our records and findings say, as cards."""
        _show(audit_bundle(self.chapter))


def _show(bundle: Mapping[str, Any]) -> None:
    from IPython.display import display

    display(bundle, raw=True)


def plain(found: Finding, rate: Rate | None) -> str:
    """The finding as one line of text."""
    lead = "It fell otherwise in this run. The study's sentence: " * (found.held is False)
    here = f"here {number(found.value)}, bound {found.bound}{', not judged after so few steps' * (not found.judged)}"
    return f"{LOOKS[found.held][0]} {lead}{found.sentence} [{here}; {rate_text(rate)}]"


def markup(found: Finding, rate: Rate | None, link: str | None = None) -> str:
    """The finding as one line of a page; ``link`` leads to its row in the list of all findings."""
    sign, state = LOOKS[found.held]
    lead = "<strong>It fell otherwise in this run.</strong> The sentence was: " if state == "fell" else ""
    here = f"Here {number(found.value)}, bound {found.bound}{', not judged in so short a run' * (state == 'unjudged')}"
    told = html.escape(rate_text(rate))
    told = f'<a href="{html.escape(link)}">{told}</a>' if link else told
    numbers = f'<span class="numbers">{html.escape(here)}; {told}</span>'
    said = f'<span class="sign" aria-hidden="true">{sign}</span> {lead}{html.escape(found.sentence)} {numbers}'
    return f'<p class="book-finding {state}" data-finding="{found.id}">{said}</p>'


def bundle(found: Finding, study: Mapping[str, Any], link: str | None = None) -> dict[str, Any]:
    """The finding as a notebook's output: for programs, as HTML and as text."""
    rate = rate_of(study, found)
    return {MIME: asdict(found), "text/html": markup(found, rate, link), "text/plain": plain(found, rate)}


OWN = "Questions of our own: no source makes these claims"
Row = tuple[Claim, Judgement, str]
"""A claim, its verdict, and what speaks for that."""


def audit_bundle(chapter: str, ledger: str = "") -> dict[str, Any]:
    """The claims of a chapter as a notebook's output: the chapter for programs, cards as HTML, and lines of text.

    Parameters
    ----------
    chapter
        The notebook's name without suffix, ``vanishing_gradients``.
    ledger
        The address of the ledger's page, so that each verdict links its claim there; nothing for no links.

    Raises
    ------
    ValueError
        For a chapter without claims.
    """
    own = [claim for claim in all_claims() if claim.chapter == chapter and not claim.unpublished]
    if not own:
        raise ValueError(f"chapter must have claims in claims.yml, got {chapter!r}")
    records, study = load(), load_study()
    own.sort(key=lambda claim: claim.nobody)  # questions of our own stand last
    rows = [(one, judge(one, records, study), _measured(one, records, study)) for one in own]
    lines = (
        f"{label(claim, found)}{_because(found)}: {words(claim.claim)} [{words(claim.source)}] {words(here)}"
        for claim, found, here in rows
    )
    return {AUDIT: chapter, "text/html": _cards(rows, ledger), "text/plain": "\n".join(lines)}


def _measured(claim: Claim, records: measured.Records, study: Mapping[str, Any]) -> str:
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


def _cards(rows: Sequence[Row], ledger: str) -> str:
    """A line that counts the verdicts, and folded below it a card a claim."""
    count = Counter(found.verdict for _, found, _ in rows)
    counted = ((count[own], own) for own in claims.VERDICTS if count[own])
    told = ", ".join(f"{many} {'hold' if (own == claims.HOLDS and many > 1) else own}" for many, own in counted)
    page = ""
    for place, (claim, found, here) in enumerate(rows):
        if claim.nobody and not (place and rows[place - 1][0].nobody):
            page += f'<p class="claim-sentence">{OWN}</p>'
        name = html.escape(label(claim, found)).replace(" ", "\u00a0", 1)  # the sign stays with its word
        link = f'<a href="{ledger}#claim-{claim.id}">{name}</a>' if ledger else name
        look = found.verdict.replace(" ", "-")
        badge = f'<span class="verdict verdict-{look}">{link}</span>{as_html(_because(found))}'
        rest = f"<p>{as_html(claim.source)}</p><p>{as_html(here)}</p>"
        page += f'<div class="claim claim-{look}"><p>{badge}</p><p><b>{as_html(claim.claim)}</b></p>{rest}</div>'
    many = f"{len(rows)} claim{'s' * (len(rows) > 1)}"
    return f'<details class="book-audit"><summary>{many}: {told}</summary><div>{page}</div></details>'


def _because(found: Judgement) -> str:
    return f" ({found.why})" if found.why else ""
