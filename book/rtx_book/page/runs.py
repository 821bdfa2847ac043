"""Several runs: one on the page over the recorded ones, two trained in turns, a row of marks for each kind."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_lib.plots.curves import Record, bands, baseline, evaluations, label_lines, name_at
from rtx_lib.plots.style import INK, look


def draw_runs(
    ax: Axes,
    live: Mapping[str, tuple[Any, Any]],
    records: Mapping[str, Sequence[Record]],
    metric: str,
    *,
    looks: Mapping[str, str | int] | None = None,
) -> None:
    """How a metric grew: recorded runs as a band, and over it the run on the page, thin and dotted.

    The bands bear the names, for :func:`~rtx_lib.plots.curves.label_lines` or a legend; a run without records bears
    its name itself.

    Parameters
    ----------
    ax
        Axes to draw in.
    live
        By name the steps and values of the run on the page, such as ``history.curve("accuracy")``.
    records
        By name the recorded runs, where there are any.
    metric
        Of their evaluations.
    looks
        The models whose looks the names have; else those of the names themselves, or of the cycle in order.
    """
    for place, (name, (steps, values)) in enumerate(live.items()):
        style, recorded = look(looks.get(name, name) if looks else name, place), records.get(name)
        if recorded:
            at, rows = evaluations(recorded, metric)
            bands(ax, rows, name, steps=at, **style)
        line: dict[str, Any] = {"color": style["color"], "linestyle": ":", "linewidth": 1.2, "marker": "."}
        ax.plot(steps, values, label="_live" if recorded else name, **line)


def draw_side_by_side(
    records: Sequence[Record],
    names: tuple[str, str],
    *,
    unit: str = "nats",
    line: tuple[float, str] | None = None,
    looks: tuple[str | int, str | int] = (0, 1),
) -> Figure:
    """The loss of two models that were trained in turns for the same time, each of them a line with a band.

    In that time they make unequal numbers of steps. Both are drawn over the steps of the reference, so that points at
    one place took the same time.

    Parameters
    ----------
    records
        Runs of a recipe with a reference, one a seed.
    names
        Of the model and of the reference.
    unit
        Of the loss.
    line
        A loss to compare with, as a dashed line, and its name.
    looks
        The models whose looks they have, or places in the cycle.
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.4))
    for name, kind, key in zip(names, looks, ("loss", "reference_loss"), strict=True):
        steps, values = evaluations(records, key, at="reference_step")
        bands(ax, values, name, steps=steps, **look(kind))
    ax.set(xlabel=f"training step, {names[1]} (both after equal time)", ylabel=f"validation loss ({unit})")
    if line:
        baseline(ax, *line)
    label_lines(ax)
    return fig


def mark_runs(ax: Axes, y: float, values: Any, style: dict[str, Any], start: float | None) -> None:
    """A row of a figure: a mark for each value, in the look of a model, and a bar from ``start`` to their median."""
    if start is not None:
        bar: dict[str, Any] = {"linewidth": 7, "alpha": 0.3, "solid_capstyle": "butt", "zorder": 1.5}
        ax.plot([start, np.median(values)], [y, y], "-", color=style["color"], label="_bar", **bar)
    ax.plot(values, [y] * len(values), label="_row", **style | {"linestyle": "", "markersize": 8, "alpha": 0.75})


def draw_strip_panels(panels: Mapping[str, Mapping[str, Any]], lines: Sequence[float], xlabel: str) -> Figure:
    """The same rows in panels side by side: the values by title and name; the bars lead from each panel's own line."""
    rows = list(dict.fromkeys(name for own in panels.values() for name in own))
    size = (5.8, 1.2 + 0.32 * len(rows))
    fig, ((first, *others),) = plt.subplots(1, len(panels), figsize=size, sharex=True, sharey=True, squeeze=False)
    for ax, (title, own), start in zip((first, *others), panels.items(), lines, strict=True):
        for name, values in own.items():
            mark_runs(ax, rows.index(name), values, look(name, 1), start)
        ax.axvline(start, color=INK, linestyle=(0, (4, 3)), linewidth=1.2, label="_line")
        ax.set_title(title)
    first.set_yticks(range(len(rows)), rows)
    first.set_ylim(len(rows) - 0.4, -0.6)
    fig.supxlabel(xlabel, fontsize=12)
    return fig


def draw_slopes(rows: Mapping[str, Any], places: Sequence[str], ylabel: str, **axes: Any) -> Figure:
    """What a change of place does: by name a thin line for each run, (runs, places), and a thick one for the medians.

    The names stand at the right, beside the lines; they have the looks of models, or of the cycle in order. ``axes``
    are settings of the axes, such as ``ylim``.
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.2))
    for index, (name, values) in enumerate(rows.items()):
        style = look(name, index)
        ax.plot(np.transpose(values), "-", color=style["color"], linewidth=0.9, alpha=0.6, label="_run")
        ax.plot(np.median(values, axis=0), label=name, **style | {"linewidth": 3, "markersize": 9})
    ax.set_xticks(range(len(places)), places)
    ax.set(xlim=(-0.15, len(places) - 0.85), ylabel=ylabel, **axes)
    label_lines(ax)
    return fig


def draw_strips(
    rows: Mapping[str, Sequence[float]],
    xlabel: str,
    *,
    looks: Mapping[str, str | int] | None = None,
    line: tuple[float, str] | None = None,
    title: str = "",
    xlim: tuple[float, float] | None = None,
    digits: int = 3,
    signed: bool = False,
) -> Figure:
    """A row for each entry, from the top: a mark for each value, the medians in figures in a column at the right.

    Where there is a line, a bar leads from it to the median. With every difference of a seed of A and a seed of B as
    the values of a row and ``line=(0, ...)``, one is better with every seed just where all marks lie on one side of
    the line.

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
    digits
        Decimals of the medians.
    signed
        Whether they bear a plus sign too.
    """
    values = {label: np.asarray(row, dtype=float).ravel() for label, row in rows.items()}
    fig, ax = plt.subplots(figsize=(5.8, 0.95 + 0.36 * len(values)))
    for y, (label, row) in enumerate(values.items()):
        if len(row):
            mark_runs(ax, y, row, look((looks or {}).get(label, label), 0), line and line[0])
            median = f"{np.median(row) + 0.0:{'+' if signed else ''}.{digits}f}".replace("-", "−")
            name_at(ax, median, (1.02, y), (0, 0), ("axes fraction", "data"), va="center", annotation_clip=False)
    if line:
        ax.axvline(line[0], color=INK, linestyle=(0, (4, 3)), linewidth=1.2, label="_line")
        name_at(ax, line[1], (line[0], 1), (0, 3), ("data", "axes fraction"), ha="center", va="bottom")
    ax.set_yticks(range(len(values)), list(values), fontsize=12)
    for text, row in zip(ax.get_yticklabels(), values.values(), strict=True):
        text.set_fontweight("normal" if len(row) else "bold")
    ax.set(ylim=(len(values) - 0.4, -0.6), xlabel=xlabel, xlim=xlim)
    ax.set_title(title, pad=24)
    return fig
