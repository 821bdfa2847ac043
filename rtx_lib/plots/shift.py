"""The shift of Transformer-XL cell by cell: how scores by distance become scores by key without an index.

The terms with R are computed once for each distance. A column of zeros in front, and the same memory read in rows one
shorter, and every score stands at its key (Dai et al. 2019, appendix B).
"""

from collections.abc import Iterable
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rtx_lib.plots import diagram
from rtx_lib.plots.diagram import Point, blank, links
from rtx_lib.plots.grids import fill
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
from rtx_lib.plots.style import CYCLE, GREY, INK

_LEFT = 4.6  # the first column of both tables
_LIT = CYCLE[1]
_THIN: dict[str, Any] = {"facecolor": "none", "edgecolor": GREY, "linewidth": 0.8}


def draw_shift(step: str = "masked", queries: int = 3, keys: int = 5) -> Figure:
    """One step of the relative shift: on top the table by distance, then the memory as a line, below the table by key.

    A cell is named by its query, a letter, and its distance, which also sets the strength of its colour. Hatched are
    the cells that no query needs: their key would come before the first. For frames:
    ``explorer(draw_shift, SHIFT_STEPS, "step", alt=describe_shift)``.

    Parameters
    ----------
    step
        One of :data:`~rtx_lib.plots.shift_steps.SHIFT_STEPS`.
    queries
        T, at least 2.
    keys
        S = M + T.

    Raises
    ------
    ValueError
        If there is no such step, there are fewer keys than queries, or more than 24 cells in the line.
    """
    title, *told, _ = step_facts(step, queries, keys)
    at, past, line = SHIFT_STEPS.index(step), keys - queries, padded_line(queries, keys)
    middle, below = queries + 2.8, queries + 6.7
    wide, high = max(len(line), _LEFT + keys + 8.5), below + queries + 2.1
    fig, ax = plt.subplots(figsize=(5.8, 5.8 * (high - 0.7) / wide + 0.4))
    tiles = _Tiles(past, waste=at > 0)
    for y, name, numbers in ((0, "distance", range(keys - 1, -1, -1)), (below, "key", range(keys))):
        _word(ax, _LEFT - 1.7, y, name, ha="right", fontweight="bold")
        for c, number in enumerate(numbers):
            _word(ax, _LEFT + c, y, str(number), fontweight="bold")
    for i in range(queries):
        _word(ax, _LEFT - 1.7, i + 1, f"query {LETTERS[i]}", ha="right")
        _word(ax, _LEFT - 0.8, below + i + 1, f"query {LETTERS[i]}, at {past + i}", ha="right")
        for c in range(at < 2, keys + 1):  # the column of zeros comes later
            tiles.add(_LEFT - 1 + c, i + 1, line[i * (keys + 1) + c])
    if at >= SHIFT_STEPS.index("in memory"):
        _draw_memory(ax, tiles, step, queries, keys, middle, long=keys * 5.8 / wide > 1.4)
    _draw_keys(ax, tiles, step, queries, keys, below)
    tiles.draw(ax, min(12.5, 240 / wide))
    for y, words in zip((0, below), told, strict=True):
        ax.text(_LEFT + keys + 0.1, y + 0.5, words, va="top", fontsize=11.5, linespacing=1.35)
    blank(ax, (-0.6, wide - 0.4), (high - 1.3, -0.6), title=title)
    return fig


def _rows_read(step: str, queries: int) -> int:
    """How many rows of the table by key are there."""
    if step in ROW_STEPS:
        return row_of(step, queries) + 1
    return queries * (SHIFT_STEPS.index(step) > SHIFT_STEPS.index(ROW_STEPS[0]))


class _Tiles:
    """Collects cells by their look, so that each look becomes one shape."""

    def __init__(self, past: int, *, waste: bool) -> None:
        self.past, self.waste = past, waste
        self.names: list[tuple[Point, str]] = []
        self.places: dict[str | int, list[Point]] = {}

    def add(self, x: float, y: float, cell: Cell, *, ghost: bool = False) -> None:
        """A cell: a ghost, or waste that no query needs if there is any, or tinted by its distance."""
        needless = self.waste and (cell is None or cell[1] > self.past + cell[0])
        look = "ghost" if ghost else "waste" if needless else -1 if cell is None else cell[1]
        self.places.setdefault(look, []).append((x, y))
        if cell or not ghost:
            self.names.append(((x, y), cell_name(cell)))

    def draw(self, ax: Axes, fontsize: float) -> None:
        most = max(look for look in self.places if isinstance(look, int))
        for look, places in self.places.items():
            if isinstance(look, int):
                strength = 0.0 if look < 0 else 0.68 - 0.56 * look / max(most, 1)
                fill(ax, places, **_THIN | {"facecolor": to_rgba(CYCLE[0], strength)})
            else:
                fill(ax, places, **_THIN, linestyle=(0, (1, 2)) if look == "ghost" else "-")
        hatch: dict[str, Any] = {"linewidth": 0, "hatch": "///", "alpha": 0.5}
        fill(ax, self.places.get("waste", []), **_THIN | hatch)
        for (x, y), name in self.names:
            _word(ax, x, y, name, fontsize=fontsize)


def _draw_memory(ax: Axes, tiles: _Tiles, step: str, queries: int, keys: int, y: float, *, long: bool) -> None:
    """The line of cells, its rows as bars above it and what is read as bars below."""
    at, shown = SHIFT_STEPS.index(step), _rows_read(step, queries)
    for c, cell in enumerate(padded_line(queries, keys)):
        tiles.add(c, y, cell)
    for i, letter in enumerate(LETTERS[:queries]):
        _span(ax, i * (keys + 1), keys + 1, y - 0.85, f"row {letter}", -0.5, color=GREY, linewidth=1.5)
        if at >= SHIFT_STEPS.index("rows one shorter"):
            start, lit = queries + i * keys, step in ROW_STEPS and i == shown - 1
            look: dict[str, Any] = {"color": _LIT, "linewidth": 4} if lit else {"color": INK, "linewidth": 2}
            _span(ax, start, keys, y + 0.85, f"reading {i + 1}", 0.6, **look)
            skips = f"skips {queries - i}" + f" of row {letter}" * long  # where it fits
            _word(ax, start + (keys - 1) / 2, y + 2.2, skips)
    if at >= SHIFT_STEPS.index("start dropped"):
        _strike(ax, ((c, y) for c in range(queries)))
    if step in ROW_STEPS:
        _frame(ax, queries + (shown - 1) * keys, keys, y)


def _draw_keys(ax: Axes, tiles: _Tiles, step: str, queries: int, keys: int, y: float) -> None:
    """The table by key, as far as it is there."""
    past, shown = keys - queries, _rows_read(step, queries)
    for i, row in enumerate(shifted_cells(queries, keys)):
        for j, cell in enumerate(row):
            if i < shown:
                tiles.add(_LEFT + j, y + i + 1, cell)
            else:
                wanted = step == "wanted" and j <= past + i
                tiles.add(_LEFT + j, y + i + 1, (i, past + i - j) if wanted else None, ghost=True)
    if step in ROW_STEPS:
        _frame(ax, _LEFT, keys, y + shown)
    if step == "masked":
        _strike(ax, ((_LEFT + j, y + i + 1) for i in range(queries) for j in range(past + i + 1, keys)))
    if step in ("by key", "masked"):  # the border behind each query's own position
        corners = [(_LEFT + past + i + 0.5, y + i + side + 0.5) for i in range(queries) for side in (0, 1)]
        ax.plot(*zip(*corners, strict=True), color=INK, linewidth=3, linestyle="-")


def _word(ax: Axes, x: float, y: float, text: str, **font: Any) -> None:
    diagram.word(ax, x, y, text, **{"va": "center_baseline", "fontsize": 11} | font)


def _span(ax: Axes, first: float, count: int, y: float, text: str, side: float, **look: Any) -> None:
    """A bar along cells, with its name above or below."""
    ax.plot([first - 0.38, first + count - 0.62], [y, y], linestyle="-", solid_capstyle="butt", **look)
    _word(ax, first + (count - 1) / 2, y + side, text)


def _strike(ax: Axes, places: Iterable[Point]) -> None:
    ends = [((x - 0.5, y - 0.5), (x + 0.5, y + 0.5)) for x, y in places]
    links(ax, ends, color=INK, linewidth=1.6, solid_capstyle="projecting")


def _frame(ax: Axes, x: float, count: int, y: float) -> None:
    ax.add_patch(Rectangle((x - 0.5, y - 0.5), count, 1, **_THIN | {"edgecolor": _LIT, "linewidth": 3.2, "zorder": 4}))
