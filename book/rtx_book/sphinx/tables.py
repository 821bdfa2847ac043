"""Tables as docutils nodes: a cell is a list of paragraphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from docutils import nodes


def paragraphs(lines: Iterable[str]) -> list[nodes.Node]:
    """A paragraph for each line."""
    return [nodes.paragraph("", line) for line in lines]


def line(*parts: nodes.Node) -> list[nodes.Node]:
    """One paragraph of links, marks and texts, whose quotation marks stay as they are."""
    return [nodes.paragraph("", "", *parts, support_smartquotes=False)]


def row(cells: Iterable[Sequence[nodes.Node]], **attributes: Any) -> nodes.row:
    """A row; ``attributes`` are those of the node, such as ``ids``."""
    return nodes.row("", *(nodes.entry("", *cell) for cell in cells), **attributes)


def table(head: Sequence[str | nodes.Node], rows: Iterable[nodes.row], name: str = "records") -> nodes.table:
    """A table with the class ``name``, under the words or marks of ``head``."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in head), cols=len(head))
    group += nodes.thead("", row(line(nodes.Text(one) if isinstance(one, str) else one) for one in head))
    group += nodes.tbody("", *rows)
    return nodes.table("", group, classes=[name])
