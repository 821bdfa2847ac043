"""Chapters as assignments of nbgrader: ``python -m rtx_book.checks.assignments FOLDER SEED gates attention``.

It writes ``FOLDER/source/gates/gates.ipynb`` with each sample solution and hidden test in nbgrader's marks, and beside
it a file of pytest. ``nbgrader generate_assignment gates`` takes out what no student may see.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

from rtx_book.paths import PACKAGE

CALL = re.compile(r"^(?:if .* is None:\n.*\nelse:\n)?\s*checks\.(check_\w+)\(((?:(?!  # ).)*)\)(?:  # .*)?$", re.M)
TEST = """checks.{check}({answer})
### BEGIN HIDDEN TESTS
import os

os.environ["RTX_GRADING"] = "{seed}"
checks.{check}({answer})
### END HIDDEN TESTS"""
PYTEST = """from pathlib import Path

from rtx_book.checks.grading import graded

test_{chapter} = graded("{chapter}", Path(__file__).with_name("{chapter}.ipynb"))
"""


def assignment(chapter: str, seed: int, notebook: dict[str, Any]) -> dict[str, Any]:
    """A chapter's notebook without its fields and folds, each exercise as an answer and a test."""
    text = (PACKAGE / "checks" / "solutions" / f"{chapter}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)
    solutions = {found[1]: (block[: found.start()], found[2]) for block in blocks if (found := CALL.search(block))}
    cells: list[dict[str, Any]] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        found = CALL.search(source)
        if "exercise" in cell["metadata"].get("tags", []) and found:
            check, answer = found.groups()
            made, given = solutions[check]
            solved = f"### BEGIN SOLUTION\n{made}{answer} = {given}\n### END SOLUTION"
            cells.append(_cell(cell, f"answer-{check}", f"{source[: found.start()]}{solved}", 0))
            cells.append(_cell(cell, f"test-{check}", TEST.format(check=check, answer=answer, seed=seed), 1))
        elif not re.match(r"checks\.(?:solution|ask)\(", source):
            quick = re.sub(r'^profile = "book"', 'profile = "smoke"', source)
            cells.append(cell | {"source": quick})
    return notebook | {"cells": cells}


def _cell(cell: dict[str, Any], name: str, source: str, points: int) -> dict[str, Any]:
    """A cell of an exercise as nbgrader marks it: an answer to be written, or a test that gives points."""
    marks: dict[str, Any] = {
        "grade": points > 0,
        "solution": not points,
        "locked": points > 0,
        "task": False,
        "schema_version": 3,
    }
    marks |= {"grade_id": name} | ({"points": points} if points else {})
    return cell | {"id": name, "source": source, "metadata": {"nbgrader": marks}}


if __name__ == "__main__":
    folder, seed, *chapters = sys.argv[1:]
    for chapter in chapters:
        notebook = json.loads((PACKAGE.parents[1] / "notebooks" / f"{chapter}.ipynb").read_text(encoding="utf-8"))
        (there := Path(folder) / "source" / chapter).mkdir(parents=True, exist_ok=True)
        made = json.dumps(assignment(chapter, int(seed), notebook), indent=1, ensure_ascii=False)
        (there / f"{chapter}.ipynb").write_text(made, encoding="utf-8")
        (there / f"test_{chapter}.py").write_text(PYTEST.format(chapter=chapter), encoding="utf-8")
