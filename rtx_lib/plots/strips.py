"""Several runs side by side: a row for each recipe or comparison, a mark for each seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rtx_lib.plots.style import CYCLE, INK, MARKERS


def draw_strips(
    rows: Mapping[str, Sequence[float]],
    xlabel: str,
    *,
    looks: Mapping[str, int] | None = None,
    line: tuple[float, str] | None = None,
    title: str = "",
    xlim: tuple[float, float] | None = None,
    bold: Iterable[str] = (),
    digits: int = 3,
    signed: bool = False,
) -> Figure:
    """A row for each entry, from the top: a mark for each value, the medians in figures in a column at the right.

    With every difference of a seed of A and a seed of B as the values of a row and ``line=(0, ...)``, one is better
    with every seed just where all marks lie on one side of the line.

    Args:
        rows: the values by name; one without values is a heading.
        xlabel: of the axis, with its unit.
        looks: which colour and marker of the cycle a row has; the first where it is not named.
        line: where to draw a dashed line across all rows, and its name.
        title: what the figure shows, above the line's name.
        xlim: both ends of the axis.
        bold: names to be set in bold type, as those of headings are.
        digits: decimals of the medians.
        signed: whether they bear a plus sign too.

    Raises:
        ValueError: if no row has values, or one is not finite.
    """
    values = {label: np.asarray(row, dtype=float).ravel() for label, row in rows.items()}
    for label, row in values.items():
        if not np.isfinite(row).all():
            raise ValueError(f"rows must hold finite values, those of {label!r} were {row.tolist()}")
    if not any(map(len, values.values())):
        raise ValueError(f"rows must hold values, of {list(rows)} none did")
    fig, ax = plt.subplots(figsize=(5.8, 0.95 + 0.36 * len(values)))
    for y, (label, row) in enumerate(values.items()):
        look = (looks or {}).get(label, 0) % len(CYCLE)
        if len(row):
            ax.plot(row, np.full(len(row), y), MARKERS[look], color=CYCLE[look], markersize=8, alpha=0.75, label="_row")
            median = f"{np.median(row) + 0.0:{'+' if signed else ''}.{digits}f}"
            place: Any = ("axes fraction", "data")
            ax.annotate(median, (1.02, y), xycoords=place, va="center", fontsize=11, annotation_clip=False)
    if line:
        ax.axvline(line[0], color=INK, linestyle=(0, (4, 3)), linewidth=1.2, label="_line")
        ax.annotate(
            line[1],
            (line[0], 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=11,
        )
    ax.set_yticks(range(len(values)), list(values), fontsize=11.5)
    for text, (label, row) in zip(ax.get_yticklabels(), values.items(), strict=True):
        text.set_fontweight("bold" if label in set(bold) or not len(row) else "normal")
    ax.set(ylim=(len(values) - 0.4, -0.6), xlabel=xlabel)
    if xlim:
        ax.set_xlim(xlim)
    if title:
        ax.set_title(title, pad=24)
    return fig
