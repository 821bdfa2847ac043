"""The race by length: the metric of each model against the length of the sequence."""

import itertools
import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from rtx_lib.plots.curves import wrap
from rtx_lib.plots.lanes import Summary, Task, arrange, check_tasks, described, mark_seeds, metric_axis, three
from rtx_lib.plots.style import GREY, INK, look


def draw_lengths(
    task: Task, lanes: Mapping[str, str], results: Mapping[int, Mapping[str, Summary]], *, x_label: str
) -> Figure:
    """The metric against the length, one small panel for each lane, with the others in grey behind it.

    A seed is a small dash, the median a large mark: filled where every seed is beyond the finish line, half filled
    where some are, else hollow. Show it with ``wide=True``.

    Parameters
    ----------
    task
        As :mod:`rtx_lib.plots.lanes` describes it.
    lanes
        The lanes' names by key.
    results
        By length and lane, the summary of its seeds. What is missing is left out.
    x_label
        What the length is of.

    Raises
    ------
    ValueError
        If there is no length or no lane, or the finish line or a baseline cannot be drawn.
    """
    check_tasks({"task": task})
    if not lanes or not results:
        raise ValueError(f"lanes and results must not be empty, got {len(lanes)} lanes and {len(results)} lengths")
    lengths = sorted(results)
    order = list(itertools.chain(*arrange(lanes).values()))
    found = {lane: {length: results[length][lane] for length in lengths if results[length].get(lane)} for lane in order}
    medians = {lane: [own[T]["median"] if T in own else None for T in lengths] for lane, own in found.items()}
    curves = {lane: np.array(own, dtype=float) for lane, own in medians.items()}  # None turns to NaN
    columns = min(4, len(order))
    height = math.ceil(len(order) / columns)
    size = (7.5, 0.7 + 1.5 * height)
    fig, grid = plt.subplots(height, columns, figsize=size, sharex=True, sharey=True, squeeze=False)
    for ax, lane in zip(grid.flat, order, strict=False):
        _length_panel(ax, task, lane, curves, lengths)
        for length, result in found[lane].items():
            mark_seeds(ax, lane, length, result, upright=True)
        ax.set_title(wrap(lanes[lane], 22), fontsize=10, linespacing=0.9, pad=4)
    first = grid[0, 0]
    first.set_xscale("log")
    first.xaxis.set_minor_locator(NullLocator())
    first.set_xticks(lengths, [str(length) for length in lengths])
    first.set_xlim(lengths[0] / 1.3, lengths[-1] * 1.3)
    metric_axis(first, "y", task)
    for i, ax in enumerate(grid.flat):
        ax.tick_params(labelsize=9)
        ax.set_visible(i < len(order))
        if len(order) - columns <= i < len(order):
            ax.tick_params(axis="x", labelbottom=True)  # also above a corner that is empty
    fig.supxlabel(x_label, fontsize=10)
    fig.supylabel(described(task), fontsize=10)
    if task["line"] is not None:
        fig.suptitle(f"{task['name']}: dashed, the finish line of {three(task['line'])}", fontsize=10.5)
    return fig


def _length_panel(ax: Axes, task: Task, lane: str, curves: Mapping[str, np.ndarray], lengths: Sequence[int]) -> None:
    """A lane's curve of medians over those of the others, and the lines of its task."""
    behind = [[*curve, np.nan] for other, curve in curves.items() if other != lane]  # one line that breaks between
    x, y = np.tile([*lengths, np.nan], len(behind)), np.concatenate([[], *behind])
    ax.plot(x, y, color=GREY, linewidth=0.9, alpha=0.5, linestyle="-", label="_others")
    dotted = [(value, (0, (1, 2))) for value in task["baselines"].values()]
    for value, dots in [(task["line"], (0, (4, 2.5))), *dotted]:
        if value is not None:
            ax.axhline(value, color=INK, linewidth=1.1, linestyle=dots, label="_line", zorder=1)
    ax.plot(lengths, curves[lane], color=look(lane)["color"], linewidth=2.2, linestyle="-", label="_lane", zorder=3)
    if not np.isfinite(curves[lane]).any():
        ax.text(0.5, 0.5, "no records", transform=ax.transAxes, ha="center", fontsize=9, style="italic")
