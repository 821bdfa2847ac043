"""The part ``ledger``: the claims of ``book/claims.yml`` with what our records, proofs and findings say.

What a claim is, and how it is weighed, stands in :mod:`rtx_book.claims.claims`.
"""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rtx_book.claims import claims as weighing
from rtx_book.claims.claims import SIGNS, VERDICTS, Claim, Judgement
from rtx_book.claims.findings import STUDY, load_study
from rtx_book.claims.support import finding_calls
from rtx_book.paths import cells_of, chapters_of, in_order
from rtx_book.records import measured, rules
from rtx_book.records.records import load

FILE, FOLDER = "book/claims.yml", "book/results"
ANSWERS = {True: "yes", False: "no, the contrary", None: "not decided"}


# ------------------------------------------------------------------------------------------------ notebooks


@functools.lru_cache(maxsize=32)
def _code(root: Path, chapter: str) -> tuple[str, ...]:
    return tuple(text for kind, text in cells_of(root, chapter) if kind == "code")


def proof_is_there(claim: Claim, root: Path) -> bool:
    """Whether a line of the chapter's code is the proof, but for a comment at its end."""
    lines = (line for code in _code(root, claim.chapter) for line in code.splitlines())
    return any(line.partition("  #")[0].strip() == claim.proof for line in lines)


def finding_is_there(claim: Claim, root: Path) -> bool:
    """Whether the chapter's code makes the finding: a call ``evidence.finding("its-id", ...)``."""
    return any(told[:1] == [claim.finding] for code in _code(root, claim.chapter) for told in finding_calls(code))


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
    name, order = chapter, chapters_of(root)
    if (root / "notebooks" / f"{chapter}.ipynb").is_file():
        heading = re.search(r"^# (.+)$", "\n".join(text for _, text in cells_of(root, chapter)[:3]), flags=re.M)
        name = heading[1] if heading else name
    return (f"{order.index(chapter) + 1}. " if chapter in order else "") + _capital(name.replace("_", " "))


# ------------------------------------------------------------------------------------------------ the page


def context(root: Path, which: str = "") -> dict[str, Any]:
    """What the template tells: the summary, and by chapter the claims with what speaks for their verdicts.

    The claims are those of published texts; for "unpublished" the others, and the template leaves out the summary.
    """
    claims = [claim for claim in weighing.read_claims(root / FILE) if claim.unpublished == (which == "unpublished")]
    records, study = load(root / FOLDER), load_study(root / FOLDER / STUDY)
    judged = [(claim, weighing.judge(claim, records, study)) for claim in claims]
    if wrong := absent(claims, root):
        raise ValueError(wrong[0])
    chapters = []
    for name in in_order({claim.chapter for claim in claims}, root):
        own = sorted((pair for pair in judged if pair[0].chapter == name), key=lambda pair: pair[0].nobody)
        chapter = {"name": name, "title": title_of(name, root), "page": name in chapters_of(root)}
        chapter |= {"count": Counter(found.verdict for _, found in own)}
        chapters.append({**chapter, "claims": [entry(claim, found, records, study) for claim, found in own]})
    count = {verdict: sum(found.verdict == verdict for _, found in judged) for verdict in VERDICTS}
    in_own_setting = sum(found.verdict == weighing.HOLDS and claim.scale == "paper" for claim, found in judged)
    told = {"chapters": chapters, "count": count, "in_own_setting": in_own_setting, "signs": SIGNS}
    return told | {"summary": not which}


def entry(claim: Claim, found: Judgement, records: measured.Records, study: Mapping[str, Any]) -> dict[str, Any]:
    """One claim, with what there is to say of its records."""
    told = [(name, records[recipe][0]["recipe"], text) for name, recipe, text in weighing.numbers(claim, records)]
    return {
        "claim": claim,
        "verdict": found.verdict,
        "label": weighing.label(claim, found),
        "why": f"{_capital(found.why)}." if found.why else "",
        "numbers": told,
        "budget": weighing.budget(claim, records) if told else "",
        "rules": ruled(claim, records) if claim.rules and not weighing.too_few(claim, records) else [],
        "finding": weighing.told_finding(claim, study) if claim.finding else "",
    }


def ruled(claim: Claim, records: measured.Records) -> list[str]:
    """What became of each rule of a claim, in words."""
    weak = set(weighing.beaten_by_trivial(claim, records))
    enough = f"{claim.enough} of these {len(claim.rules)} {'is' if claim.enough == 1 else 'are'} enough."
    lines = [enough] if claim.enough else []
    for rule in claim.rules:
        void = weak & set(rules.names(rules.parse(rule, claim.ours), claim.ours))
        answer = "not counted" if void else ANSWERS[weighing.truth(rule, claim.ours, records)]
        lines.append(f"{_capital(rules.spoken(rule, claim.ours))}: {answer}.")
    return lines


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
