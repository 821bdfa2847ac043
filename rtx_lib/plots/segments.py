"""Drawings of a text read in segments: what an output can depend on, and why positions must not restart.

Transformer-XL (Dai et al. 2019, section 3.2) keeps what every layer computed for the last M positions. A gradient
stops at the border of the segment, values do not. Solid is what both take, dashed what values take alone.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rtx_lib.plots.arrays import check_least
from rtx_lib.plots.diagram import arrow, blank, box, links, word
from rtx_lib.plots.style import CYCLE, GREY, INK

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
    check_least(1, layers=layers)
    check_least(0, memory=memory)
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

    Raises
    ------
    ValueError
        If ``layers`` is below 1 or ``memory`` below 0.
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
    for look, nodes in places.items():
        if nodes:
            xs, ys = np.transpose(nodes)
            ax.scatter(xs, ys, size, zorder=3, gid=look, **_NODES[look])
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
