"""The shift of Transformer-XL cell by cell: how scores by distance become scores by key without an index.

The terms with R are computed once for each distance. A column of zeros in front, and the same memory read in rows one
shorter, and every score stands at its key (Dai et al. 2019, appendix B). The drawings are of 3 queries and 5 keys.
"""

from collections.abc import Iterable
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rtx_lib.plots import diagram
from rtx_lib.plots.diagram import Point, blank, links, look_up
from rtx_lib.plots.grids import fill
from rtx_lib.plots.style import CYCLE, GREY, INK

Cell = tuple[int, int] | None
"""What a cell holds: (query, distance), or None for a zero."""
Tile = tuple[float, float, Cell, bool]
"""A cell in its place, and whether it is a ghost, which is yet to come."""

_TITLES = {
    "by distance": "computed: one column for each distance",
    "wanted": "wanted: one column for each key",
    "zero column": "a column of zeros is put in front",
    "in memory": "in memory the rows follow one another",
    "start dropped": "the first 3 numbers are left out",
    "rows one shorter": "the same memory is read in rows of 5, not 6",
    "first row": "row a skips 0, a4 and a3, so it moves 2 to the left",
    "second row": "row b skips 0 and b4, so it moves 1 to the left",
    "last row": "row c skips 0, so it stays",
    "by key": "every score stands at its key",
    "masked": "above the diagonal stands garbage: mask it",
}
_ABOVE = {
    "by distance": "a4: query a meets\ndistance 4",
    "wanted": "hatched: no key stands\nso far back",
    "zero column": "rows of 5 become\nrows of 6",
    "in memory": "nothing moves: the same\n18 numbers in a line",
    "start dropped": "one for each row:\n18 − 3 = 15 = 3 × 5",
    "rows one shorter": "5 is one less than 6:\neach reading begins\none cell earlier in its row",
}
_BESIDE = {
    "wanted": "row a has to go 2 left,\nthe next row one less,\nthe last row stays",
    "first row": "begins with a2:\nkey 0 is 2 before it\nends with 0 and b4:\nthe next row has begun",
    "second row": "begins with b3:\nkey 0 is 3 before it\nends with 0:\nthe next row has begun",
    "last row": "begins with c4:\nkey 0 is 4 before it",
    "by key": "along each diagonal\none distance: $2 + i - j$\nfor row $i$ and key $j$",
    "masked": "there the key comes after\nthe query; what stands\nthere is what came next\nin memory",
}
_WORDS = {
    "by distance": "A table of 3 rows, queries a, b and c, and 5 columns, the distances from 4 down to 0. The same "
    "distances serve every query.",
    "wanted": "Below, the table that is wanted: a column for each key. Query a stands at position 2, so key 0 is 2 "
    "before it. Row a has to move by 2 to the left, every next row by one less, the last not at all.",
    "zero column": "A zero is put in front of every row, so that the rows hold 6 cells instead of 5.",
    "in memory": "The 3 rows of 6 cells in one line of 18, as they lie in memory.",
    "start dropped": "The first 3 cells of the line are crossed out: 0, a4 and a3. 15 are left, which is 3 rows of 5.",
    "rows one shorter": "What is left of the line is cut after every 5 cells, while the rows in memory are 6 long. "
    "Each reading therefore begins one cell earlier in its row than the one before: it skips 3, 2 and 1 cells.",
    "first row": "Reading 1 skips 0, a4 and a3 of row a, the zero and 2 more, so row a moves 2 to the left. It reads "
    "a2, a1, a0, 0, b4: the first is distance 2, which is where key 0 stands before query a. At its end, 0 and "
    "b4, the next row has already begun.",
    "second row": "Reading 2 skips 0 and b4 of row b, the zero and 1 more, so row b moves 1 to the left. It reads "
    "b3, b2, b1, b0, 0: the first is distance 3, which is where key 0 stands before query b. At its end, 0, the "
    "next row has already begun.",
    "last row": "Reading 3 skips 0 of row c, the zero, so row c stays. It reads c4, c3, c2, c1, c0: the first is "
    "distance 4, which is where key 0 stands before query c.",
    "by key": "Columns are keys now. Up to its own position, query i finds at key j the distance 2 + i - j: the same "
    "number along each diagonal.",
    "masked": "Above the diagonal, where a key comes after its query, stands what came next in memory: 0 and b4 in "
    "row a and 0 in row b. It means nothing, and the causal mask hides it.",
}
SHIFT_STEPS = tuple(_TITLES)
"""The steps of :func:`draw_shift` in order."""

_ROW_STEPS = ("first row", "second row", "last row")
_QUERIES, _KEYS, _LETTERS = 3, 5, "abc"
_PAST = _KEYS - _QUERIES
_WIDE, _LEFT = 18.1, 4.6  # of the drawing, and the first column of both tables
_MIDDLE, _BELOW = _QUERIES + 2.8, _QUERIES + 6.7  # heights of the line and of the table by key
_LIT = CYCLE[1]
_THIN: dict[str, Any] = {"facecolor": "none", "edgecolor": GREY, "linewidth": 0.8}


def _padded_line(queries: int, keys: int) -> list[Cell]:
    """The padded table as it lies in memory: T rows of S + 1 cells."""
    return [cell for i in range(queries) for cell in (None, *((i, d) for d in range(keys - 1, -1, -1)))]


def shifted_cells(queries: int, keys: int) -> list[list[Cell]]:
    """Which score stands where after the shift, found by shifting names instead of numbers.

    Parameters
    ----------
    queries
        T.
    keys
        S = M + T.

    Returns
    -------
    list[list[Cell]]
        T rows of S cells: (query, distance), or None for a zero that was put in front. Up to its own position, j at
        most M + i, query i has at key j the distance M + i - j; beyond it stands what a mask has to hide.

    Raises
    ------
    ValueError
        If ``queries`` is below 1 or there are fewer keys than queries.
    """
    if not 1 <= queries <= keys:
        raise ValueError(f"queries must be from 1 to keys = {keys}, got {queries}")
    left = _padded_line(queries, keys)[queries:]
    return [left[i * keys : (i + 1) * keys] for i in range(queries)]


def describe_shift(stage: str) -> str:
    """What :func:`draw_shift` shows at this stage, in words."""
    return look_up(stage, _WORDS)


def draw_shift(stage: str) -> Figure:
    """One stage of the relative shift: on top the table by distance, then the memory as a line, below the table by key.

    A cell is named by its query, a letter, and its distance, which also sets the strength of its colour. Hatched are
    the cells that no query needs: their key would come before the first.

    Raises
    ------
    ValueError
        If ``stage`` is not one of :data:`SHIFT_STEPS`.
    """
    title, told = look_up(stage, _TITLES), (_ABOVE.get(stage, ""), _BESIDE.get(stage, ""))
    at, line = SHIFT_STEPS.index(stage), _padded_line(_QUERIES, _KEYS)
    high = _BELOW + _QUERIES + 2.1
    fig, ax = plt.subplots(figsize=(5.8, 5.8 * (high - 0.7) / _WIDE + 0.4))
    tiles: list[Tile] = []
    for y, name, numbers in ((0, "distance", range(_KEYS - 1, -1, -1)), (_BELOW, "key", range(_KEYS))):
        _word(ax, _LEFT - 1.7, y, name, ha="right", fontweight="bold")
        for c, number in enumerate(numbers):
            _word(ax, _LEFT + c, y, str(number), fontweight="bold")
    for i, letter in enumerate(_LETTERS):
        _word(ax, _LEFT - 1.7, i + 1, f"query {letter}", ha="right")
        _word(ax, _LEFT - 0.8, _BELOW + i + 1, f"query {letter}, at {_PAST + i}", ha="right")
        for c in range(at < 2, _KEYS + 1):  # the column of zeros comes later
            tiles.append((_LEFT - 1 + c, i + 1, line[i * (_KEYS + 1) + c], False))
    if at >= SHIFT_STEPS.index("in memory"):
        _draw_memory(ax, tiles, stage, line)
    _draw_keys(ax, tiles, stage)
    _draw_tiles(ax, tiles, waste=at > 0)
    for y, words in zip((0, _BELOW), told, strict=True):
        ax.text(_LEFT + _KEYS + 0.1, y + 0.5, words, va="top", fontsize=12, linespacing=1.35)
    blank(ax, (-0.6, _WIDE - 0.4), (high - 1.3, -0.6), title=title)
    return fig


def _rows_read(step: str) -> int:
    """How many rows of the table by key are there."""
    return min(max(SHIFT_STEPS.index(step) - SHIFT_STEPS.index("rows one shorter"), 0), _QUERIES)


def _draw_tiles(ax: Axes, tiles: Iterable[Tile], *, waste: bool) -> None:
    """Each look as one shape: a ghost, waste that no query needs if there is any, or tinted by the distance."""
    places: dict[tuple[str, int], list[Point]] = {}
    for x, y, cell, ghost in tiles:
        kind = "ghost" if ghost else "score"
        if waste and not ghost and (cell is None or cell[1] > _PAST + cell[0]):
            kind = "waste"
        distance = -1 if cell is None or kind != "score" else cell[1]
        places.setdefault((kind, distance), []).append((x, y))
        if cell or not ghost:
            _word(ax, x, y, f"{_LETTERS[cell[0]]}{cell[1]}" if cell else "0", fontsize=12.5)
    for (kind, distance), own in places.items():
        strength = 0.0 if distance < 0 else 0.68 - 0.56 * distance / (_KEYS - 1)
        dash = (0, (1, 2)) if kind == "ghost" else "-"
        fill(ax, own, **_THIN | {"facecolor": to_rgba(CYCLE[0], strength)}, linestyle=dash)
    hatch: dict[str, Any] = {"linewidth": 0, "hatch": "///", "alpha": 0.5}
    fill(ax, places.get(("waste", -1), []), **_THIN | hatch)


def _draw_memory(ax: Axes, tiles: list[Tile], step: str, line: list[Cell]) -> None:
    """The line of cells, its rows as bars above it and what is read as bars below."""
    at, shown, y = SHIFT_STEPS.index(step), _rows_read(step), _MIDDLE
    tiles += [(c, y, cell, False) for c, cell in enumerate(line)]
    for i, letter in enumerate(_LETTERS):
        _span(ax, i * (_KEYS + 1), _KEYS + 1, y - 0.85, f"row {letter}", -0.5, color=GREY, linewidth=1.5)
        if at >= SHIFT_STEPS.index("rows one shorter"):
            start, lit = _QUERIES + i * _KEYS, step in _ROW_STEPS and i == shown - 1
            look: dict[str, Any] = {"color": _LIT, "linewidth": 4} if lit else {"color": INK, "linewidth": 2}
            _span(ax, start, _KEYS, y + 0.85, f"reading {i + 1}", 0.6, **look)
            _word(ax, start + (_KEYS - 1) / 2, y + 2.2, f"skips {_QUERIES - i} of row {letter}")
    if at >= SHIFT_STEPS.index("start dropped"):
        _strike(ax, ((c, y) for c in range(_QUERIES)))
    if step in _ROW_STEPS:
        _frame(ax, _QUERIES + (shown - 1) * _KEYS, y)


def _draw_keys(ax: Axes, tiles: list[Tile], step: str) -> None:
    """The table by key, as far as it is there."""
    shown = _rows_read(step)
    for i, row in enumerate(shifted_cells(_QUERIES, _KEYS)):
        for j, cell in enumerate(row):
            wanted = (i, _PAST + i - j) if step == "wanted" and j <= _PAST + i else None
            tiles.append((_LEFT + j, _BELOW + i + 1, cell if i < shown else wanted, i >= shown))
    if step in _ROW_STEPS:
        _frame(ax, _LEFT, _BELOW + shown)
    hidden = [(_LEFT + j, _BELOW + i + 1) for i in range(_QUERIES) for j in range(_PAST + i + 1, _KEYS)]
    _strike(ax, hidden if step == "masked" else [])
    if step in ("by key", "masked"):  # the border behind each query's own position
        corners = [(_LEFT + _PAST + i + 0.5, _BELOW + i + side + 0.5) for i in range(_QUERIES) for side in (0, 1)]
        ax.plot(*zip(*corners, strict=True), color=INK, linewidth=3, linestyle="-")


def _word(ax: Axes, x: float, y: float, text: str, **font: Any) -> None:
    diagram.word(ax, x, y, text, **{"va": "center_baseline", "fontsize": 12} | font)


def _span(ax: Axes, first: float, count: int, y: float, text: str, side: float, **look: Any) -> None:
    """A bar along cells, with its name above or below."""
    ax.plot([first - 0.38, first + count - 0.62], [y, y], linestyle="-", solid_capstyle="butt", **look)
    _word(ax, first + (count - 1) / 2, y + side, text)


def _strike(ax: Axes, places: Iterable[Point]) -> None:
    ends = [((x - 0.5, y - 0.5), (x + 0.5, y + 0.5)) for x, y in places]
    links(ax, ends, color=INK, linewidth=1.6, solid_capstyle="projecting")


def _frame(ax: Axes, x: float, y: float) -> None:
    ax.add_patch(Rectangle((x - 0.5, y - 0.5), _KEYS, 1, **_THIN | {"edgecolor": _LIT, "linewidth": 3.2, "zorder": 4}))
