"""What a memory gains and saves, what an output can depend on, the shift, and what a model of characters expects.

Transformer-XL (Dai et al. 2019, section 3.2) keeps what every layer computed for the last M positions. A gradient
stops at the border of the segment, values do not. Solid is what both take, dashed what values take alone.

The terms with R are computed once for each distance. A column of zeros in front, and the same memory read in rows one
shorter, and every score stands at its key (appendix B). The drawings are of 3 queries and 5 keys.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from rtx_book.page import diagram
from rtx_book.page.arrays import several
from rtx_book.page.diagram import arrow, blank, box, links
from rtx_book.page.grids import fill
from rtx_book.paths import texts
from rtx_lib.plots.curves import bands, baseline, label_lines, name_at
from rtx_lib.plots.heatmaps import Point, attention_heatmap, floats, word
from rtx_lib.plots.style import CYCLE, GREY, INK, literal, look

# ------------------------------------------------------------------------------------------------ memory


_LOSS, _TOP = "loss (nats per character)", ("data", "axes fraction")


def memory_look(name: str, index: int) -> dict[str, Any]:
    """Like :func:`~rtx_lib.plots.style.look`: "memory 64" is a Transformer-XL, "no memory" stands apart from it."""
    kinds: dict[str, str | int] = {"memory": "transformer-xl", "no memory": 1}
    return look(next((model for start, model in kinds.items() if name.startswith(start)), name), index)


def draw_position_losses(
    losses: Mapping[str, Any], *, repeats: int, line: tuple[float, str], height: float = 3.6
) -> Figure:
    """Mean loss at each position of a segment: without memory it is high behind every border.

    Parameters
    ----------
    losses
        By name, (T,) or (seeds, T), in one unit; of seeds the median as a line and the range as a band.
    repeats
        How often the segment is drawn, one behind the other, so that borders stand inside the picture.
    line
        A loss to compare with, as a dashed line, and its name.
    height
        Of the figure, in inches.
    """
    curves = several("losses", losses, "[seeds]", "T")
    length = next(iter(curves.values())).shape[1]
    fig, ax = plt.subplots(figsize=(5.8, height))
    for index, (name, curve) in enumerate(curves.items()):
        for r in range(repeats):  # one line for each segment: it breaks at the border
            label = name if r == repeats - 1 else f"_{name}"
            bands(ax, curve, label, steps=np.arange(1, length + 1) + r * length, **memory_look(name, index))
    for border in range(length, repeats * length, length):
        ax.axvline(border + 0.5, color=INK, linewidth=1.3, linestyle=(0, (2, 2)), label="_border")
        name_at(ax, "border", (border + 0.5, 1), (0, 3), _TOP, ha="center")
    marks = (1, *(round(length * part / 4) for part in (1, 2, 3)))
    places = {r * length + mark: str(mark) for r in range(repeats) for mark in marks} | {repeats * length: str(length)}
    ax.set_xticks(list(places), list(places.values()))
    ax.set(xlim=(0.5, repeats * length + 0.5), xlabel="position in the segment", ylabel=_LOSS)
    ax.plot(ax.get_xlim(), [line[0]] * 2, color=INK, linestyle=(0, (4, 3)), linewidth=1.2, label=line[1])
    label_lines(ax)
    return fig


def draw_costs(lengths: Sequence[int], ratios: Mapping[str, Any], published: Mapping[int, float]) -> Figure:
    """How many times longer a sliding window takes for a token than a memory does, on two logarithmic axes.

    Parameters
    ----------
    lengths
        Attention lengths in tokens, rising.
    ratios
        By name of what was timed, (lengths,) or (runs, lengths): time for a token with a sliding window over
        time with a memory.
    published
        Ratios by attention length from Dai et al. 2019, drawn as hollow diamonds.
    """
    curves = several("ratios", ratios, "[runs]", len(lengths))
    fig, ax = plt.subplots(figsize=(5.8, 4.0))
    ax.set(xscale="log", yscale="log")
    at, side = (len(lengths) // 2, "right") if len(lengths) > 3 else (0, "left")
    for index, (name, curve) in enumerate(curves.items()):
        row = np.asarray(bands(ax, curve, name, steps=lengths, index=index, markevery=1).get_ydata(), dtype=float)
        name_at(ax, f"{name}:\n× {row[0]:,.3g} to × {row[-1]:,.0f}", (lengths[at], row[at]), (-6, 6), ha=side)
    ax.plot([*published], [*published.values()], "D", color=INK, ms=7, mfc="none", mew=1.6, label="_published")
    name_at(ax, "◇ Dai et al. 2019", (max(published), min(published.values())), (6, -6), ha="right")
    for axis, subs in ((ax.xaxis, (1, 2, 5)), (ax.yaxis, (1,))):
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.set(xlabel="attention length (tokens)", ylabel="sliding window / memory,\ntime per token (ratio)")
    return fig


def draw_test_memory(
    losses: Mapping[str, Any], memories: Sequence[int], *, trained: Mapping[str, int], line: tuple[float, str]
) -> Figure:
    """Loss against the memory that a model is tested with, a panel for each, the others in grey behind it.

    The memory of the training is ringed.

    Parameters
    ----------
    losses
        By name, (memories,) or (seeds, memories); of seeds the median as a line and the range as a band.
    memories
        Lengths in positions, drawn at equal distances whatever they are.
    trained
        For each name, with which of the memories it was trained.
    line
        A loss to compare with, as a dashed line where it is near, and its name.
    """
    places = list(memories)
    curves = several("losses", losses, "[seeds]", len(places))
    columns, behind = 2 if len(curves) < 5 else 3, np.transpose([np.median(own, axis=0) for own in curves.values()])
    fig, axes = plt.subplots(-(-len(curves) // columns), columns, figsize=(5.8, 4.2), sharey=True, squeeze=False)
    for index, (ax, (name, curve)) in enumerate(zip(axes.flat, curves.items(), strict=False)):
        ax.plot(behind, "-", color=GREY, linewidth=1, alpha=0.5, label="_other")
        at = places.index(trained[name])
        drawn = bands(ax, curve, name, steps=range(len(places)), **memory_look(name, index) | {"markevery": 1})
        ring: dict[str, Any] = {"markersize": 14, "markerfacecolor": "none", "markeredgewidth": 1.6}
        ax.plot(at, np.median(curve, axis=0)[at], "o", color=drawn.get_color(), label="_trained", **ring)
        ax.set_xticks(marks := sorted({0, at, len(places) - 1}), [f"{places[mark]:,}" for mark in marks])
        ax.set_title(name, loc="left")
    low, high = axes[0, 0].get_ylim()
    for ax in axes.flat if low < line[0] < high else []:
        baseline(ax, line[0], line[1] * (ax is axes[0, 0]))
    fig.supxlabel("memory in the test (positions)", fontsize=12)
    fig.supylabel(f"test {_LOSS}", fontsize=12)
    return fig


def draw_context_use(
    effects: Mapping[str, tuple[Any, Any]],
    losses: Mapping[str, Any],
    contexts: Sequence[int],
    reach: Mapping[str, int],
    line: tuple[float, str],
) -> Figure:
    """How far back one character has an effect, above how far back more context lowers the loss.

    Parameters
    ----------
    effects
        By name, how many characters back and how much changing that one changes the prediction, both (N,).
        An effect of 0 is left out, as the axis is logarithmic.
    losses
        By name, the mean loss with each context, (C,).
    contexts
        The C lengths, rising.
    reach
        By name, how many characters the architecture can see: a vertical line with the name.
    line
        A loss to compare with, as a dashed line below where it is near, and its name.
    """
    curves = several("losses", losses, "[seeds]", len(contexts))
    looks = {name: memory_look(name, index) for index, name in enumerate(dict.fromkeys([*effects, *curves]))}
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(5.8, 5.0), sharex=True)
    for name, given in effects.items():
        distances, effect = (floats(f"effects[{name!r}]", side, "N") for side in given)
        top.semilogy(distances[effect > 0], effect[effect > 0], "-", color=looks[name]["color"], label=name)
    for name, curve in curves.items():
        bands(bottom, curve, name, steps=contexts, **looks[name], markevery=1)
    bottom.set(xlim=(0, max([contexts[-1], *reach.values()]) + 8), ylabel="loss with so much\n(nats per character)")
    bottom.set_xlabel("characters back (above); context given (below)")
    for name, length in reach.items():
        name_at(top, f"{name} reaches {length}", (length, 1), (0, 3), _TOP, ha="center")
        for ax in (top, bottom):
            ax.axvline(length, linewidth=1.4, label="_reach", **looks[name] | {"marker": ""})
    top.set_ylabel("effect of one character\n(largest change of a logit)")
    if bottom.get_ylim()[0] < line[0] < bottom.get_ylim()[1]:
        baseline(bottom, *line, at=0.35)
    label_lines(bottom)
    return fig


# ------------------------------------------------------------------------------------------------ segments


_OWN, _STORED = CYCLE[:2]
_DASHED = (0, (3, 1.6))
_NODES: dict[str, dict[str, Any]] = {
    "none": {"facecolor": "none", "edgecolor": GREY, "linewidth": 0.9},
    "stored": {"facecolor": _STORED + "30", "edgecolor": _STORED, "linewidth": 1.4, "linestyle": (0, (2, 1))},
    "own": {"facecolor": _OWN + "70", "edgecolor": _OWN, "linewidth": 2.4},
}
_LENGTH = 4  # T, positions in a segment
_TOTAL = 4 * _LENGTH  # positions in the drawing; the text goes on to the left
_START, _OUTPUT = _TOTAL - _LENGTH, _TOTAL - 1  # of the last segment, and the output whose paths are drawn
_RADIUS = 0.3
_GAP = 2.4  # from layer to layer, in positions


def _window(p: int, memory: int) -> range:
    """The positions of the layer below that position p attends to: its memory, and its segment up to itself."""
    return range(p // _LENGTH * _LENGTH - memory, p + 1)


def _cone(layers: int, memory: int) -> list[set[int]]:
    """What the output depends on: of each row, the inputs first, the positions; below 0 is what came before."""
    rows = [{_OUTPUT}]
    for _ in range(layers):
        rows.append({k for p in rows[-1] for k in _window(p, memory)})
    return rows[::-1]


def _steps(furthest: Sequence[int]) -> str:
    """How far each layer reaches, the last first, as a sum."""
    steps = [high - low for low, high in pairwise(furthest)][::-1]
    return " + ".join(map(str, steps)) + (f" = {sum(steps)}" if len(steps) > 1 else "")


def draw_segments(layers: int = 3, memory: int = 4) -> Figure:
    """Which positions of which layers one output depends on, when a text is read in segments with a memory.

    Filled with a thick rim: the output's own segment, where gradients go, along solid lines. With a dashed rim: what
    was stored when earlier segments were read; only values come from there, along dashed lines. The thick path leads
    to the furthest position.

    Parameters
    ----------
    layers
        N.
    memory
        M, positions that each layer keeps; with 0 nothing crosses a border.
    """
    rows = _cone(layers, memory)
    furthest = [min(row) for row in rows]
    top, wide = _GAP * layers, _TOTAL + 2.35
    fig, ax = plt.subplots(figsize=(5.8, 5.8 * (top + 7.0) / wide))
    down = range(layers, 0, -1)
    _links(ax, [(n, p, k) for n in down for p in rows[n] for k in _window(p, memory)], 1.0, top)
    _links(ax, [(n, furthest[n], furthest[n - 1]) for n in down], 3.4, top)
    size = (2 * _RADIUS * 5.7 * 72 / wide) ** 2
    places: dict[str, list[tuple[int, float]]] = {look: [] for look in _NODES}
    for n, row in enumerate(rows):
        for p in range(_TOTAL):
            places["none" if p not in row else "stored" if p < _START else "own"].append((p, _GAP * n))
        word(ax, -0.85, _GAP * n, f"layer {n}" if n else "inputs", ha="right", fontsize=12)
    for kind, nodes in places.items():
        if nodes:
            xs, ys = np.transpose(nodes)
            ax.scatter(xs, ys, size, zorder=3, gid=kind, **_NODES[kind])
    _frame(ax, memory, top)
    if furthest[0] < 0:
        word(ax, -0.62, -0.72, f"← {-furthest[0]} more", ha="left", fontsize=12)
    way = "the thick path, layer by layer" if memory else "no path crosses the border"
    name = f"memory {memory}" if memory else "no memory"
    reach = f"{name}: the output reaches {_OUTPUT - furthest[0]} positions back"
    for text, y, font in ((reach, 2.4, 12.5), (f"{way}: {_steps(furthest)}", 1.3, 12)):
        word(ax, (_TOTAL - 3.1) / 2, top + y, text, va="baseline", fontsize=font)
    blank(ax, (-2.75, _TOTAL - 0.4), (-3.9, top + 3.1))
    return fig


def _links(ax: Axes, edges: Sequence[tuple[int, int, int]], width: float, top: float) -> None:
    """Lines from position p of row n down to k of the row below, cut where the drawing ends."""
    for stored, colour, dash in ((True, _STORED, _DASHED), (False, _OWN, "-")):
        chosen = [edge for edge in edges if stored == (edge[2] < _START)]
        ends = [((p, _GAP * n - _RADIUS), (k, _GAP * (n - 1) + _RADIUS)) for n, p, k in chosen]
        pale = min(1.0, max(0.25, 60 / max(1, len(ends)))) if width == 1 else None  # where lines are dense
        line = links(ax, ends, color=colour, linestyle=dash, linewidth=width, alpha=pale, zorder=2)
        if line:
            line.set_clip_path(Rectangle((-0.62, -1), _TOTAL + 1, top + 2, transform=ax.transData))


def _frame(ax: Axes, memory: int, top: float) -> None:
    """Borders, the bars of memory and segment, and the legend."""
    for border in range(_LENGTH, _TOTAL, _LENGTH):
        ax.plot([border - 0.5] * 2, [-1.1, top + 0.7], color=INK, linewidth=1.3, linestyle="-", zorder=1)
    bars: list[tuple[int, int, str, str, Any]] = [(_START, _TOTAL, "its segment", _OWN, "-")]
    if memory:
        bars.append((max(0, _START - memory), _START, f"memory {memory}", _STORED, _DASHED))
    for low, high, name, colour, dash in bars:
        ax.plot([low - 0.3, high - 0.7], [-1.25] * 2, color=colour, linewidth=4, linestyle=dash, solid_capstyle="butt")
        place, side = (high - 0.7, "right") if high - low < 4 else ((low + high) / 2 - 0.5, "center")
        word(ax, place, -1.8, name, ha=side, fontsize=12)
    ax.plot([], [], color=_OWN, linestyle="-", linewidth=2, label="value and gradient")
    ax.plot([], [], color=_STORED, linestyle=_DASHED, linewidth=2, label="value only: stored, no gradient")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 0), ncol=2, handlelength=2.4, columnspacing=1.2)


def describe_segments(layers: int = 3, memory: int = 4) -> str:
    """What :func:`draw_segments` shows for these arguments, in words and with the reach in numbers."""
    furthest = [min(row) for row in _cone(layers, memory)]
    reach, own = _OUTPUT - furthest[0], _LENGTH - 1
    what = f"{layers} layer{' reads' if layers == 1 else 's read'} a text in segments of {_LENGTH}"
    if not memory:
        return (
            f"{what} without memory: output {_TOTAL} depends on itself and {own} positions before it, and no path "
            "crosses the border of its segment."
        )
    return (
        f"{what} with a memory of {memory}: output {_TOTAL} reaches {reach} positions back: {_steps(furthest)}, "
        f"layer by layer. {own} of them lie in its own segment, along solid lines that carry gradients as well; the "
        f"other {reach - own} come through the memory, along dashed lines that carry values alone."
    )


def draw_clash() -> Figure:
    """Numbers that restart in every segment against distances, as the last query sees the keys of two segments.

    Above, two keys bear the same number, so the query cannot tell which is which; below, every key has a distance of
    its own.
    """
    total, twins = 2 * _LENGTH, (1, _LENGTH + 1)
    query = total - 1
    fig, ax = plt.subplots(figsize=(5.8, 4.9))
    for y, lit, name, verdict in (
        (4.5, _STORED, "numbers that restart in every segment", "the query cannot tell the two apart"),
        (0, _OWN, "distances to the query", "one is far, one is near"),
    ):
        numbers = [p % _LENGTH if y else query - p for p in range(total)]
        word(ax, -0.45, y + 2.2, name, ha="left", fontsize=12.5, fontweight="bold")
        for p, number in enumerate(numbers):
            rim: dict[str, Any] = {"facecolor": "none", "edgecolor": GREY, "linewidth": 1}
            if p in twins:
                rim = {"facecolor": lit + "50", "edgecolor": lit, "linewidth": 2.4}
                bend = {"connectionstyle": "arc3,rad=0.3", "linestyle": "--" if y else "-", "shrinkA": 2, "shrinkB": 2}
                arrow(ax, (query, y + 0.38), (p, y + 0.38), lit, 2, zorder=3, **bend)
                word(ax, p, y - 0.62, "same word", fontsize=12)
            elif p == query:
                rim |= {"edgecolor": INK, "linewidth": 2}
            box(ax, p, y, 0.38, 0.38, **rim)
            word(ax, p, y, str(number), fontsize=13, fontweight="bold" if p in twins else "normal")
        word(ax, query, y - 0.62, "query", fontsize=12)
        ax.plot([_LENGTH - 0.5] * 2, [y - 0.8, y + 0.7], color=INK, linewidth=1.3, linestyle="-")
        both = " and ".join(str(numbers[p]) for p in twins)
        word(ax, (total - 1) / 2, y - 1.2, f"{both}: {verdict}", fontsize=12.5)
    blank(ax, (-0.6, total - 0.4), (-1.6, 7.0), aspect="auto")
    return fig


# ------------------------------------------------------------------------------------------------ shift


Cell = tuple[int, int] | None
"""What a cell holds: (query, distance), or None for a zero."""
Tile = tuple[float, float, Cell, bool]
"""A cell in its place, and whether it is a ghost, which is yet to come."""

_STAGES: dict[str, dict[str, str]] = texts("pictures/stages.yml")["shift"]
SHIFT_STEPS = tuple(_STAGES)
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
    """
    left = _padded_line(queries, keys)[queries:]
    return [left[i * keys : (i + 1) * keys] for i in range(queries)]


def describe_shift(stage: str) -> str:
    """What :func:`draw_shift` shows at this stage, in words."""
    return _STAGES[stage]["words"]


def draw_shift(stage: str) -> Figure:
    """One stage of the relative shift: on top the table by distance, then the memory as a line, below the table by key.

    A cell is named by its query, a letter, and its distance, which also sets the strength of its colour. Hatched are
    the cells that no query needs: their key would come before the first.
    """
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
    for y, side in ((0, "above"), (_BELOW, "beside")):
        ax.text(_LEFT + _KEYS + 0.1, y + 0.5, _STAGES[stage].get(side, ""), va="top", fontsize=12, linespacing=1.35)
    blank(ax, (-0.6, _WIDE - 0.4), (high - 1.3, -0.6), title=_STAGES[stage]["title"])
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
        _shift_frame(ax, _QUERIES + (shown - 1) * _KEYS, y)


def _draw_keys(ax: Axes, tiles: list[Tile], step: str) -> None:
    """The table by key, as far as it is there."""
    shown = _rows_read(step)
    for i, row in enumerate(shifted_cells(_QUERIES, _KEYS)):
        for j, cell in enumerate(row):
            wanted = (i, _PAST + i - j) if step == "wanted" and j <= _PAST + i else None
            tiles.append((_LEFT + j, _BELOW + i + 1, cell if i < shown else wanted, i >= shown))
    if step in _ROW_STEPS:
        _shift_frame(ax, _LEFT, _BELOW + shown)
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


def _shift_frame(ax: Axes, x: float, y: float) -> None:
    ax.add_patch(Rectangle((x - 0.5, y - 0.5), _KEYS, 1, **_THIN | {"edgecolor": _LIT, "linewidth": 3.2, "zorder": 4}))


# ------------------------------------------------------------------------------------------------ writing


_SIGNS = {" ": "␣", "\n": "⏎"}
_NAMES = {" ": "a space", "\n": "a new line"}
_MOST = 8

TEXTS = {"shakespeare": "tinyshakespeare", "pydoc": "Python's own documentation"}
"""What a page calls the texts of characters, by their source."""


def draw_expected(text: str, looks: Sequence[Any], characters: str, chances: Any) -> dict[str, Any]:
    """What a model of characters looks at when it has read a text, and what it then expects.

    It is what :func:`~rtx_book.page.live.play` takes beside the model.

    Parameters
    ----------
    text
        The T characters that were read.
    looks
        Of each layer the weights (H, T) that the last character gives to all.
    characters
        The V characters that the model knows, in the order of their ids.
    chances
        (V,), the probability of each to come next.

    Returns
    -------
    dict
        ``still``, the figure; ``alt`` and ``title``, what it shows; ``characters`` and ``text``, for the widget.
    """
    p = floats("chances", chances, len(characters), low=0)
    layers = [floats("looks", weights, "H", len(text), low=0) for weights in looks]
    rows = np.concatenate(layers)
    names = [f"layer {n}, head {h}" for n, own in enumerate(layers, start=1) for h in range(1, len(own) + 1)]
    signs = [_SIGNS.get(c, c) for c in text]
    best = np.argsort(-p, kind="stable")[:_MOST]
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(5.8, 0.3 * (len(rows) + len(best)) + 2.2), height_ratios=(3, 2))
    attention_heatmap(top, rows, names, signs, numbers=False)
    top.set(xlabel="", ylabel="", title=f"where the last “{literal(signs[-1])}” looks")
    bottom.barh(range(len(best)), p[best], color=CYCLE[0])
    bottom.set_yticks(range(len(best)), [literal(_SIGNS.get(characters[i], characters[i])) for i in best])
    bottom.invert_yaxis()
    bottom.grid(axis="y", visible=False)
    bottom.set(xlim=(0, 1), xlabel="probability that it comes next")
    first = _NAMES.get(characters[best[0]], f"“{characters[best[0]]}”")
    read = text.replace("\n", " / ")
    title = f"After “{read}” the model expects {first}, with a probability of {100 * p[best[0]]:.0f} %"
    head = int(rows.max(axis=1).argmax())
    seen = signs[int(rows[head].argmax())]
    alt = f"{title}. The sharpest look is that of {names[head]}, with {100 * rows[head].max():.0f} % on “{seen}”."
    return {"still": fig, "alt": alt, "title": f"{title}.", "characters": characters, "text": text}


def draw_saved(text: str, losses: Mapping[str, Any], segment: int, characters: str) -> dict[str, Any]:
    """What models have saved on a passage up to each character, against a first one.

    It is what :func:`~rtx_book.page.live.play` takes beside the models.

    Parameters
    ----------
    text
        The T characters of the passage.
    losses
        By name what each cost in nats, (T,); the first name is what the others are compared with.
    segment
        Length of a segment: a line stands before the first character of each.
    characters
        The characters that the models know, in the order of their ids.

    Returns
    -------
    dict
        As :func:`draw_expected`.
    """
    costs = {name: nats / np.log(2) for name, nats in several("losses", losses, len(text)).items()}
    (base, plain), *others = costs.items()
    places = np.arange(1, len(text) + 1)
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    ax.axhline(0, color=INK, linewidth=1.2, label="_zero")
    for index, (name, own) in enumerate(others):
        style = memory_look(name, index)
        ax.plot(places, np.cumsum(plain - own), color=style["color"], linestyle=style["linestyle"], label=name)
    for border in range(segment, len(text), segment):
        ax.axvline(border + 0.5, color=INK, linewidth=1.1, linestyle=(0, (2, 2)), label="_border")
    ax.set(xlim=(0.5, len(text) + 0.5), xlabel="character of the passage (dashed: borders of segments)")
    ax.set_ylabel(f"bits saved against\n{base}")
    label_lines(ax)
    told = " and ".join(f"{np.sum(plain - own):.0f} fewer with {name}" for name, own in others)
    title = f"{len(text)} characters cost {plain.sum():.0f} bits with {base}, {told}"
    saved = plain - others[0][1]
    behind = sum(saved[edge : edge + 4].sum() for edge in range(segment, len(text), segment))
    alt = f"{title}. {others[0][0]} saves {behind:.0f} bits at the four characters behind each border."
    return {"still": fig, "alt": alt, "title": f"{title}.", "characters": characters, "text": text}
