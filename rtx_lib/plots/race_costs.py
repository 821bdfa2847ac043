"""What the race costs: the metric against the length of a sequence, and against the cost of the finish line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, NullLocator
from matplotlib.transforms import Bbox

from rtx_lib.plots.curves import spread
from rtx_lib.plots.lanes import FAMILIES, Task, arrange, check_tasks, higher_is_better, is_log, look, three, wrap
from rtx_lib.plots.race_chart import PREFIXES, ticks
from rtx_lib.plots.style import CYCLE, INK, MARKERS

_STRIP = 0.42  # share of the axes that is for the lanes that never reach the line


def draw_lengths(
    task: Task,
    lanes: Mapping[str, str],
    results: Mapping[int, Mapping[str, Mapping[str, Any]]],
    *,
    x_label: str = "length",
    families: Mapping[str, Sequence[str]] = FAMILIES,
) -> Figure:
    """The metric against the length, one small panel for each lane, with the others in grey behind it.

    A seed is a small dash, the median a large mark: filled where every seed is beyond the finish line, else hollow.
    Show it with ``wide=True``.

    Args:
        task: as :mod:`rtx_lib.plots.lanes` describes it.
        lanes: the lanes' names by key.
        results: by length and lane, what ``rtx_lib.evidence.seeds.summarise`` returns. What is missing is left out.
        x_label: what the length is of.
        families: the lanes of each family, which set the order and the colours.

    Raises:
        ValueError: if there is no length or no lane, or the finish line or a baseline cannot be drawn.
    """
    check_tasks({"task": task})
    if not lanes or not results:
        raise ValueError(f"lanes and results must not be empty, held {len(lanes)} lanes and {len(results)} lengths")
    lengths = sorted(results)
    order = [lane for own in arrange(lanes, families).values() for lane in own]
    columns = min(4, len(order))
    height = math.ceil(len(order) / columns)
    fig, grid = plt.subplots(
        height, columns, figsize=(7.5, 0.7 + 1.5 * height), sharex=True, sharey=True, squeeze=False
    )
    medians = {lane: _medians(results, lane, lengths) for lane in order}
    for panel, lane in zip(grid.flat, order, strict=False):
        x, y = _joined(lengths, [medians[other] for other in order if other != lane])
        panel.plot(x, y, color="#808080", linewidth=0.9, alpha=0.5, linestyle="-", label="_others")
        _line_of(panel, task["line"], (0, (4, 2.5)))
        for value in task.get("baselines", {}).values():
            _line_of(panel, value, (0, (1, 2)))
        colour, marker = CYCLE[look(lane, families)[0]], MARKERS[look(lane, families)[0]]
        panel.plot(lengths, medians[lane], color=colour, linewidth=2.2, linestyle="-", label="_lane", zorder=3)
        for length, median in zip(lengths, medians[lane], strict=True):
            result = results[length].get(lane)
            if not result or not np.isfinite(median):
                continue
            seeds = [value for value in result["values"] if value is not None]
            dash = {"linestyle": "none", "color": colour}
            panel.plot([length] * len(seeds), seeds, "_", markersize=9, markeredgewidth=1.3, label="_seeds", **dash)
            every = result.get("solved") and result["solved"] == result["seeds"]
            panel.plot(
                [length],
                [median],
                marker=marker,
                markersize=7.5,
                fillstyle="full" if every else "none",
                zorder=4,
                markeredgewidth=1.6,
                label="_median",
                **dash,
            )
        panel.set_title(wrap(lanes[lane], 22), fontsize=10, linespacing=0.9, pad=4)
        if not np.isfinite(medians[lane]).any():
            panel.text(0.5, 0.5, "no records", transform=panel.transAxes, ha="center", fontsize=9, style="italic")
    first = grid[0, 0]
    first.set_xscale("log")
    first.xaxis.set_minor_locator(NullLocator())
    first.set_xticks(lengths, [str(length) for length in lengths])
    first.set_xlim(lengths[0] / 1.3, lengths[-1] * 1.3)
    if is_log(task):
        first.set_yscale("log")
        first.yaxis.set_minor_locator(NullLocator())
    first.yaxis.set_major_formatter(FuncFormatter(lambda value, _: three(value)))
    for panel in grid.flat:
        panel.tick_params(labelsize=9)
    for panel in list(grid.flat)[len(order) :]:
        panel.set_visible(False)
    for panel in grid.flat[max(0, len(order) - columns) : len(order)]:
        panel.tick_params(axis="x", labelbottom=True)  # also above a corner that is empty
    fig.supxlabel(x_label, fontsize=10)
    fig.supylabel(f"{task.get('label', task['metric'])} ({_direction(task)})", fontsize=10)
    if task["line"] is not None:
        fig.suptitle(f"{task['name']}: dashed, the finish line of {three(task['line'])}", fontsize=10.5)
    return fig


def _joined(lengths: Sequence[int], curves: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Several curves as one that breaks between them: one path in the picture instead of many."""
    x = np.tile([*lengths, np.nan], len(curves))
    return x, np.concatenate([[], *([*curve, np.nan] for curve in curves)])


def _direction(task: Task) -> str:
    return "higher is better" if higher_is_better(task) else "lower is better"


def _line_of(ax: Axes, value: float | None, dots: Any) -> None:
    if value is not None:
        ax.axhline(value, color=INK, linewidth=1.1, linestyle=dots, label="_line", zorder=1)


def _medians(results: Mapping[int, Mapping[str, Mapping[str, Any]]], lane: str, lengths: Sequence[int]) -> np.ndarray:
    found = [(results[length].get(lane) or {}).get("median") for length in lengths]
    return np.array([np.nan if value is None else value for value in found], dtype=float)


def draw_tradeoff(
    ax: Axes,
    task: Task,
    lanes: Mapping[str, str],
    points: Mapping[str, Mapping[str, Any]],
    *,
    x_label: str = "FLOPs to the finish line",
    families: Mapping[str, Sequence[str]] = FAMILIES,
) -> None:
    """The metric against the cost of reaching the finish line, one named mark for each lane.

    Lanes that never reach it stand, hollow, in a strip at the right that says so. Call it last: the names are placed
    by the axes' final size.

    Args:
        ax: axes to draw in.
        task: as :mod:`rtx_lib.plots.lanes` describes it.
        lanes: the lanes' names by key.
        points: by lane, ``cost`` (above 0, or None where the lane never reaches the line) and ``value``, the median of
            the metric. A lane without value is left out.
        x_label: what the cost is, with its unit.
        families: the lanes of each family, for colour and marker.

    Raises:
        ValueError: if a cost is not above 0.
    """
    check_tasks({"task": task})
    drawn = {lane: points[lane] for lane in lanes if lane in points and points[lane].get("value") is not None}
    for lane, point in drawn.items():
        if point["cost"] is not None and not 0 < point["cost"] < math.inf:
            raise ValueError(f"a cost must be above 0 and finite, or None, that of {lane!r} was {point['cost']}")
    costs = [point["cost"] for point in drawn.values() if point["cost"] is not None] or [1.0]
    low, high = min(costs) / 2, max(costs) * 1.6
    never = {lane: point for lane, point in drawn.items() if point["cost"] is None}
    edge = high * (high / low) ** (_STRIP / (1 - _STRIP)) if never else high
    ax.set_xscale("log")
    places = ticks(low, high, True)
    ax.set_xticks(places, [_prefixed(place) for place in places])
    ax.xaxis.set_minor_locator(NullLocator())
    if is_log(task):
        ax.set_yscale("log")
        ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: three(value)))
    ax.set_xlim(low, edge)
    if task["line"] is not None:
        _line_of(ax, task["line"], (0, (4, 2.5)))
        ax.annotate(
            f"finish line {three(task['line'])}",
            (0.01, task["line"]),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            fontsize=9.5,
        )
    for lane, point in drawn.items():
        x, fill = (high * (edge / high) ** 0.08, "none") if lane in never else (point["cost"], "full")
        family = look(lane, families)[0]
        ax.plot(
            [x],
            [point["value"]],
            color=CYCLE[family],
            marker=MARKERS[family],
            markersize=8,
            linestyle="none",
            fillstyle=fill,
            markeredgewidth=1.6,
            label=f"_{lane}",
        )
    ax.margins(y=0.12)
    ax.set(xlabel=x_label, ylabel=f"{task.get('label', task['metric'])} ({_direction(task)})")
    if never:
        ax.axvspan(high, edge, color="#808080", alpha=0.15, linewidth=0, label="_never")
        ax.annotate(
            "never reaches it",
            (1 - _STRIP / 2, 1),
            xycoords="axes fraction",
            xytext=(0, 3),
            ha="center",
            textcoords="offset points",
            fontsize=10,
        )
    free = {lane: point for lane, point in drawn.items() if lane not in never}
    _name_points(ax, [(wrap(lanes[lane], 20), p["cost"], float(p["value"])) for lane, p in free.items()])
    _name_column(ax, [(lanes[lane], float(point["value"])) for lane, point in never.items()])


def _prefixed(value: float) -> str:
    """A large number in thousands, millions and so on: ``200 G``."""
    power = min(len(PREFIXES) - 1, max(0, math.floor(math.log10(value) / 3 + 1e-9)))
    return f"{value / 1000**power:.3g} {PREFIXES[power]}".strip()


def _name_column(ax: Axes, places: Sequence[tuple[str, float]], fontsize: float = 9.5) -> None:
    """Write the names of the points in the strip one below the other, each with a line to its point."""
    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()
    pixel = figure.dpi / 72
    ends = sorted((float(ax.transData.transform((1.0, value))[1]), name, value) for name, value in places)
    heights = spread([end[0] for end in ends], 1.25 * fontsize * pixel, ax.bbox.y0 + 8 * pixel, ax.bbox.y1 - 8 * pixel)
    for (_, name, value), height in zip(ends, heights, strict=True):
        at = ax.transAxes.inverted().transform((0.0, height))[1]
        ax.annotate(
            name,
            (1 - _STRIP * 0.92, value),
            xycoords=("axes fraction", "data"),
            xytext=(1 - _STRIP * 0.83, at),
            textcoords="axes fraction",
            va="center",
            fontsize=fontsize,
            arrowprops={
                "arrowstyle": "-",
                "color": INK,
                "linewidth": 0.7,
                "shrinkA": 0,
                "shrinkB": 5,
                "relpos": (0, 0.5),
            },
        )


def _name_points(ax: Axes, places: Sequence[tuple[str, float, float]], fontsize: float = 9.5) -> None:
    """Write each point's name beside it, where it covers neither a point nor another name, with a line if it is far."""
    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()
    pixel = figure.dpi / 72
    inside = ax.get_window_extent()
    written = [text.get_window_extent() for text in ax.texts]
    heights = [float(line.get_window_extent().y0) for line in ax.get_lines() if line.get_label() == "_line"]
    at = [ax.transData.transform((x, y)) for _, x, y in places]
    taken = [Bbox.from_bounds(x - 6 * pixel, y - 6 * pixel, 12 * pixel, 12 * pixel) for x, y in at]
    taken += written + [Bbox.from_extents(inside.x0, y - pixel, inside.x1, y + pixel) for y in heights]
    offsets = [
        (side * reach, step)
        for reach in (8, 22, 40)
        for step in (0, 9, -9, 18, -18, 28, -28, 40, -40, 54, -54)
        for side in (1, -1)
    ] + [(0, step) for step in (13, -13, 26, -26, 40, -40)]
    for i in sorted(range(len(places)), key=lambda i: (-at[i][0], at[i][1])):
        name = places[i][0]
        best = None
        for dx, dy in offsets:
            align = "left" if dx > 0 else "right" if dx < 0 else "center"
            text = ax.annotate(
                name,
                places[i][1:],
                xytext=(dx, dy),
                textcoords="offset points",
                ha=align,
                va="center",
                fontsize=fontsize,
                linespacing=0.95,
                annotation_clip=False,
                arrowprops={
                    "arrowstyle": "-",
                    "color": INK,
                    "linewidth": 0.7,
                    "shrinkA": 0,
                    "shrinkB": 5,
                    "relpos": ({"left": 0, "right": 1}.get(align, 0.5), 0.5),
                }
                if abs(dy) > 9 or abs(dx) > 8
                else None,
            )
            text.get_window_extent()  # puts the text where it belongs; that of the text alone has no line to the point
            box = Text.get_window_extent(text)
            others = [*taken[:i], *taken[i + 1 :]]
            bad = sum(box.overlaps(other) for other in others) + 5 * (
                box.x0 < inside.x0 or box.x1 > inside.x1 or box.y0 < inside.y0 or box.y1 > inside.y1
            )
            if best is None or bad < best[0]:
                if best is not None:
                    best[1].remove()
                best = (bad, text, box)
            else:
                text.remove()
            if best[0] == 0:
                break
        if best is not None:
            taken.append(best[2])
