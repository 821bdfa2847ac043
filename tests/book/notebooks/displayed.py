"""Whether what a chapter draws reaches its reader. Each check takes a notebook and returns its faults, one text each.

Jupyter displays the value of a cell's last line, if that line is an expression, and what ``display`` is given. A figure
that is drawn anywhere else is lost, without a word.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from notebooks.structure import Notebook, code_cells, source

# What these return must be displayed.
DRAWS = {"show", "explorer", "film", "play", "slider", "attention_view", "race_explorer", "rank_explorer"}
DRAWS |= {"sortable_table"}
NUMBER = re.compile(r'\bid=\\*"f(\d+)-')  # of a figure, counted by rtx_lib.plots as they are drawn
PICTURES = re.compile(r"<svg|<iframe|<table|image/png|widget-view")
# A sentence that points at a figure which stands in the same section.
POINTS = re.compile(
    r"\b(?:the|this|next|each|every) (?:figure|film|slider|plot|chart)\b|\bmove the slider\b|\bpress \*play\*|"
    r"\b(?:drawn|figure|plot|film|picture) below\b",
    re.I,
)
ELSEWHERE = re.compile(r"\b(?:above|before|at the top|last|earlier|their|paper|paper's|chapter)\b|\bfigures? \d", re.I)


def _name(call: ast.AST) -> str | None:
    """The name of the function that a call calls, without what stands before the last dot."""
    if not isinstance(call, ast.Call):
        return None
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)


def _trees(notebook: Notebook) -> Iterator[tuple[int, str, ast.Module]]:
    """Number, text and syntax tree of every code cell that is plain Python."""
    for number, cell in enumerate(code_cells(notebook), start=1):
        try:
            yield number, source(cell), ast.parse(source(cell))
        except SyntaxError:  # a magic: another check's matter
            continue


def _drawers(trees: list[tuple[int, str, ast.Module]]) -> set[str]:
    """Names of the functions that return a figure, the notebook's own among them."""
    names, before = set(DRAWS), set()
    functions = [node for _, _, tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    while names != before:
        before = set(names)
        for function in functions:
            if any(isinstance(node, ast.Return) and _name(node.value) in names for node in ast.walk(function)):
                names.add(function.name)
    return names


def lost_figures(notebook: Notebook) -> list[str]:
    """Calls that draw a figure and neither display it nor hand it to something that does."""
    trees = list(_trees(notebook))
    drawers = _drawers(trees)
    faults: list[str] = []
    kept: dict[str, str] = {}  # names that hold a figure, and what is wrong if none of them is displayed
    seen: set[str] = set()
    for number, text, tree in trees:
        above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        last = tree.body[-1] if tree.body and not text.rstrip().endswith(";") else None
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and _fate(node, above, last, drawers) is None:
                seen.add(node.id)
            elif _name(node) in drawers:
                where = f"code cell {number}, line {node.lineno}: {_name(node)}(...)"
                fate = _fate(node, above, last, drawers)
                if isinstance(fate, list):
                    kept |= {name: f"{where} is kept as {name!r} and never displayed" for name in fate}
                elif fate:
                    faults.append(f"{where} {fate}")
    return faults + [fault for name, fault in kept.items() if name not in seen]


def _fate(node: ast.AST, above: Mapping[ast.AST, ast.AST], last: ast.AST | None, drawers: set[str]) -> Any:
    """What becomes of a figure: None if a reader sees it, the names that hold it, or what is wrong."""
    parent = above[node]
    while isinstance(parent, ast.IfExp | ast.Starred | ast.GeneratorExp | ast.ListComp | ast.List | ast.keyword):
        if isinstance(parent, ast.List | ast.ListComp) and isinstance(above[parent], ast.Expr):
            return "is in a list, which shows as a list"
        parent = above[parent]
    if isinstance(parent, ast.Call):
        return None if _name(parent) in drawers | {"display"} else f"is handed to {_name(parent)}()"
    if isinstance(parent, ast.Return | ast.Lambda):
        return None  # whoever calls the function has it
    if isinstance(parent, ast.Assign):
        return [target.id for target in parent.targets if isinstance(target, ast.Name)]
    if isinstance(parent, ast.Expr):
        return None if parent is last else "is not the value of the cell's last line"
    return f"is part of a {type(parent).__name__}, which does not display it"


def numbers_missing(executed: Notebook) -> list[str]:
    """Figures that were drawn while the notebook ran and are in none of its outputs."""
    outputs = [cell["outputs"] for cell in code_cells(executed)]
    text = json.dumps([outputs, executed["metadata"].get("widgets", {})])
    there = {int(number) for number in NUMBER.findall(text)}
    return [
        f"figure {number} of {max(there)} was drawn and is nowhere"
        for number in range(1, max(there, default=0))
        if number not in there
    ]


def text_without_figure(executed: Notebook) -> list[str]:
    """Sentences that speak of a figure of their section, where the section shows none."""
    faults = []
    for title, cells in _sections(executed):
        if any(PICTURES.search(json.dumps(cell["outputs"])) for cell in cells if cell["cell_type"] == "code"):
            continue
        text = " ".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(text.split())):
            if POINTS.search(sentence) and not ELSEWHERE.search(sentence):
                faults.append(f"{title}: no figure for {sentence[:100]!r}")
    return faults


def _sections(notebook: Notebook) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The cells from one heading of level 2 to the next, with its title; what stands before the first is "opening"."""
    title, cells = "opening", []
    for cell in notebook["cells"]:
        heading = re.search(r"^## +(.+)$", source(cell), flags=re.M) if cell["cell_type"] == "markdown" else None
        if heading:
            yield title, cells
            title, cells = heading[1], []
        cells.append(cell)
    yield title, cells
