"""Drawings of a text read in segments: what an output can depend on, and why positions must not restart.

Transformer-XL (Dai et al. 2019, section 3.2) keeps what every layer computed for the last M positions. A gradient
stops at the border of the segment, values do not. Solid is what both take, dashed what values take alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Rectangle

from rtx_lib.plots.positions import GREY
from rtx_lib.plots.style import CYCLE, INK

_OWN, _STORED = CYCLE[:2]
_DASHED = (0, (3, 1.6))
_NODES: dict[str, dict[str, Any]] = {
    "none": {"facecolor": "none", "edgecolor": GREY, "linewidth": 0.9},
    "stored": {"facecolor": _STORED + "30", "edgecolor": _STORED, "linewidth": 1.4, "linestyle": (0, (2, 1))},
    "own": {"facecolor": _OWN + "70", "edgecolor": _OWN, "linewidth": 2.4},
}
_MOST = 24  # positions in one drawing
_RADIUS = 0.3
_GAP = 2.4  # from layer to layer, in positions


def _window(p: int, length: int, memory: int) -> range:
    """The positions of the layer below that position p attends to: its memory, and its segment up to itself."""
    return range(p // length * length - memory, p + 1)


def _cone(layers: int, length: int, memory: int, position: int) -> list[set[int]]:
    """What one output depends on: of each row, the inputs first, the positions; below 0 is what came before."""
    rows = [{position}]
    for _ in range(layers):
        rows.append({k for p in rows[-1] for k in _window(p, length, memory)})
    return rows[::-1]


def _check(layers: int, length: int, memory: int, segments: int, position: int | None) -> int:
    """The output's position, counted from 0."""
    for name, value in (("layers", layers), ("length", length), ("segments", segments)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, was {value}")
    if memory < 0:
        raise ValueError(f"memory must be at least 0, was {memory}")
    total = segments * length
    if total > _MOST:
        raise ValueError(f"segments times length must be at most {_MOST}, was {total}")
    if position is not None and not 1 <= position <= total:
        raise ValueError(f"position must be from 1 to {total}, was {position}")
    return (total if position is None else position) - 1


def draw_segments(
    layers: int = 3, length: int = 4, memory: int = 4, segments: int = 4, *, position: int | None = None
) -> Figure:
    """Which positions of which layers one output depends on, when a text is read in segments with a memory.

    Filled with a thick rim: the output's own segment, where gradients go, along solid lines. With a dashed rim: what
    was stored when earlier segments were read; only values come from there, along dashed lines. The thick path leads
    to the furthest position. For frames: ``explorer(lambda M: draw_segments(memory=M), range(9), "memory M",
    alt=lambda M: describe_segments(memory=M))``.

    Args:
        layers: N.
        length: T, positions in a segment.
        memory: M, positions that each layer keeps; with 0 nothing crosses a border.
        segments: how many are drawn; the text goes on to the left.
        position: the output whose paths are drawn, from 1 to segments x length; the last by default.

    Raises:
        ValueError: if a size is below 1, ``memory`` below 0, there is no such position, or more than 24 are asked for.
    """
    output = _check(layers, length, memory, segments, position)
    rows = _cone(layers, length, memory, output)
    start, total = output // length * length, segments * length
    top, wide = _GAP * layers, total + 2.35
    fig, ax = plt.subplots(figsize=(5.8, 5.8 * (top + 7.0) / wide))
    inside = Rectangle((-0.62, -1), total + 1, top + 2, transform=ax.transData)
    edges = [(n, p, k) for n in range(layers, 0, -1) for p in rows[n] for k in _window(p, length, memory)]
    furthest = [min(row) for row in rows]
    path = [(n, furthest[n], furthest[n - 1]) for n in range(layers, 0, -1)]
    for stored, colour, dash in ((True, _STORED, _DASHED), (False, _OWN, "-")):
        thin, thick = ([edge for edge in chosen if stored == (edge[2] < start)] for chosen in (edges, path))
        pale = min(1.0, max(0.25, 60 / max(1, len(thin))))  # where lines are dense
        _links(ax, thin, inside, color=colour, linestyle=dash, linewidth=1.0, alpha=pale)
        _links(ax, thick, inside, color=colour, linestyle=dash, linewidth=3.4)
    size = (2 * _RADIUS * 5.7 * 72 / wide) ** 2
    for look, style in _NODES.items():
        nodes = [
            (p, _GAP * n)
            for n, row in enumerate(rows)
            for p in range(total)
            if look == ("none" if p not in row else "stored" if p < start else "own")
        ]
        if nodes:
            xs, ys = np.transpose(nodes)
            ax.scatter(xs, ys, size, zorder=3, gid=look, **style)
    for n in range(layers + 1):
        ax.text(-0.85, _GAP * n, f"layer {n}" if n else "inputs", ha="right", va="center", fontsize=11)
    _frame(ax, start, length, memory, segments, top)
    if furthest[0] < 0:
        ax.text(-0.62, -0.72, f"← {-furthest[0]} more", ha="left", va="center", fontsize=11)
    steps, reach = _steps(furthest), output - furthest[0]
    told = f"the thick path, layer by layer: {steps}" if memory else f"no path crosses the border: {steps}"
    name = f"memory {memory}" if memory else "no memory"
    for text, y, font in ((f"{name}: the output reaches {_positions(reach)} back", 2.4, 12.5), (told, 1.3, 11)):
        ax.text((total - 3.1) / 2, top + y, text, ha="center", fontsize=font)
    ax.set(xlim=(-2.75, total - 0.4), ylim=(-3.9, top + 3.1), aspect="equal")
    ax.set_axis_off()
    return fig


def _steps(furthest: Sequence[int]) -> str:
    """How far each layer reaches, the last first, as a sum."""
    steps = [high - low for low, high in pairwise(furthest)][::-1]
    return " + ".join(map(str, steps)) + (f" = {sum(steps)}" if len(steps) > 1 else "")


def _links(ax: Axes, edges: Iterable[tuple[int, int, int]], inside: Rectangle, **look: Any) -> None:
    """Lines from position p of row n down to k of the row below, as one artist, cut where the drawing ends."""
    pieces = [((p, _GAP * n - _RADIUS), (k, _GAP * (n - 1) + _RADIUS), (np.nan, np.nan)) for n, p, k in edges]
    if pieces:
        (line,) = ax.plot(*np.reshape(pieces, (-1, 2)).T, solid_capstyle="butt", zorder=2, **look)
        line.set_clip_path(inside)


def _frame(ax: Axes, start: int, length: int, memory: int, segments: int, top: float) -> None:
    """Borders, the bars of memory and segment, and the legend."""
    for border in range(length, segments * length, length):
        ax.plot([border - 0.5] * 2, [-1.1, top + 0.7], color=INK, linewidth=1.3, linestyle="-", zorder=1)
    bars: list[tuple[int, int, str, str, Any]] = [(start, start + length, "its segment", _OWN, "-")]
    if memory and start:
        bars.append((max(0, start - memory), start, f"memory {memory}", _STORED, _DASHED))
    for low, high, name, colour, dash in bars:
        ax.plot([low - 0.3, high - 0.7], [-1.25] * 2, color=colour, linewidth=4, linestyle=dash, solid_capstyle="butt")
        narrow, lower = high - low < 4, name == "its segment" and high - low < 4
        place, side = (high - 0.7, "right") if narrow else ((low + high) / 2 - 0.5, "center")
        ax.text(place, -2.6 if lower else -1.8, name, ha=side, va="center", fontsize=11)
    legend = [
        Line2D([], [], color=_OWN, linestyle="-", linewidth=2, label="value and gradient"),
        Line2D([], [], color=_STORED, linestyle=_DASHED, linewidth=2, label="value only: stored, no gradient"),
    ]
    ax.legend(handles=legend, loc="lower center", bbox_to_anchor=(0.5, 0), ncol=2, handlelength=2.4, columnspacing=1.2)


def _positions(count: int) -> str:
    return f"{count} position{'' if count == 1 else 's'}"


def describe_segments(
    layers: int = 3, length: int = 4, memory: int = 4, segments: int = 4, *, position: int | None = None
) -> str:
    """What :func:`draw_segments` shows for these arguments, in words and with the reach in numbers."""
    output = _check(layers, length, memory, segments, position)
    furthest = [min(row) for row in _cone(layers, length, memory, output)]
    reach, own = output - furthest[0], output % length
    what = f"{layers} layer{' reads' if layers == 1 else 's read'} a text in segments of {length}"
    if not memory:
        return (
            f"{what} without memory: output {output + 1} depends on itself and {_positions(own)} before it, and no "
            "path crosses the border of its segment."
        )
    return (
        f"{what} with a memory of {memory}: output {output + 1} reaches {_positions(reach)} back: {_steps(furthest)}, "
        f"layer by layer. {own} of them lie in its own segment, along solid lines that carry gradients as well; the "
        f"other {reach - own} come through the memory, along dashed lines that carry values alone."
    )


def draw_clash(length: int = 4, segments: int = 2) -> Figure:
    """Numbers that restart in every segment against distances, as the last query sees its keys.

    Above, two keys bear the same number, so the query cannot tell which is which; below, every key has a distance of
    its own.

    Args:
        length: T, positions in a segment, at least 2.
        segments: at least 2; the last holds the query, the others are its memory.

    Raises:
        ValueError: if a size is below 2, or there are more than 24 positions.
    """
    for name, value in (("length", length), ("segments", segments)):
        if value < 2:
            raise ValueError(f"{name} must be at least 2, was {value}")
    total = segments * length
    if total > _MOST:
        raise ValueError(f"segments times length must be at most {_MOST}, was {total}")
    query, border = total - 1, total - length
    inner = 1 if length > 2 else 0
    twins = (border - length + inner, border + inner)
    restart, distances = [p % length for p in range(total)], [query - p for p in range(total)]
    fig, ax = plt.subplots(figsize=(5.8, 4.9))
    verdicts = (
        f"{restart[twins[0]]} and {restart[twins[1]]}: the query cannot tell the two apart",
        f"{distances[twins[0]]} and {distances[twins[1]]}: one is far, one is near",
    )
    names = ("numbers that restart in every segment", "distances to the query")
    for y, name, numbers, verdict in zip((4.5, 0), names, (restart, distances), verdicts, strict=True):
        lit = _STORED if y else _OWN
        ax.text(-0.45, y + 2.2, name, fontsize=12.5, fontweight="bold", va="center")
        for p, number in enumerate(numbers):
            rim: dict[str, Any] = {"facecolor": "none", "edgecolor": GREY, "linewidth": 1}
            if p in twins:
                rim = {"facecolor": lit + "50", "edgecolor": lit, "linewidth": 2.4}
            elif p == query:
                rim = {"facecolor": "none", "edgecolor": INK, "linewidth": 2}
            ax.add_patch(FancyBboxPatch((p - 0.38, y - 0.38), 0.76, 0.76, "round,pad=0,rounding_size=0.12", **rim))
            bold = "bold" if p in twins else "normal"
            ax.text(p, y, str(number), ha="center", va="center", fontsize=13, fontweight=bold)
        for p in twins:
            tip = {"arrowstyle": "-|>", "color": lit, "linewidth": 2, "shrinkA": 2, "shrinkB": 2}
            tip |= {"connectionstyle": "arc3,rad=0.3", "linestyle": "--" if y else "-"}
            ax.annotate("", (p, y + 0.38), (query, y + 0.38), arrowprops=tip)
            ax.text(p, y - 0.62, "same word", ha="center", va="center", fontsize=11)
        ax.text(query, y - 0.62, "query", ha="center", va="center", fontsize=11)
        for edge in range(length, total, length):
            ax.plot([edge - 0.5] * 2, [y - 0.8, y + 0.7], color=INK, linewidth=1.3, linestyle="-")
        ax.text((total - 1) / 2, y - 1.2, verdict, ha="center", va="center", fontsize=12.5)
    ax.set(xlim=(-0.6, total - 0.4), ylim=(-1.6, 7.0))
    ax.set_axis_off()
    return fig
