"""A table that the reader sorts and narrows, by mouse and by keyboard; without a script it is a plain table."""

import html
import itertools
import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from IPython.display import HTML, Markdown

from rtx_book.page.figure import in_page, scripted, scroll_box


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markdown:
    """A small table as Markdown, which Jupyter, Colab and the site show alike; ``|`` may not occur in a cell."""
    lines = [columns, ["---"] * len(columns), *rows]
    return Markdown("\n".join(f"| {' | '.join(map(str, line))} |" for line in lines))


def sortable_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], caption: str, *, note: str = "", choose: str | None = None
) -> HTML:
    """A table sorted by its column heads: first ascending, then descending; missing values stay last.

    It scrolls sideways inside its own box, where the first column, each row's name, stays in place.

    Parameters
    ----------
    columns
        The heads.
    rows
        Each of one cell per column. A cell is a text, a number, None where there is nothing, or a tuple (value
        to sort by, text) or (value, text, recipe), which the site links to the records of that. A column whose
        values are all numbers is sorted as numbers. A number from 1,000 on is written with separators: a year is
        better given as (1997, "1997").
    caption
        The table's name.
    note
        Line below, as HTML.
    choose
        The head of a column whose texts the reader chooses from, in the order in which they come. At first
        only the rows of the first are there, without this column; "all" brings back everything, as do paper and
        a page without scripts.
    """
    cells = [[_cell(cell) for cell in row] for row in rows]
    kinds = ["number" if _is_number([row[i][0] for row in cells]) else "text" for i in range(len(columns))]
    heads = "".join(
        f'<th scope="col" class="{kind}" aria-sort="none"><button type="button">{html.escape(name)}</button></th>'
        for name, kind in zip(columns, kinds, strict=True)
    )
    lines = ("".join(map(_write, row, kinds, itertools.count())) for row in cells)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    name = html.escape(caption)
    table = f"<table><caption>{name}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    by = None if choose is None else list(columns).index(choose, 1)
    return in_page(scroll_box(table, caption) + scripted("tables"), note, "table", choose=by)


def _cell(cell: Any) -> tuple[Any, str, str | None]:
    """A cell as what it is sorted by, its text and the recipe that it is of."""
    value, text, recipe = (*cell, None)[:3] if isinstance(cell, tuple) else (cell, None, None)
    if isinstance(value, float) and not math.isfinite(value):
        value = None
    if text is None:
        plain = isinstance(value, bool) or not _is_number([value])
        text = "–" if value is None else str(value) if plain else _number(value)
    return value, str(text), recipe


def _is_number(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(hasattr(value, "__float__") for value in known)


def _number(value: Any) -> str:
    """A whole number in full, another with six significant digits, both with separators: ``1,050``."""
    return f"{value:,}" if isinstance(value, Integral) else f"{float(value):,g}"


def _write(cell: tuple[Any, str, str | None], kind: str, column: int) -> str:
    """One cell: the first of a row is its head."""
    value, text, recipe = cell
    tag, scope = ("th", ' scope="row"') if column == 0 else ("td", "")
    sort = repr(float(value)) if kind == "number" and value is not None else str(value)
    key = "" if value is None else f' data-value="{html.escape(sort)}"'
    inner = html.escape(text)
    inner = inner if recipe is None else f'<span data-recipe="{html.escape(recipe)}">{inner}</span>'
    return f'<{tag}{scope} class="{kind}"{key}>{inner}</{tag}>'
