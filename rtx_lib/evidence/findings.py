"""Findings: what a training on the page showed, with the bound that its sentence means and the rate at which it held.

Training is chaotic: another processor, another number of threads or another version of a package rounds differently,
and after a thousand steps the same seed may end elsewhere. So the outcome of a training is never asserted.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rtx_lib.evidence.bounds import Bound
from rtx_lib.evidence.study import Rate, load_study, rate_of

MIME = "application/vnd.rtx-finding+json"
"""Under this name a finding lies in the outputs of an executed notebook, for programs."""

PROFILES = ("smoke", "book", "paper")
LOOKS = {True: ("✓", "held"), False: ("✗", "fell"), None: ("·", "unjudged")}
AUDIT = "application/vnd.rtx-audit+json"
"""Under this name the name of a chapter lies in the output that holds its audit of claims."""

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")


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
        Where the number must lie for the sentence to be true, as :class:`.bounds.Bound` reads it.
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


class Evidence:
    """A chapter's findings and its audit of claims.

    Says in one line what the page is computed on.

    Parameters
    ----------
    chapter
        The notebook's name without suffix, ``02_vanishing_gradients``.
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
        from IPython.display import display

        where = "a GPU" if str(device).startswith("cuda") else "a CPU" if str(device) == "cpu" else str(device)
        text = f"This page is computed on {where}, with seed {seed}, in the profile {profile}."
        display({"text/html": f'<p class="book-computed">{html.escape(text)}</p>', "text/plain": text}, raw=True)

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
        from IPython.display import display

        display(bundle(found, load_study()), raw=True)

    def audit(self) -> None:
        """Show the ledger's claims about this chapter with what our records and findings say, as a table."""
        from IPython.display import display

        display(audit_bundle(self.chapter), raw=True)


# ------------------------------------------------------------------------------------------------ in words


def number(value: float | None) -> str:
    """Three significant digits: ``0.163``, ``1,240``, ``2.1e-24``; ``not finite`` for None."""
    if value is None:
        return "not finite"
    short = float(f"{value:.3g}")
    if value and not 1e-3 <= abs(short) < 1e6:
        return f"{value:.1e}"
    return f"{value:,.0f}" if abs(short) >= 1000 or value == int(value) else f"{short:g}"


def rate_text(rate: Rate | None) -> str:
    """ "held in 38 of 40 runs (at least 85 %)": the rate, and its exact lower bound with 95 % confidence."""
    if rate is None:
        return "not in the replication study yet"
    runs = f"{rate.held} of {rate.runs} runs" if rate.runs != 1 else f"{rate.held} of 1 run"
    return f"held in {runs} (at least {math.floor(100 * rate.at_least)} %)"


def plain(found: Finding, rate: Rate | None) -> str:
    """The finding as one line of text."""
    lead = "It fell otherwise in this run. The study's sentence: " * (found.held is False)
    here = f"here {number(found.value)}, bound {found.bound}{', not judged after so few steps' * (not found.judged)}"
    return f"{LOOKS[found.held][0]} {lead}{found.sentence} [{here}; {rate_text(rate)}]"


def markup(found: Finding, rate: Rate | None, link: str | None = None) -> str:
    """The finding as one line of a page; ``link`` leads to its row in the list of all findings."""
    sign, state = LOOKS[found.held]
    lead = "<strong>It fell otherwise in this run.</strong> The sentence was: " if state == "fell" else ""
    here = f"Here {number(found.value)}, bound {found.bound}"
    here += ", not judged in so short a run" * (state == "unjudged")
    told = html.escape(rate_text(rate))
    told = f'<a href="{html.escape(link)}">{told}</a>' if link else told
    return (
        f'<p class="book-finding {state}" data-finding="{found.id}"><span class="sign" aria-hidden="true">{sign}'
        f"</span> {lead}{html.escape(found.sentence)} "
        f'<span class="numbers">{html.escape(here)}; {told}</span></p>'
    )


def bundle(found: Finding, study: Mapping[str, Any], link: str | None = None) -> dict[str, Any]:
    """The finding as a notebook's output: for programs, as HTML and as text."""
    rate = rate_of(study, found)
    return {MIME: asdict(found), "text/html": markup(found, rate, link), "text/plain": plain(found, rate)}


def audit_bundle(chapter: str, ledger: str = "") -> dict[str, Any]:
    """The audit of a chapter's claims as a notebook's output; ``ledger`` is the address of the page of all claims."""
    from rtx_lib.evidence.audit import Audit

    table = Audit(chapter, ledger)
    return {AUDIT: chapter, "text/html": table.data, "text/plain": repr(table)}


def findings_of(notebook: Mapping[str, Any]) -> list[Finding]:
    """The findings in the outputs of an executed notebook, in their order."""
    outputs: Iterable[Mapping[str, Any]] = (
        output for cell in notebook["cells"] if cell["cell_type"] == "code" for output in cell["outputs"]
    )
    return [Finding(**output["data"][MIME]) for output in outputs if MIME in output.get("data", {})]
