"""The part ``misconceptions``: by chapter and exercise what the checks say of usual slips, read where they say it."""

import re
from pathlib import Path
from typing import Any

from rtx_book.checks.answers import judged, numbers, worked
from rtx_book.paths import PACKAGE, chapters_of
from rtx_book.sphinx.ledger import title_of

SAID = re.compile(r'^ +(?:assert .+, )?"((?!the (?:function|answer|shape) must)(?:[^" ]+ ){3}[^"]+)"(?::|$)', re.M)
"""A slip of a mapping, or the whole message of an assert; what has fewer than four words only names a case."""


def slips(chapter: str) -> dict[str, list[str]]:
    """The sentences of a chapter's checks, by the name of the check."""
    text = (PACKAGE / "checks" / f"{chapter}.py").read_text(encoding="utf-8")
    _, *parts = re.split(r"^def (check_\w+)", text, flags=re.M)
    said = {name: [*dict.fromkeys(SAID.findall(body))] for name, body in zip(parts[::2], parts[1::2], strict=True)}
    if (table := re.search(r'judged\("(\w+)"', text)) and "judge(" in parts[-1]:
        wrong = {says: because for says, (holds, because) in judged(table[1]).items() if not holds}
        said[parts[-2]] = [f"{says} No: {because}" for says, because in wrong.items()]
    return said | {name: [*worked(one)[1]] for name, one in numbers().get(chapter, {}).items()}


def context(root: Path) -> dict[str, Any]:
    """The exercises of each chapter that has some, with what is said of their slips."""
    chapters = []
    there = {path.stem: path.read_text(encoding="utf-8") for path in PACKAGE.glob("checks/solutions/*.md")}
    for chapter in filter(there.get, chapters_of(root)):
        text, said = there[chapter], slips(chapter)
        asked = re.findall(r"^## (Exercise .+)\n(?:(?!## ).*\n)*?.*checks\.(check_\w+)", text, flags=re.M)
        chapters.append((chapter, title_of(chapter, root), [(title, said[name]) for title, name in asked]))
    return {"chapters": chapters}
