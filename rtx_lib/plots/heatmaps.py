"""Attention weights as cells: one map with its numbers, or several side by side or one below the other."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_lib.plots.arrays import floats
from rtx_lib.plots.diagram import word
from rtx_lib.plots.grids import name_above, paint, tint
from rtx_lib.plots.style import GREY, INK

_NUMBERED = 12  # at most so many tokens: numbers fit in the cells
_SLANTED = 16  # at most so many columns: their tokens may lie at an angle without touching


def heatmap_size(rows: Sequence[str], columns: Sequence[str], *, border: int | None = None) -> tuple[float, float]:
    """The figure size, in inches, in which :func:`attention_heatmap` reads well, for example 6 x 6 for 40 x 40 tokens.

    Parameters
    ----------
    rows
        The T query tokens.
    columns
        The S key tokens.
    border
        M, if there is one.
    """
    most = max(len(rows), len(columns))
    cell = 0.38 if most <= _NUMBERED else 1.25 * _font_size(most) / 72
    letter = 0.6 * _font_size(most) / 72
    left = letter * max(map(len, rows)) + 0.4
    top = letter * max(map(len, columns)) * (0.75 if len(columns) <= _SLANTED else 1) + 0.4
    foot = 0.3 if border is None else 0.75
    return max(2.5, left + cell * len(columns) + 0.3), max(2.0, top + cell * len(rows) + foot)


def _font_size(most: int) -> float:
    return min(11.0, max(7.5, 200 / most))


def attention_heatmap(
    ax: Axes,
    weights: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    numbers: bool | None = None,
    border: int | None = None,
    note: bool = True,
) -> None:
    """One head's weights as cells: the stronger, the more of one colour; with numbers where they fit.

    Parameters
    ----------
    ax
        Axes to draw in; for up to 40 x 40 tokens in a figure of :func:`heatmap_size`.
    weights
        (T, S), at least 0; row i is how query i spreads over the S keys.
    rows
        The T query tokens.
    columns
        The S key tokens.
    numbers
        Write each weight of 0.05 and more in its cell; by default where there are at most 12 x 12. Without
        them a thin line after every fifth token leads the eye.
    border
        M, where the first M keys are a memory and the others the segment: a line between them, and both are
        named.
    note
        Say below a map without numbers which weight the fullest colour stands for.

    Raises
    ------
    ValueError
        If the shape does not fit the tokens, a weight is negative or not finite, or the border is not
        between two keys.
    """
    cells = floats("weights", weights, len(rows), len(columns), low=0)
    if border is not None and not 0 < border < len(columns):
        raise ValueError(f"border must be from 1 to {len(columns) - 1}, got {border}")
    if numbers is None:
        numbers = max(cells.shape) <= _NUMBERED
    strongest = float(cells.max())
    # No weight is the page's own background, light or dark. Below 0.75 the numbers keep their contrast.
    paint(ax, tint((0.75 if numbers else 1) * cells / max(strongest, 1e-12)), "equal")
    size = _font_size(max(cells.shape))
    slanted: dict[str, Any] = (
        {"rotation": 45, "ha": "left", "rotation_mode": "anchor"} if len(columns) <= _SLANTED else {"rotation": 90}
    )
    ax.set_xticks(range(len(columns)), columns, fontsize=size, **slanted)
    ax.set_yticks(range(len(rows)), rows, fontsize=size)
    name_above(ax, "attends to (key)", "query")
    if border is not None:
        _draw_border(ax, border, 2.2)
        below: dict[str, Any] = {"va": "top", "textcoords": "offset points", "annotation_clip": False, "fontsize": 11}
        foot = (border - 0.5, len(rows) - 0.5)
        ax.annotate("memory", foot, (-5, -4), ha="right", **below)
        ax.annotate("segment", foot, (5, -4), ha="left", **below)
    if numbers:
        for i, j in zip(*np.nonzero(cells >= 0.05), strict=True):
            word(ax, j, i, f"{cells[i, j]:.2f}".lstrip("0"), fontsize=9)
        return
    for guide, count in ((ax.axhline, len(rows)), (ax.axvline, len(columns))):
        for after in range(5, count, 5):
            guide(after - 0.5, color=GREY, alpha=0.4, linewidth=0.6, linestyle="-")
    if note:
        low = (0, -4 if border is None else -19)  # in points; the names of memory and segment come first
        where: dict[str, Any] = {"xytext": low, "textcoords": "offset points", "ha": "right", "va": "top"}
        ax.annotate(f"fullest colour = {strongest:.2f}", (1, 0), xycoords="axes fraction", fontsize=10, **where)


def _draw_border(ax: Axes, border: int, width: float) -> None:
    ax.axvline(border - 0.5, color=INK, linewidth=width, linestyle="-", gid="border")


def _check_maps(maps: Mapping[str, Any]) -> None:
    if not maps:
        raise ValueError("maps must hold at least one map, got none")


def attention_panels(
    maps: Mapping[str, tuple[Any, Sequence[str], Sequence[str]]],
    *,
    xlabel: str,
    ylabel: str,
    figsize: tuple[float, float] = (7.4, 3.9),
) -> Figure:
    """Several maps side by side, in widths that follow their columns, without numbers.

    Parameters
    ----------
    maps
        By title: weights (T, S), the T queries and the S keys, as :func:`attention_heatmap` takes them. Where
        all have the same queries, these are named once.
    xlabel
        What the columns are.
    ylabel
        What the rows are.
    figsize
        In inches.

    Raises
    ------
    ValueError
        If there is no map, or one does not fit its tokens.
    """
    _check_maps(maps)
    queries = [list(rows) for _, rows, _ in maps.values()]
    alike = all(rows == queries[0] for rows in queries)
    widths = [len(columns) for _, _, columns in maps.values()]
    fig, axes = plt.subplots(1, len(maps), figsize=figsize, width_ratios=widths, squeeze=False)
    for place, (ax, (title, (weights, rows, columns))) in enumerate(zip(axes[0], maps.items(), strict=True)):
        attention_heatmap(ax, weights, rows, columns, numbers=False, note=False)
        ax.set(xlabel=xlabel, ylabel="" if alike and place else ylabel)
        ax.set_title(title, pad=10)
        if max(map(len, columns)) <= 2:  # such names need no angle
            plt.setp(ax.get_xticklabels(), rotation=0, ha="center")
        if alike and place:
            ax.set_yticklabels([])
    return fig


def attention_stack(
    maps: Mapping[str, Any], rows: Sequence[str], columns: Sequence[str], *, border: int | None = None
) -> Figure:
    """Several maps of the same tokens one below the other, each as large as :func:`heatmap_size` has it.

    Parameters
    ----------
    maps
        Weights (T, S) by title.
    rows
        The T query tokens.
    columns
        The S key tokens; their names stand upright.
    border
        M, where the first M keys are a memory and the others the segment: a line between them. A caption says
        which is which.

    Raises
    ------
    ValueError
        If there is no map, or one does not fit its tokens.
    """
    _check_maps(maps)
    width, height = heatmap_size(rows, columns)
    fig, axes = plt.subplots(len(maps), 1, figsize=(width, len(maps) * height), squeeze=False)
    for ax, (title, weights) in zip(axes[:, 0], maps.items(), strict=True):
        attention_heatmap(ax, weights, rows, columns)
        if border is not None:
            _draw_border(ax, border, 1.6)
        ax.tick_params(axis="x", labelrotation=0)
        ax.set_title(title, loc="left")
    return fig
