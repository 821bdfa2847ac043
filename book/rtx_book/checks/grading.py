"""Grading: every check of a chapter is put to a notebook, whatever the notebook itself calls.

``RTX_GRADING=1`` grades on the numbers of the book, ``RTX_GRADING=2`` and so on on others, which no reader has seen.
"""

import ast
import contextlib
import importlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from rtx_book.checks.answers import grading, limited

Answer = tuple[list[ast.stmt], ast.expr]
"""The statements that an answer needs, and what is put to the check."""


def seeds() -> list[int]:
    """From which an assignment's tests draw: two that everybody has, and one more for each ``RTX_GRADING`` above 1."""
    return [0, 1, *([grading()] if grading() > 1 else [])]


def checks_of(chapter: str) -> list[str]:
    """The checks of a chapter by name."""
    return [name for name in vars(importlib.import_module(f"rtx_book.checks.{chapter}")) if name.startswith("check_")]


def graded(chapter: str, notebook: Path, **numbers: Mapping[str, Any]) -> Callable[[str], None]:
    """For a file of pytest: a test for each check of a chapter, on the answers in a notebook.

    ``numbers`` are those of another edition, by check and name.
    """
    import pytest  # which a reader need not have

    os.environ.setdefault("RTX_GRADING", "1")
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    answers = answers_of("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")

    @pytest.mark.parametrize("name", checks_of(chapter))
    def test(name: str) -> None:
        grade(chapter, name, answers, **numbers.get(name, {}))

    return test


def answers_of(sources: Iterable[str]) -> dict[str, Answer]:
    """What a notebook's cells hand to their checks, by the name of the check.

    An answer comes with its own cell, or with the one before where the check has a cell for itself, and with all that
    the cells before it import and define.
    """
    before: list[ast.stmt] = []
    last: list[ast.stmt] = []
    answers: dict[str, Answer] = {}
    for source in sources:
        with contextlib.suppress(SyntaxError):  # of a cell that is somebody's try
            body = ast.parse(TransformerManager().transform_cell(source)).body
            for statement, node in ((one, node) for one in body for node in ast.walk(one)):
                if isinstance(node, ast.Call) and (name := ast.unparse(node.func)).startswith("checks.check_"):
                    own = [one for one in body if one is not statement] or last
                    answers[name.removeprefix("checks.")] = ([*before, *own], node.args[0])
            last = body
            before += [one for one in body if isinstance(one, ast.Import | ast.ImportFrom | ast.FunctionDef)]
    return answers


def grade(chapter: str, name: str, answers: dict[str, Answer], **numbers: Any) -> None:
    """Put an answer to its check, with the numbers of another edition where it had some.

    Raises
    ------
    AssertionError
        As the check does, and if no cell calls it.
    """
    check = getattr(importlib.import_module(f"rtx_book.checks.{chapter}"), name)
    assert name in answers, f"no cell calls checks.{name}: the answer, or its cell, is missing"
    statements, given = answers[name]
    names: dict[str, object] = {}
    with limited():
        for one in statements:
            with contextlib.suppress(NameError):  # of a definition that needs what the chapter has computed
                exec(compile(ast.Module([one], []), name, "exec"), names)
        answer = eval(compile(ast.Expression(given), name, "eval"), names)
    check(answer, **numbers)
