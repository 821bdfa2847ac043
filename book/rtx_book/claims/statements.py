"""Sentences of the book about its records, and the rules that must be true for them: ``book/statements.yml``."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rtx_book.paths import cells_of
from rtx_book.records import measured, rules
from rtx_book.records.rules import read_entries
from rtx_book.records.seeds import MIN_SEEDS, varies

TRIAL = "rate-"  # how the names of trials of rates begin: they have one seed, and the sentence has to say so


@dataclass(frozen=True)
class Statement:
    """One entry: a part of the text of a ``chapter`` or of a ``page`` of the book, and what must be true for it."""

    says: str
    ours: Mapping[str, str] = field(default_factory=dict)
    rules: Sequence[str] = ()
    chapter: str | None = None
    page: str | None = None


def read_statements(path: Path) -> list[Statement]:
    """The statements of a file.

    Raises
    ------
    ValueError
        Naming the entry that is not one by its place and words, and why.
    """
    found = []
    for name, statement in read_entries(path, Statement, "statement", ("says", "ours", "rules")):
        if bool(statement.chapter) == bool(statement.page):
            raise ValueError(f"{name} ({statement.says!r}): it must name a chapter or a page, one of them")
        found.append(statement)
    return found


def text_of(statement: Statement, root: Path) -> str:
    """What the page of a statement says, cells apart by an empty line: its Markdown and the strings of its code.

    A figure's title, and a sentence that stands under a table, are typed in code.
    """
    if statement.page:
        return (root / "book" / f"{statement.page}.md").read_text(encoding="utf-8")
    cells = cells_of(root, str(statement.chapter))
    return "\n\n".join(text for kind, own in cells for text in ([own] if kind == "markdown" else strings(own)))


def strings(code: str) -> list[str]:
    """The strings typed in Python, those that stand one behind the other as one."""
    nodes = ast.walk(ast.parse(code))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def faults(statement: Statement, root: Path, records: measured.Records) -> list[str]:
    """What is wrong with a statement: it does not stand in its page, or the records do not bear it out.

    Parameters
    ----------
    statement
        The entry.
    root
        The checkout, with ``notebooks`` and ``book``.
    records
        The runs by recipe.

    Returns
    -------
    list[str]
        A line for each fault, none if all is well.
    """
    name = statement.chapter or statement.page
    try:
        text = text_of(statement, root)
    except FileNotFoundError:
        return [f"there is no {name}"]
    there = " ".join(statement.says.split()) in " ".join(text.split())  # wherever the lines are broken
    found = [] if there else [f"{name} does not say: {statement.says}"]
    for path in statement.ours.values():
        try:
            fixed = not varies(records[measured.split(path, records)[0]][0])
            enough = len(measured.series(path, records)) >= MIN_SEEDS or path.startswith(TRIAL) or fixed
            if not enough and not path.partition(".")[2].startswith("baselines."):
                found.append(f"{name}, {statement.says!r}: fewer than {MIN_SEEDS} runs: {path}")
        except ValueError as error:
            return [*found, f"{name}, {statement.says!r}: {error}"]
    return found + [
        f"{name}, {statement.says!r}: not true of the records: {rule}"
        for rule in statement.rules
        if rules.truth(rule, statement.ours, records) is not True
    ]
