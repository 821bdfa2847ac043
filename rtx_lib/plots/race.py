"""The race in one figure: every model on every task, each seed a mark, with the finish lines. And a seed's ranking."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator

from rtx_lib.plots.curves import name_at
from rtx_lib.plots.lanes import (
    Summary,
    Task,
    arrange,
    check_tasks,
    is_log,
    mark_seeds,
    metric_axis,
    reached,
    rises,
    three,
)
from rtx_lib.plots.style import INK, look

_DASHED, _DOTTED = (0, (4, 2.5)), (0, (1, 2))


def draw_race(
    tasks: Mapping[str, Task], lanes: Mapping[str, str], results: Mapping[str, Mapping[str, Summary]]
) -> Figure:
    """One panel for each task, one row for each lane, better always to the right: which models reach the finish line.

    Each seed is a small mark and the median a large one, with the range of the seeds as a line: filled where every
    seed is beyond the finish line, half filled where some are, hollow where none is. A run that diverged is a cross
    at the left edge. Show it with ``wide=True``.

    Parameters
    ----------
    tasks
        By key, as :mod:`rtx_lib.plots.lanes` describes them.
    lanes
        The lanes' names by key.
    results
        By task and lane, the summary of its seeds. Where a lane is missing, its row says so.

    Raises
    ------
    ValueError
        If there is no task or no lane, or a finish line or baseline cannot be drawn.
    """
    check_tasks(tasks)
    if not lanes:
        raise ValueError("lanes must hold at least one lane, got none")
    rows: dict[str, float] = {}
    for i, own in enumerate(arrange(lanes).values()):
        rows |= {lane: len(rows) + j + 0.45 * i for j, lane in enumerate(own)}
    bottom = max(rows.values()) + 0.7
    size = (7.5, 1.55 + 0.205 * (bottom + 1.6))  # 720 px wide, the width of a page, and low enough for its first screen
    fig, (panels,) = plt.subplots(1, len(tasks), figsize=size, sharey=True, squeeze=False)
    panels[0].set_ylim(bottom, -1.6)  # the line above the first row is for the names of the baselines
    for ax, (key, task) in zip(panels, tasks.items(), strict=True):
        _panel(ax, task, rows, {lane: own for lane, own in results.get(key, {}).items() if lane in rows and own})
    names, above = [], ""
    for lane in rows:  # what is a variant of the row above says only what differs: low rows hold one line
        names.append(lanes[lane].removeprefix(f"{above} "))
        above = lanes[lane]
    panels[0].set_yticks(list(rows.values()), names, fontsize=9.5)
    _legend(fig)
    return fig


def _panel(ax: Axes, task: Task, rows: Mapping[str, float], results: Mapping[str, Summary]) -> None:
    """One task: its marks, lines, axis and what it shows."""
    metric_axis(ax, "x", task)
    for lane, y in rows.items():
        _row(ax, lane, y, results.get(lane))
    lines = {"": task["line"], **task["baselines"]}
    marks = {name: float(value) for name, value in lines.items() if value is not None}
    for name, value in marks.items():
        dots, width = (_DOTTED, 1.0) if name else (_DASHED, 1.3)
        ends = [max(ax.get_ylim()), min(ax.get_ylim()) + 0.7]  # below the names
        ax.plot([value, value], ends, color=INK, linewidth=width, linestyle=dots, marker="", zorder=1)
    ax.margins(x=0.12)
    ax.xaxis.set_inverted(not rises(task))
    ax.xaxis.set_major_locator(LogLocator(10, numticks=3) if is_log(task) else MaxNLocator(3, steps=[1, 2, 5, 10]))
    ax.tick_params(axis="x", labelsize=9)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", alpha=0)
    ax.set_xlabel(f"{task['label']}\nbetter →", fontsize=9.5)
    ax.get_xlim()  # settles where the lines stand
    for name, value in marks.items():
        at = (ax.transData - ax.transAxes).transform((value, 0))[0]
        side, shift = ("right", 4) if at > 0.6 else ("left", -4)  # where there is more room
        font: dict[str, Any] = {"ha": side, "va": "center", "fontsize": 8.5, "annotation_clip": False}
        name_at(ax, name, (value, -1.15), (shift, 0), **font).set_in_layout(False)
    beyond = sum(reached(result) == "full" for result in results.values())
    finding = ""
    if results and task["line"] is not None:  # in three short lines: panels stand close
        finding = f"{beyond} of {len(results)} models\nreach {three(task['line'])}\nwith every seed"
    ax.set_title(task["name"], fontsize=10.5, fontweight="bold", pad=40)
    name_at(ax, finding, (0.5, 1), (0, 5), "axes fraction", ha="center", fontsize=9, linespacing=1.15)


def _row(ax: Axes, lane: str, y: float, result: Summary | None) -> None:
    """A lane's seeds, their median and their range; crosses at the edge for those that diverged."""
    across = ax.get_yaxis_transform()
    if not result:
        ax.text(0.5, y, "no records", transform=across, ha="center", va="center", fontsize=8.5, style="italic")
        return
    colour = look(lane)["color"]
    if crosses := result["diverged"]:
        style: dict[str, Any] = {"markersize": 5, "markeredgewidth": 1.5, "clip_on": False, "label": "_diverged"}
        ax.plot(0.03 + 0.07 * np.arange(crosses), [y] * crosses, "x", transform=across, color=colour, **style)
    if result["values"]:
        ax.plot([result["low"], result["high"]], [y, y], "-", color=colour, linewidth=2.6, label="_range")
    mark_seeds(ax, lane, y, result)


def _legend(fig: Figure) -> None:
    """What the marks say, below the panels."""
    plain: dict[str, Any] = {"linestyle": "none", "color": INK, "markeredgewidth": 1.5, "markerfacecoloralt": "none"}
    looks: dict[str, dict[str, Any]] = {
        "finish line": {"linewidth": 1.3, "linestyle": _DASHED},
        "all seeds reach it": {"marker": "o", "markersize": 8},
        "some": {"marker": "o", "markersize": 8, "fillstyle": "right"},
        "none": {"marker": "o", "markersize": 8, "fillstyle": "none"},
        "a seed": {"marker": "|", "markersize": 8},
        "range": {"linewidth": 2.6, "linestyle": "-"},
        "diverged": {"marker": "x", "markersize": 5},
    }
    handles = [Line2D([], [], label=label, **plain | own) for label, own in looks.items()]
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": len(handles), "fontsize": 9}
    fig.legend(handles=handles, handletextpad=0.4, columnspacing=1.2, **place)


def describe_race(
    tasks: Mapping[str, Task], lanes: Mapping[str, str], results: Mapping[str, Mapping[str, Summary]]
) -> str:
    """What :func:`draw_race` shows, in words: how many lanes cross each finish line, and which is best, or are where
    medians tie."""
    check_tasks(tasks)
    told = [_told(task, lanes, results.get(key, {})) for key, task in tasks.items()]
    return f"{len(lanes)} models on {len(tasks)} tasks. {'. '.join(told)}."


def _told(task: Task, lanes: Mapping[str, str], results: Mapping[str, Summary]) -> str:
    """One task in words."""
    own = {lane: results[lane] for lane in lanes if results.get(lane)}
    medians = {lane: result["median"] for lane, result in own.items() if result["values"]}
    if not medians:
        return f"{task['name']}: no records"
    best = (max if rises(task) else min)(medians.values())
    *others, last = [lanes[lane] for lane, median in medians.items() if median == best]
    first = f"best are {', '.join(others)} and {last}" if others else f"best is {last}"
    if task["line"] is None:
        return f"{task['name']}: {first} with a median {task['label']} of {three(best)}"
    names = [lanes[lane] for lane, result in own.items() if reached(result) == "full"]
    who = f" ({', '.join(names)})" if 0 < len(names) < 5 else ""
    some = sum(reached(result) == "right" for result in own.values())
    return (
        f"{task['name']}: {len(names)} of {len(own)} models cross the line of {three(task['line'])} with every "
        f"seed{who}, {some} with some; {first}, median {task['label']} {three(best)}"
    )


# ---- the ranking that a single seed gives


def _ranked(task: Task, values: Mapping[str, Mapping[int, float]], seed: int) -> dict[str, float]:
    """What each lane reached with this seed, the best first."""
    found = {lane: own[seed] for lane, own in values.items() if seed in own}
    if not found:
        raise ValueError(f"seed must be one that a lane has, got {seed}")
    return dict(sorted(found.items(), key=lambda item: item[1], reverse=rises(task)))


def draw_ranking(task: Task, lanes: Mapping[str, str], values: Mapping[str, Mapping[int, float]], seed: int) -> Figure:
    """The lanes from best to worst as one seed ranks them, a large mark each; thin marks are the other seeds.

    Parameters
    ----------
    task
        As :mod:`rtx_lib.plots.lanes` describes it.
    lanes
        The lanes' names by key.
    values
        By lane and seed, the metric.
    seed
        The one that ranks. Lanes without it are left out.

    Raises
    ------
    ValueError
        If no lane has the seed.
    """
    found = _ranked(task, values, seed)
    fig, ax = plt.subplots(figsize=(5.8, 1.0 + 0.26 * len(found)))
    for y, (lane, value) in enumerate(found.items()):
        style = look(lane) | {"linestyle": "none", "markersize": 9}
        others = list(values[lane].values())
        ax.plot(others, [y] * len(others), alpha=0.6, label="_seeds", **style | {"marker": "|"})
        ax.plot([value], [y], label="_seed", **style)
    names = [f"{place}. {lanes[lane]}" for place, lane in enumerate(found, start=1)]
    ax.set_yticks(range(len(names)), names, fontsize=12)
    ax.set(ylim=(len(names) - 0.5, -0.5), xlabel=f"{task['name']}: {task['label']}, better to the right")
    ax.set_xscale("log" if is_log(task) else "linear")
    ax.xaxis.set_inverted(not rises(task))
    fig.suptitle(f"Seed {seed} names {lanes[next(iter(found))]} the best", fontsize=12.5)
    return fig


def describe_ranking(task: Task, lanes: Mapping[str, str], values: Mapping[str, Mapping[int, float]], seed: int) -> str:
    """What :func:`draw_ranking` shows, in words."""
    told = ", ".join(f"{lanes[lane]} {three(value)}" for lane, value in _ranked(task, values, seed).items())
    return f"{task['name']} with seed {seed}, best first: {told}"
