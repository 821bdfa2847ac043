"""Several runs side by side: a row for each recipe or comparison, a mark for each seed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rtx_lib.plots.style import INK, look


def draw_strips(
    rows: Mapping[str, Sequence[float]],
    xlabel: str,
    *,
    looks: Mapping[str, str | int] | None = None,
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

    Parameters
    ----------
    rows
        The values by name; one without values is a heading.
    xlabel
        Of the axis, with its unit.
    looks
        The models whose looks the rows have; else those of the rows' names, or the first of the cycle.
    line
        Where to draw a dashed line across all rows, and its name.
    title
        What the figure shows, above the line's name.
    xlim
        Both ends of the axis.
    bold
        Names to be set in bold type, as those of headings are.
    digits
        Decimals of the medians.
    signed
        Whether they bear a plus sign too.

    Raises
    ------
    ValueError
        If no row has values, or one is not finite.
    """
    values = {label: np.asarray(row, dtype=float).ravel() for label, row in rows.items()}
    for label, row in values.items():
        if not np.isfinite(row).all():
            raise ValueError(f"rows must hold finite values, got {row.tolist()} for {label!r}")
    if not any(map(len, values.values())):
        raise ValueError(f"rows must hold values, got none for {list(rows)}")
    fig, ax = plt.subplots(figsize=(5.8, 0.95 + 0.36 * len(values)))
    for y, (label, row) in enumerate(values.items()):
        if len(row):
            style = look((looks or {}).get(label, label), 0) | {"linestyle": "", "markersize": 8, "alpha": 0.75}
            ax.plot(row, np.full(len(row), y), label="_row", **style)
            median = f"{np.median(row) + 0.0:{'+' if signed else ''}.{digits}f}"
            place: Any = ("axes fraction", "data")
            ax.annotate(median, (1.02, y), xycoords=place, va="center", fontsize=11, annotation_clip=False)
    if line:
        ax.axvline(line[0], color=INK, linestyle=(0, (4, 3)), linewidth=1.2, label="_line")
        above: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        ax.annotate(line[1], (line[0], 1), (0, 3), ha="center", va="bottom", fontsize=11, **above)
    ax.set_yticks(range(len(values)), list(values), fontsize=11.5)
    for text, (label, row) in zip(ax.get_yticklabels(), values.items(), strict=True):
        text.set_fontweight("bold" if label in set(bold) or not len(row) else "normal")
    ax.set(ylim=(len(values) - 0.4, -0.6), xlabel=xlabel)
    if xlim:
        ax.set_xlim(xlim)
    if title:
        ax.set_title(title, pad=24)
    return fig
