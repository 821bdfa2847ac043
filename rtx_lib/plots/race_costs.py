"""What the race costs: the metric against the length of a sequence, and against the cost of the finish line."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator
from matplotlib.transforms import Bbox

from rtx_lib.plots.curves import baseline, name_at, wrap
from rtx_lib.plots.lanes import Summary, Task, arrange, check_tasks, described, mark_seeds, metric_axis, three
from rtx_lib.plots.style import GREY, INK, look

_STRIP = 0.42  # share of the axes that is for the lanes that never reach the line
_LEADER: dict[str, Any] = {"arrowstyle": "-", "color": INK, "linewidth": 0.7, "shrinkA": 0, "shrinkB": 5}
_SIDES = {1: ("left", 0.0), -1: ("right", 1.0), 0: ("center", 0.5)}  # of a name: its end that is nearer to its point


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


def draw_tradeoff(
    ax: Axes, task: Task, lanes: Mapping[str, str], points: Mapping[str, Mapping[str, Any]], *, x_label: str
) -> None:
    """The metric against the cost of reaching the finish line, one named mark for each lane.

    Lanes that never reach it stand, hollow, in a strip at the right that says so. Call it last: the names are placed
    by the axes' final size.

    Parameters
    ----------
    ax
        Axes to draw in.
    task
        As :mod:`rtx_lib.plots.lanes` describes it.
    lanes
        The lanes' names by key.
    points
        By lane, ``cost`` (above 0, or None where the lane never reaches the line) and ``value``, the median of the
        metric. A lane without value is left out.
    x_label
        What the cost is, with its unit.

    Raises
    ------
    ValueError
        If a cost is not above 0.
    """
    check_tasks({"task": task})
    drawn = {lane: points[lane] for lane in lanes if points.get(lane, {}).get("value") is not None}
    for lane, point in drawn.items():
        if point["cost"] is not None and not 0 < point["cost"] < math.inf:
            raise ValueError(f"points[{lane!r}]['cost'] must be above 0 and finite, or None, got {point['cost']}")
    costs = [point["cost"] for point in drawn.values() if point["cost"] is not None] or [1.0]
    low, high = min(costs) / 2, max(costs) * 1.6
    edge = high * (high / low) ** (_STRIP / (1 - _STRIP)) if len(costs) < len(drawn) else high
    _cost_axis(ax, low, high, edge)
    metric_axis(ax, "y", task)
    if task["line"] is not None:
        baseline(ax, task["line"], f"finish line {three(task['line'])}")
    places = []
    for lane, point in drawn.items():
        never = point["cost"] is None
        x = high * (edge / high) ** 0.08 if never else point["cost"]
        style = look(lane) | {"linestyle": "none", "fillstyle": "none" if never else "full"}
        ax.plot([x], [point["value"]], markersize=8, markeredgewidth=1.6, label=f"_{lane}", **style)
        places.append((wrap(lanes[lane]), x, float(point["value"])))
    ax.margins(y=0.12)
    ax.set(xlabel=x_label, ylabel=described(task))
    _name_points(ax, places)


def _cost_axis(ax: Axes, low: float, high: float, edge: float) -> None:
    """Costs on logarithms from low to high, in thousands, millions and so on; from there to the edge a strip."""
    ax.set_xscale("log")
    decades = math.log10(high / low)
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0,) if decades >= 2 else (1.0, 2.0, 5.0)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlim(low, edge)
    places = [place for place in ax.get_xticks() if low <= place <= high]
    unit = EngFormatter(sep=" ")
    ax.set_xticks(places, [unit(place).strip() if place >= 1 else three(place) for place in places])
    if edge > high:
        ax.axvspan(high, edge, color=GREY, alpha=0.15, linewidth=0, label="_never")
        name_at(ax, "never reaches it", (1 - _STRIP / 2, 1), (0, 3), "axes fraction", ha="center", fontsize=10)


def _name_points(ax: Axes, places: Sequence[tuple[str, float, float]]) -> None:
    """Write each point's name beside it, where it covers neither a point nor another name, with a line if it is far."""
    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()  # settles the layout
    pixel, inside = figure.dpi / 72, ax.get_window_extent()
    at = [ax.transData.transform(place[1:]) for place in places]
    taken = [Text.get_window_extent(text) for text in ax.texts]
    taken += [Bbox.from_bounds(x - 6 * pixel, y - 6 * pixel, 12 * pixel, 12 * pixel) for x, y in at]
    for line in ax.get_lines():
        if line.get_label() == "_baseline":
            height = line.get_window_extent().y0
            taken.append(Bbox.from_extents(inside.x0, height - pixel, inside.x1, height + pixel))
    steps = [sign * step for step in (0, 9, 18, 28, 40, 54, 70) for sign in (1, -1)]
    beside = [(side * reach, step) for reach in (8, 22, 40) for step in steps for side in (1, -1)]
    offsets = beside + [(0, step) for step in (13, -13, 26, -26, 40, -40)]

    for i in sorted(range(len(places)), key=lambda i: (-at[i][0], at[i][1])):
        name, x, y = places[i]
        style: dict[str, Any] = {"fontsize": 9.5, "linespacing": 0.95, "va": "center"}
        measure = ax.text(x, y, name, **style)
        boxes = [_box(at[i], Text.get_window_extent(measure), dx * pixel, dy * pixel) for dx, dy in offsets]
        measure.remove()
        bad = [box.count_overlaps(taken) + 5 * (inside.count_contains(box.corners()) < 4) for box in boxes]
        best = int(np.argmin(bad))  # the first, and so the nearest, of the least
        taken.append(boxes[best])
        dx, dy = offsets[best]
        align, end = _SIDES[int(np.sign(dx))]
        leader = _LEADER | {"relpos": (end, 0.5)} if abs(dy) > 9 or abs(dx) > 8 else None
        name_at(ax, name, (x, y), (dx, dy), ha=align, annotation_clip=False, arrowprops=leader, **style)


def _box(at: np.ndarray, text: Bbox, dx: float, dy: float) -> Bbox:
    """Where a text stands that is set off from a place in the picture."""
    left = at[0] + dx - _SIDES[int(np.sign(dx))][1] * text.width
    return Bbox.from_bounds(left, at[1] + dy - text.height / 2, text.width, text.height)
