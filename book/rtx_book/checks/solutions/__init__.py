"""Solutions of the exercises and the fields in which some are answered, a chapter in a text file beside this module.

A section bears the heading of its exercise and holds the solution, Python or a text; a block ``python field`` makes the
field. A notebook asks for them by number or name, so that its source holds neither a solution nor an answer.
"""

import ast
import contextlib
import functools
import io
import re
from collections.abc import Callable

from IPython.display import display

import __main__
from rtx_book.claims.claims import plain
from rtx_book.page.answer import SOLUTION, ask
from rtx_book.paths import solution_text

_FIELD = re.compile(r"^```python field\n(.*?)^```\n", re.M | re.S)


def of_chapter(module: str) -> tuple[Callable[[int | str], None], Callable[[int | str], None]]:
    """``solution`` and ``ask`` of the chapter whose checks are in ``module``."""
    chapter = module.rpartition(".")[2]
    return functools.partial(show_solution, chapter), functools.partial(show_field, chapter)


def show_solution(chapter: str, which: int | str) -> None:
    """Show the solution of an exercise in a fold, and put it to the check if it is code."""
    text = _FIELD.sub("", solution_text(chapter, which)).strip()
    code = text[10:-4] if text.startswith("```python\n") else ""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        _run(code)
    if code:
        text += f"\n\n```text\n{said.getvalue()}```"
    fold = f"<details><summary>Solution</summary>\n\n{text}\n\n</details>"
    display({"text/markdown": plain(fold), SOLUTION: {"code": code, "said": said.getvalue(), "fold": fold}}, raw=True)


def show_field(chapter: str, which: int | str) -> None:
    """Show the field for the answer of an exercise."""
    _run("".join(_FIELD.findall(solution_text(chapter, which))))


def _run(code: str) -> None:
    """Run code on the notebook's names, which stay as they are; an expression shows its value."""
    body = ast.Interactive(ast.parse(code).body)
    exec(compile(body, "<solution>", "single"), {**vars(__main__), "ask": ask})
