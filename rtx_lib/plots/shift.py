"""The shift of Transformer-XL cell by cell: how scores by distance become scores by key without an index.

The terms with R are computed once for each distance. A column of zeros in front, and the same memory read in rows one
shorter, and every score stands at its key (Dai et al. 2019, appendix B).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.transforms import Affine2D

from rtx_lib.plots.positions import GREY, cell_path
from rtx_lib.plots.style import CYCLE, INK

Cell = tuple[int, int] | None
"""What a cell holds: (query, distance), or None for a zero."""

_STEPS: dict[str, tuple[str, str, str]] = {  # step: (title, what is written next to the cells, description)
    "by distance": (
        "computed: one column for each distance",
        "a{first}: query a meets\ndistance {first}",
        "A table of {T} rows, queries {names}, and {S} columns, the distances from {first} down to 0. The same "
        "distances serve every query.",
    ),
    "wanted": (
        "wanted: one column for each key",
        "hatched: further back\nthan the first key\nrow a has to go {most} left,\nthe last row stays",
        "Below, the table that is wanted: a column for each key. Query a stands at position {M}, so key 0 is {M} "
        "before it. Row a has to move by {most} to the left, every next row by one less, the last not at all.",
    ),
    "zero column": (
        "a column of zeros is put in front",
        "rows of {S} become\nrows of {wide}",
        "A zero is put in front of every row, so that the rows hold {wide} cells instead of {S}.",
    ),
    "in memory": (
        "in memory the rows follow one another",
        "nothing moves: the same\n{cells} numbers in a line",
        "The {T} rows of {wide} cells in one line of {cells}, as they lie in memory.",
    ),
    "start dropped": (
        "the first {T} numbers are left out",
        "as many as there are rows,\nand {left} = {T} × {S} are left",
        "The first {T} cells of the line are crossed out: {dropped}. {left} are left, which is {T} rows of {S}.",
    ),
    "rows one shorter": (
        "the same memory is read in rows of {S}, not {wide}",
        "each reading begins\none cell earlier\nin its row",
        "What is left of the line is cut after every {S} cells, while the rows in memory are {wide} long. Each reading "
        "therefore begins one cell earlier in its row than the one before: behind {skips} cells.",
    ),
    "first row": ("row a", "", ""),
    "second row": ("row b", "", ""),
    "last row": ("row {last}", "", ""),
    "by key": (
        "every score stands at its key",
        "along a diagonal:\none distance,\n$d = {M} + i - j$",
        "Columns are keys now. Up to its own position, query i finds at key j the distance {M} + i - j: the same "
        "number along each diagonal.",
    ),
    "masked": (
        "what lies above the diagonal is masked",
        "there a key comes after\nits query: zeros, and\ncells of the next row",
        "Above the diagonal, where a key comes after its query, stands what followed in memory: {garbage}. "
        "It means nothing, and the causal mask hides it.",
    ),
}
SHIFT_STEPS = tuple(_STEPS)
"""The steps of :func:`draw_shift` in order."""

_ROWS = ("first row", "second row", "last row")
_LETTERS = "abcdefghijkl"
_MOST = 24  # cells in one line
_LEFT = 4.6  # the first column of both tables
_LIT = CYCLE[1]


def _line(queries: int, keys: int) -> list[Cell]:
    """The padded table as it lies in memory: T rows of S + 1 cells."""
    return [cell for i in range(queries) for cell in (None, *((i, d) for d in range(keys - 1, -1, -1)))]


def shifted_cells(queries: int, keys: int) -> list[list[Cell]]:
    """Which score stands where after the shift, found by shifting names instead of numbers.

    Args:
        queries: T.
        keys: S = M + T.

    Returns:
        T rows of S cells: (query, distance), or None for a zero that was put in front. Up to its own position, j at
        most M + i, query i has at key j the distance M + i - j; beyond it stands what a mask has to hide.

    Raises:
        ValueError: if ``queries`` is below 1 or there are fewer keys than queries.
    """
    if not 1 <= queries <= keys:
        raise ValueError(f"queries must be from 1 to keys = {keys}, was {queries}")
    left = _line(queries, keys)[queries:]
    return [left[i * keys : (i + 1) * keys] for i in range(queries)]


def _name(cell: Cell) -> str:
    return "0" if cell is None else f"{_LETTERS[cell[0]]}{cell[1]}"


def _facts(step: str, queries: int, keys: int) -> tuple[str, str, str]:
    """Title, words and description of a step, with the numbers filled in."""
    if step not in _STEPS:
        raise ValueError(f"step must be one of {SHIFT_STEPS}, was {step!r}")
    if not 2 <= queries <= keys or queries * (keys + 1) > _MOST:
        raise ValueError(
            f"queries must be from 2 to keys, and queries x (keys + 1) at most {_MOST}, were {queries} and {keys}"
        )
    line, cells, past = _line(queries, keys), shifted_cells(queries, keys), keys - queries
    letters = _LETTERS[:queries]
    tails = [[_name(cell) for cell in row[past + i + 1 :]] for i, row in enumerate(cells[:-1])]
    garbage = [f"{_and(tail)} in row {letter}" for tail, letter in zip(tails, letters, strict=False)]
    words = {
        "T": queries, "S": keys, "M": past, "wide": keys + 1, "first": keys - 1, "most": queries - 1,
        "names": _and(letters), "cells": len(line), "left": queries * keys, "last": letters[-1],
        "dropped": _and([_name(c) for c in line[:queries]]), "garbage": _and(garbage),
        "skips": _and([str(queries - i) for i in range(queries)]),
    }  # fmt: skip
    if step in _ROWS:
        return _row_facts(_row(step, queries), cells, past)
    title, told, described = (text.format(**words) for text in _STEPS[step])
    return title, told, described


def _row(step: str, queries: int) -> int:
    return queries - 1 if step == "last row" else _ROWS.index(step)


def _row_facts(i: int, cells: Sequence[Sequence[Cell]], past: int) -> tuple[str, str, str]:
    queries, letter = len(cells), _LETTERS[i]
    moved, tail = queries - 1 - i, [_name(cell) for cell in cells[i][past + i + 1 :]]
    read = ", ".join(_name(cell) for cell in cells[i])
    title = f"row {letter} moves {moved} to the left" if moved else f"row {letter} stays"
    begins = f"{letter}{past + i}, at distance {past + i} = key 0"
    told = f"begins with {letter}{past + i}:\nkey 0 is {past + i} before {letter}"
    described = f"Reading {i + 1} of the line is {read}. It begins with {begins}, so row {letter} "
    described += f"has moved by {moved} to the left." if moved else "has not moved."
    if tail:
        told += f"\nends with {_and(tail)}:\nthe next row has begun"
        described += f" It ends with {_and(tail)}, with which the next row begins."
    return title, told, described


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def describe_shift(step: str, queries: int = 3, keys: int = 5) -> str:
    """What :func:`draw_shift` shows at this step, in words.

    Raises:
        ValueError: as :func:`draw_shift`.
    """
    return _facts(step, queries, keys)[2]


def draw_shift(step: str = "masked", queries: int = 3, keys: int = 5) -> Figure:
    """One step of the relative shift: on top the table by distance, then the memory as a line, below the table by key.

    A cell is named by its query, a letter, and its distance, which also sets the strength of its colour. Hatched are
    the cells that no query needs: their key would come before the first. For frames:
    ``explorer(draw_shift, SHIFT_STEPS, "step", alt=describe_shift)``.

    Args:
        step: one of :data:`SHIFT_STEPS`.
        queries: T, at least 2.
        keys: S = M + T.

    Raises:
        ValueError: if there is no such step, there are fewer keys than queries, or more than 24 cells in the line.
    """
    title, told, _ = _facts(step, queries, keys)
    at, start = SHIFT_STEPS.index(step), SHIFT_STEPS.index("first row")
    shown = 0 if at < start else _row(step, queries) + 1 if step in _ROWS else queries  # rows that have been read
    line, cells = _line(queries, keys), shifted_cells(queries, keys)
    middle, below = queries + 3.0, queries + 6.6
    wide, high = max(len(line), _LEFT + keys + 8.5), below + queries + 2.1
    fig, ax = plt.subplots(figsize=(5.8, 5.8 * high / wide + 0.4))
    pen = _Pen(ax, keys - queries, hatched=at > 0)
    pen.headed("distance", range(keys - 1, -1, -1), 0)
    pen.headed("key", range(keys), below)
    for i in range(queries):
        pen.word(_LEFT - 1.7, i + 1, f"query {_LETTERS[i]}", ha="right")
        pen.word(_LEFT - 0.8, below + i + 1, f"query {_LETTERS[i]}, at {keys - queries + i}", ha="right")
    for i in range(queries):
        row = line[i * (keys + 1) : (i + 1) * (keys + 1)]
        for c, cell in enumerate(row[at < 2 :], at < 2):
            pen.cell(_LEFT - 1 + c, i + 1, cell)
    if at >= SHIFT_STEPS.index("in memory"):
        for c, cell in enumerate(line):
            pen.cell(c, middle, cell)
        for i in range(queries):
            pen.span(i * (keys + 1), keys + 1, middle - 0.85, f"row {_LETTERS[i]}", -0.5, color=GREY, linewidth=1.5)
    if at >= SHIFT_STEPS.index("start dropped"):
        pen.strike((c, middle) for c in range(queries))
    if at >= SHIFT_STEPS.index("rows one shorter"):
        for i in range(queries):
            lit = step in _ROWS and i == shown - 1
            look: dict[str, Any] = {"color": _LIT, "linewidth": 4} if lit else {"color": INK, "linewidth": 2}
            pen.span(queries + i * keys, keys, middle + 0.85, f"reading {i + 1}", 0.6, **look)
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if i < shown:
                pen.cell(_LEFT + j, below + i + 1, cell)
            elif step == "wanted" and j <= keys - queries + i:
                pen.cell(_LEFT + j, below + i + 1, (i, keys - queries + i - j))
            else:
                pen.ghost(_LEFT + j, below + i + 1)
    if step in _ROWS:
        pen.frame(queries + (shown - 1) * keys, keys, middle)
        pen.frame(_LEFT, keys, below + shown)
    if step == "masked":
        pen.strike((_LEFT + j, below + i + 1) for i in range(queries) for j in range(keys - queries + i + 1, keys))
    pen.finish()
    side = below if shown or step == "wanted" else 0
    ax.text(_LEFT + keys + 0.1, side + 0.5, told, va="top", fontsize=11.5, linespacing=1.35)
    ax.set_title(title)
    ax.set(xlim=(-0.6, wide - 0.4), ylim=(high - 1.3, -0.8), aspect="equal")
    ax.set_axis_off()
    return fig


class _Pen:
    """Collects cells by their look, so that each look becomes one shape."""

    def __init__(self, ax: Axes, past: int, *, hatched: bool) -> None:
        self.ax, self.past, self.hatched = ax, past, hatched
        self.tints: dict[int, list[tuple[float, float]]] = {}
        self.waste: list[tuple[float, float]] = []
        self.ghosts: list[tuple[float, float]] = []

    def word(self, x: float, y: float, text: str, **font: Any) -> None:
        look: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": 11}
        self.ax.text(x, y, text, **look | font)

    def headed(self, name: str, numbers: Iterable[int], y: float) -> None:
        self.word(_LEFT - 1.7, y, name, ha="right", fontweight="bold")
        for c, number in enumerate(numbers):
            self.word(_LEFT + c, y + 0.1, str(number), fontweight="bold")

    def cell(self, x: float, y: float, cell: Cell) -> None:
        if self.hatched and (cell is None or cell[1] > self.past + cell[0]):
            self.waste.append((x, y))
        else:
            self.tints.setdefault(-1 if cell is None else cell[1], []).append((x, y))
        self.word(x, y, _name(cell))

    def ghost(self, x: float, y: float) -> None:
        self.ghosts.append((x, y))

    def span(self, first: float, count: int, y: float, text: str, side: float, **look: Any) -> None:
        """A bar along cells, with its name above or below."""
        self.ax.plot([first - 0.38, first + count - 0.62], [y, y], linestyle="-", solid_capstyle="butt", **look)
        self.word(first + (count - 1) / 2, y + side, text)

    def strike(self, places: Iterable[tuple[float, float]]) -> None:
        ends = [((x - 0.5, y + 0.5), (x + 0.5, y - 0.5), (np.nan, np.nan)) for x, y in places]
        self.ax.plot(*np.reshape(ends, (-1, 2)).T, color=INK, linewidth=1.8, linestyle="-")

    def frame(self, x: float, count: int, y: float) -> None:
        place = Rectangle((x - 0.5, y - 0.5), count, 1, facecolor="none", edgecolor=_LIT, linewidth=3.2, zorder=4)
        self.ax.add_patch(place)

    def finish(self) -> None:
        most = max(self.tints)
        for distance, places in self.tints.items():
            strength = 0.0 if distance < 0 else 0.68 - 0.56 * distance / max(most, 1)
            self._shape(places, facecolor=to_rgba(CYCLE[0], strength), edgecolor=GREY, linewidth=0.8)
        self._shape(self.waste, facecolor="none", edgecolor=GREY, linewidth=0.8)
        self._shape(self.waste, facecolor="none", edgecolor=GREY, linewidth=0, hatch="////", alpha=0.45)
        self._shape(self.ghosts, facecolor="none", edgecolor=GREY, linewidth=0.8, linestyle=(0, (1, 2)))

    def _shape(self, places: Sequence[tuple[float, float]], **look: Any) -> None:
        if places:
            square = cell_path(np.ones((1, 1)))
            path = Path.make_compound_path(*(square.transformed(Affine2D().translate(*place)) for place in places))
            self.ax.add_patch(PathPatch(path, zorder=1, **look))
