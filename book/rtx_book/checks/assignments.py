"""Chapters as assignments: ``python -m rtx_book.checks.assignments FOLDER SEED gates attention``.

It writes ``FOLDER/source/gates/gates.ipynb`` for nbgrader and ``FOLDER/otter/gates.ipynb`` for otter-grader, each with
sample solutions and hidden tests in that program's marks, and a file of pytest beside both. What a student may not see
they take out themselves: ``nbgrader generate_assignment gates``, ``otter assign --no-pdfs otter/gates.ipynb gates``.
Exercises whose answer is one number are asked with other numbers than the book's, which follow from the seed.
"""

import json
import random
import re
import sys
from pathlib import Path
from typing import Any

from rtx_book.checks.answers import numbers, worked
from rtx_book.paths import PACKAGE, texts

Cell = dict[str, Any]

CALL = re.compile(r"^(?:if .* is None:\n.*\nelse:\n)?\s*checks\.(check_\w+)\(((?:(?!  # ).)*)\)(?:  # .*)?$", re.M)
FORMS = texts("checks/assignments.yml")


def numbers_of(chapter: str, seed: int) -> dict[str, dict[str, Any]]:
    """Other numbers than the book's by check and name, for the exercises that have some."""
    drawn, there = random.Random(f"{chapter} {seed}"), numbers().get(chapter, {})
    vary = {check: one["vary"] for check, one in there.items() if "vary" in one}
    return {check: {name: drawn.choice(own[1:]) for name, own in choices.items()} for check, choices in vary.items()}


def _asked(one: dict[str, Any], told: dict[str, Any]) -> tuple[Cell, str]:
    """The question with other numbers, and its answer as an expression."""
    text = f"**Your numbers.** In this edition the answer is {worked(one, **told)[2](one['asks'])}."
    answer = re.sub(rf"\b({'|'.join(told)})\b", lambda name: repr(told[name[0]]), str(one["right"]))
    return {"cell_type": "markdown", "metadata": {}, "source": text}, answer


def assignment(chapter: str, seed: int, notebook: dict[str, Any], otter: bool = False) -> dict[str, Any]:
    """A chapter's notebook without its fields and folds, each exercise as an answer and its tests."""
    text = (PACKAGE / "checks" / "solutions" / f"{chapter}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)
    solutions = {found[1]: (block[: found.start()], found[2]) for block in blocks if (found := CALL.search(block))}
    other = numbers_of(chapter, seed)
    cells = [_raw("ASSIGNMENT CONFIG\nexport_cell: false\ntests:\n  ok_format: false")] if otter else []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        found = CALL.search(source) if "exercise" in cell["metadata"].get("tags", []) else None
        if found:
            check, answer = found.groups()
            made, given = solutions[check]
            if told := other.get(check, {}):
                asked, given = _asked(numbers()[chapter][check], told)
                made = "import math\n\n"
                cells.append(asked)
            solved = f"### BEGIN SOLUTION\n{made}{answer} = {given}\n### END SOLUTION"
            own = "".join(f", {name}={value!r}" for name, value in told.items())
            said = {"check": check, "answer": answer, "chapter": chapter, "seed": seed, "told": own}
            cells += (_otter if otter else _nbgrader)(cell, source[: found.start()] + solved, said)
        elif not re.search(r"^checks\.(?:solution|ask)\(", source, re.M):
            cells.append(cell | {"source": re.sub(r'^profile = "book"', 'profile = "smoke"', source)})
    return notebook | {"cells": [{"id": f"raw-{place}"} | cell for place, cell in enumerate(cells)]}


def _nbgrader(cell: Cell, solved: str, said: dict[str, Any]) -> list[Cell]:
    """The answer, and a locked test of one point."""
    cells = []
    for points, kind, source in ((0, "answer", solved), (1, "test", FORMS["nbgrader"].format(**said))):
        marks: Cell = {"grade": bool(points), "solution": not points, "locked": bool(points), "task": False}
        marks |= {"points": points, "schema_version": 3, "grade_id": f"{kind}-{said['check']}"}
        cells.append(cell | {"id": marks["grade_id"], "source": source, "metadata": {"nbgrader": marks}})
    return cells


def _otter(cell: Cell, solved: str, said: dict[str, Any]) -> list[Cell]:
    """The question with its answer, a public and a hidden test."""
    check = said["check"]
    form = FORMS["otter"]
    tests = [form.format(**said | {"seed": 1}, config=""), form.format(**said, config=FORMS["config"])]
    bare = [cell | {"id": f"{check}-{i}", "source": s, "metadata": {}} for i, s in enumerate((solved, *tests))]
    bare[0]["source"] = solved.replace("### ", "# ")
    opened = [_raw(f"BEGIN QUESTION\nname: {check}\npoints: 1"), _raw("BEGIN SOLUTION")]
    closed = [_raw("END TESTS"), _raw("END QUESTION")]
    return [*opened, bare[0], _raw("END SOLUTION"), _raw("BEGIN TESTS"), *bare[1:], *closed]


def _raw(text: str) -> Cell:
    return {"cell_type": "raw", "metadata": {}, "source": f"# {text}"}


if __name__ == "__main__":
    folder, seed, *chapters = sys.argv[1:]
    for chapter in chapters:
        notebook = json.loads((PACKAGE.parents[1] / "notebooks" / f"{chapter}.ipynb").read_text(encoding="utf-8"))
        for there in (Path(folder) / "source" / chapter, Path(folder) / "otter"):
            there.mkdir(parents=True, exist_ok=True)
            made = assignment(chapter, int(seed), notebook, there.name == "otter")
            text = json.dumps(made, indent=1, ensure_ascii=False)
            (there / f"{chapter}.ipynb").write_text(text, encoding="utf-8")
            text = FORMS["pytest"].format(chapter=chapter, numbers=numbers_of(chapter, int(seed)))
            (there / f"test_{chapter}.py").write_text(text, encoding="utf-8")
