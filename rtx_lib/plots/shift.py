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
from rtx_lib.plots.shift_steps import (
    LETTERS,
    ROW_STEPS,
    SHIFT_STEPS,
    Cell,
    cell_name,
    padded_line,
    row_of,
    shifted_cells,
    step_facts,
)
from rtx_lib.plots.style import CYCLE, INK

_LEFT = 4.6  # the first column of both tables
_LIT = CYCLE[1]


def draw_shift(step: str = "masked", queries: int = 3, keys: int = 5) -> Figure:
    """One step of the relative shift: on top the table by distance, then the memory as a line, below the table by key.

    A cell is named by its query, a letter, and its distance, which also sets the strength of its colour. Hatched are
    the cells that no query needs: their key would come before the first. For frames:
    ``explorer(draw_shift, SHIFT_STEPS, "step", alt=describe_shift)``.

    Args:
        step: one of :data:`~rtx_lib.plots.shift_steps.SHIFT_STEPS`.
        queries: T, at least 2.
        keys: S = M + T.

    Raises:
        ValueError: if there is no such step, there are fewer keys than queries, or more than 24 cells in the line.
    """
    title, *told, _ = step_facts(step, queries, keys)
    at, start = SHIFT_STEPS.index(step), SHIFT_STEPS.index("first row")
    shown = 0 if at < start else row_of(step, queries) + 1 if step in ROW_STEPS else queries  # rows that have been read
    line, cells = padded_line(queries, keys), shifted_cells(queries, keys)
    middle, below = queries + 2.8, queries + 6.7
    wide, high = max(len(line), _LEFT + keys + 8.5), below + queries + 2.1
    fig, ax = plt.subplots(figsize=(5.8, 5.8 * (high - 0.7) / wide + 0.4))
    pen = _Pen(ax, keys - queries, hatched=at > 0, fontsize=min(12.5, 240 / wide))
    pen.headed("distance", range(keys - 1, -1, -1), 0)
    pen.headed("key", range(keys), below)
    for i in range(queries):
        pen.word(_LEFT - 1.7, i + 1, f"query {LETTERS[i]}", ha="right")
        pen.word(_LEFT - 0.8, below + i + 1, f"query {LETTERS[i]}, at {keys - queries + i}", ha="right")
    for i in range(queries):
        row = line[i * (keys + 1) : (i + 1) * (keys + 1)]
        for c, cell in enumerate(row[at < 2 :], at < 2):
            pen.cell(_LEFT - 1 + c, i + 1, cell)
    if at >= SHIFT_STEPS.index("in memory"):
        for c, cell in enumerate(line):
            pen.cell(c, middle, cell)
        for i in range(queries):
            pen.span(i * (keys + 1), keys + 1, middle - 0.85, f"row {LETTERS[i]}", -0.5, color=GREY, linewidth=1.5)
    if at >= SHIFT_STEPS.index("start dropped"):
        pen.strike((c, middle) for c in range(queries))
    if at >= SHIFT_STEPS.index("rows one shorter"):
        for i in range(queries):
            lit = step in ROW_STEPS and i == shown - 1
            look: dict[str, Any] = {"color": _LIT, "linewidth": 4} if lit else {"color": INK, "linewidth": 2}
            pen.span(queries + i * keys, keys, middle + 0.85, f"reading {i + 1}", 0.6, **look)
            skips = f"skips {queries - i}" + f" of row {LETTERS[i]}" * (keys * 5.8 / wide > 1.4)  # where it fits
            pen.word(queries + i * keys + (keys - 1) / 2, middle + 2.2, skips)
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if i < shown:
                pen.cell(_LEFT + j, below + i + 1, cell)
            elif step == "wanted" and j <= keys - queries + i:
                pen.ghost(_LEFT + j, below + i + 1, (i, keys - queries + i - j))
            else:
                pen.ghost(_LEFT + j, below + i + 1)
    if step in ROW_STEPS:
        pen.frame(queries + (shown - 1) * keys, keys, middle)
        pen.frame(_LEFT, keys, below + shown)
    if step == "masked":
        pen.strike((_LEFT + j, below + i + 1) for i in range(queries) for j in range(keys - queries + i + 1, keys))
    if step in ("by key", "masked"):
        pen.stairs(_LEFT + keys - queries + 0.5, below + 0.5, queries)
    pen.finish()
    for y, words in zip((0, below), told, strict=True):
        ax.text(_LEFT + keys + 0.1, y + 0.5, words, va="top", fontsize=11.5, linespacing=1.35)
    ax.set_title(title)
    ax.set(xlim=(-0.6, wide - 0.4), ylim=(high - 1.3, -0.6), aspect="equal")
    ax.set_axis_off()
    return fig


class _Pen:
    """Collects cells by their look, so that each look becomes one shape."""

    def __init__(self, ax: Axes, past: int, *, hatched: bool, fontsize: float) -> None:
        self.ax, self.past, self.hatched, self.fontsize = ax, past, hatched, fontsize
        self.tints: dict[int, list[tuple[float, float]]] = {}
        self.waste: list[tuple[float, float]] = []
        self.ghosts: list[tuple[float, float]] = []

    def word(self, x: float, y: float, text: str, **font: Any) -> None:
        look: dict[str, Any] = {"ha": "center", "va": "center_baseline", "fontsize": 11}
        self.ax.text(x, y, text, **look | font)

    def headed(self, name: str, numbers: Iterable[int], y: float) -> None:
        self.word(_LEFT - 1.7, y, name, ha="right", fontweight="bold")
        for c, number in enumerate(numbers):
            self.word(_LEFT + c, y, str(number), fontweight="bold")

    def cell(self, x: float, y: float, cell: Cell) -> None:
        if self.hatched and (cell is None or cell[1] > self.past + cell[0]):
            self.waste.append((x, y))
        else:
            self.tints.setdefault(-1 if cell is None else cell[1], []).append((x, y))
        self.word(x, y, cell_name(cell), fontsize=self.fontsize)

    def ghost(self, x: float, y: float, cell: Cell = None) -> None:
        self.ghosts.append((x, y))
        if cell:
            self.word(x, y, cell_name(cell), fontsize=self.fontsize)

    def span(self, first: float, count: int, y: float, text: str, side: float, **look: Any) -> None:
        """A bar along cells, with its name above or below."""
        self.ax.plot([first - 0.38, first + count - 0.62], [y, y], linestyle="-", solid_capstyle="butt", **look)
        self.word(first + (count - 1) / 2, y + side, text)

    def strike(self, places: Iterable[tuple[float, float]]) -> None:
        ends = [((x - 0.5, y - 0.5), (x + 0.5, y + 0.5), (np.nan, np.nan)) for x, y in places]
        self.ax.plot(*np.reshape(ends, (-1, 2)).T, color=INK, linewidth=1.6, linestyle="-")

    def frame(self, x: float, count: int, y: float) -> None:
        place = Rectangle((x - 0.5, y - 0.5), count, 1, facecolor="none", edgecolor=_LIT, linewidth=3.2, zorder=4)
        self.ax.add_patch(place)

    def stairs(self, x: float, y: float, steps: int) -> None:
        """The border behind each query's own position."""
        corners = [(x + i, y + i + side) for i in range(steps) for side in (0, 1)]
        self.ax.plot(*np.transpose(corners), color=INK, linewidth=3, linestyle="-")

    def finish(self) -> None:
        most = max(self.tints)
        for distance, places in self.tints.items():
            strength = 0.0 if distance < 0 else 0.68 - 0.56 * distance / max(most, 1)
            self._shape(places, facecolor=to_rgba(CYCLE[0], strength), edgecolor=GREY, linewidth=0.8)
        self._shape(self.waste, facecolor="none", edgecolor=GREY, linewidth=0.8)
        self._shape(self.waste, facecolor="none", edgecolor=GREY, linewidth=0, hatch="///", alpha=0.5)
        self._shape(self.ghosts, facecolor="none", edgecolor=GREY, linewidth=0.8, linestyle=(0, (1, 2)))

    def _shape(self, places: Sequence[tuple[float, float]], **look: Any) -> None:
        if places:
            square = cell_path(np.ones((1, 1)))
            path = Path.make_compound_path(*(square.transformed(Affine2D().translate(*place)) for place in places))
            self.ax.add_patch(PathPatch(path, zorder=1, **look))
