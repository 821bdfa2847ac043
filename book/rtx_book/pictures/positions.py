"""Pictures of position schemes: tables, relative biases, rotations, and accuracy at lengths never trained on.

Where a value has a size, it is drawn as opacity over the page, light or dark; where it has a sign, plus signs say so
next to the colour; what is masked or not defined is hatched.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Arc
from matplotlib.ticker import MaxNLocator

from rtx_book.page.arrays import true_runs
from rtx_book.page.diagram import arrow, blank, circle
from rtx_book.page.grids import HATCHED, fill_cells, scale_bar
from rtx_lib.plots.curves import name_at
from rtx_lib.plots.heatmaps import floats, name_above, paint, tint, word
from rtx_lib.plots.style import CYCLE, GREY, INK

_SIGNS = (CYCLE[0], CYCLE[1])  # below 0, above 0


def draw_position_table(ax: Axes, table: Any) -> None:
    """A table of position vectors: each column is the vector of one position, each row one component over them.

    Parameters
    ----------
    ax
        Axes to draw in.
    table
        (T, D), finite.
    """
    cells = floats("table", table, "T", "D")
    limit = float(np.abs(cells).max()) or 1.0
    limit = 1.0 if 0.9 < limit <= 1 else limit  # sines and cosines
    # One colour from blank (-limit) to full: the waves are seen in grey as well, where two colours would look alike.
    paint(ax, tint((cells.T / limit + 1) / 2))
    ax.set(xlabel="position", ylabel="component")
    ax.yaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True))
    scale_bar(ax, tint(np.linspace(0, 1, 64)), -limit, limit)


def draw_bias(ax: Axes, bias: Any, *, diagonals: Sequence[int] = ()) -> None:
    """What a relative scheme adds to the scores: orange with a plus sign above 0, blue below, hatched where masked.

    Parameters
    ----------
    ax
        Axes to draw in.
    bias
        (T, T), a row for each query; NaN or minus infinity where a key is masked.
    diagonals
        Distances i - j from 0 that are marked by a line along the diagonal and named at its end, for example where a
        clip begins.
    """
    cells = floats("bias", bias, "T", "T", finite=False)
    masked = np.isnan(cells) | np.isneginf(cells)
    size = len(cells)
    cells = np.where(masked, 0, cells)
    limit = float(np.abs(cells).max()) or 1.0
    paint(ax, tint(cells / limit, _SIGNS), "equal")
    fill_cells(ax, masked, **HATCHED)
    name_above(ax, "key position j", "query position i")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(nbins="auto", integer=True))
    i, j = np.nonzero(cells > 0.03 * limit)
    ax.plot(j, i, "+", color=INK, markersize=3.5, markeredgewidth=0.7)
    for distance in diagonals:
        ends = np.array([-0.5, size - distance - 0.5])
        ax.plot(ends, ends + distance, color=INK, linestyle=(0, (4, 2)), linewidth=1.2)
        name = f"$i-j={distance}$" if distance else "$i=j$"
        name_at(ax, name, (ends[1], size - 0.5), (0, -4), ha="center", va="top", fontsize=12, annotation_clip=False)
    low, high = (float(cells.min()), float(cells.max())) if cells.any() else (-limit, limit)
    low, high = min(0.0, low), max(0.0, high)
    bar = scale_bar(ax, tint(np.linspace(low, high, 64) / limit, _SIGNS), low, high)
    if high > 0:
        bar.plot([0.5], [0.85 * high], "+", color=INK, markersize=4, markeredgewidth=0.8)


def draw_rotations(ax: Axes, vectors: Any, labels: Sequence[str], colours: Sequence[str]) -> None:
    """Two vectors of one plane as arrows from the origin, with the angle between them in degrees.

    Parameters
    ----------
    ax
        Axes to draw in.
    vectors
        (2, 2), for example one pair of components of a query and of a key.
    labels
        Two names, written at the tips.
    colours
        One for each arrow.
    """
    arrows = floats("vectors", vectors, 2, 2)
    lengths = np.hypot(*arrows.T)
    longest = float(lengths.max())
    for radius in sorted(set(lengths.round(6))):
        circle(ax, 0, 0, radius, facecolor="none", edgecolor=GREY, linewidth=0.8, alpha=0.6)
    start, stop = np.degrees(np.arctan2(arrows[:, 1], arrows[:, 0]))
    turn = float((stop - start + 180) % 360 - 180)
    # Names stand outside the outer circle; where the arrows are close, the names part, and the angle stands beside it.
    apart = 14 * np.sign(turn) if abs(turn) < 45 else 0
    places = np.radians([start - apart, stop + apart])
    for tip, place, label, colour in zip(arrows, places, labels, colours, strict=True):
        arrow(ax, (0, 0), tip, colour, 2, zorder=3)
        x, y = np.cos(place), np.sin(place)
        sides = {"ha": _side(x, "right", "left"), "va": _side(y, "top", "bottom")}
        word(ax, 1.08 * longest * x, 1.08 * longest * y, label, fontsize=12, **sides)
    low, high = sorted((start, start + turn))
    radius, middle = 0.42 * longest, np.radians((low + high) / 2 if abs(turn) >= 45 else high + 26)
    ax.add_patch(Arc((0, 0), 2 * radius, 2 * radius, theta1=low, theta2=high, color=INK, linewidth=1.4))
    x, y = (radius + 0.17 * longest * (abs(turn) >= 45)) * np.array([np.cos(middle), np.sin(middle)])
    word(ax, x, y, f"{abs(turn):.0f}°", fontsize=12)
    blank(ax, (-1.6 * longest, 1.6 * longest), (-1.3 * longest, 1.3 * longest))


def _side(part: float, below: str, above: str) -> str:
    return below if part < -0.4 else above if part > 0.4 else "center"


def length_heatmap(ax: Axes, values: Any, schemes: Sequence[str], lengths: Sequence[int]) -> None:
    """Accuracy of each scheme at each length, with a line behind 64, the length trained at.

    Parameters
    ----------
    ax
        Axes to draw in.
    values
        (schemes, lengths) from 0 to 1, NaN where a scheme is not defined; or (seeds, schemes, lengths): then
        the median is written, and under it the range where it is wider than 0.01.
    schemes
        Names of the rows.
    lengths
        Of the columns, in order.
    """
    runs = floats("values", values, "[seeds]", len(schemes), len(lengths), finite=False)
    undefined = np.isnan(runs).any(axis=0)
    known = np.where(undefined, 0, runs)
    cells, low, high = np.median(known, axis=0), known.min(axis=0), known.max(axis=0)
    paint(ax, tint(0.75 * cells))
    fill_cells(ax, undefined, **HATCHED)
    for i, j in zip(*np.nonzero(~undefined), strict=True):
        wide = high[i, j] - low[i, j] > 0.01
        word(ax, j, i - 0.2 * wide, _short(cells[i, j]), fontsize=12)
        if wide:
            ends = ("1" if end > 0.995 else _short(end) for end in (low[i, j], high[i, j]))
            word(ax, j, i + 0.27, "–".join(ends), fontsize=10)
    for i, row in enumerate(undefined):
        for start, stop in true_runs(row):
            word(ax, (start + stop - 1) / 2, i, "not defined" if stop - start > 1 else "not\ndefined", fontsize=11)
    ax.set_xticks(range(len(lengths)), [f"{length:,}" for length in lengths])
    ax.set_yticks(range(len(schemes)), schemes)
    ax.set_xlabel("tested at length")
    behind = sum(length <= 64 for length in lengths) - 0.5
    ax.axvline(behind, color=INK, linewidth=2.4, linestyle="-")
    for side, text in ((-1, "trained at 64"), (1, "longer than in training")):
        where: dict[str, Any] = {"ha": "left" if side > 0 else "right", "va": "bottom", "annotation_clip": False}
        name_at(ax, text, (behind, -0.5), (5 * side, 4), **where)


def _short(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")
