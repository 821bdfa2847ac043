"""Two tasks of the race against each other: which lane does both."""

import textwrap
from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from rtx_lib.plots.lanes import Summary, Task, check_tasks, reached, rises
from rtx_lib.plots.style import INK, look

Results = Mapping[str, Mapping[str, Summary]]


def draw_two_tasks(tasks: Mapping[str, Task], lanes: Mapping[str, str], results: Results) -> Figure:
    """Two tasks against each other: who crosses the finish line of both, of one alone, and of neither.

    A mark is a lane's medians, a thin line the range of its seeds. It is filled where every seed is beyond both lines,
    half filled where some are beyond each, else hollow. The names stand beside the marks, by the medians.

    Parameters
    ----------
    tasks
        Two by key, as :mod:`rtx_lib.plots.lanes` describes them: the first to the right, the second upwards.
    lanes
        The lanes' names by key.
    results
        By task and lane, the summary of its seeds. What has no median on both tasks is left out.

    Raises
    ------
    ValueError
        If there are not two tasks, each with a finish line that can be drawn.
    """
    _check_two(tasks)
    right, top = tasks.values()
    fig, ax = plt.subplots(figsize=(4.45, 3))  # with texts of 9 points a phone shows it whole
    for lane in _crossed(tasks, lanes, results):
        own = [results[key][lane] for key in tasks]
        x, y = (result["median"] for result in own)
        style: dict[str, Any] = {"color": look(lane)["color"], "label": f"_{lane}"}
        for xs, ys in (((own[0]["low"], own[0]["high"]), (y, y)), ((x, x), (own[1]["low"], own[1]["high"]))):
            ax.plot(xs, ys, linestyle="-", linewidth=1.2, alpha=0.6, **style)
        fill = min((reached(result) for result in own), key=("none", "right", "full").index)
        mark: dict[str, Any] = {"marker": look(lane)["marker"], "markersize": 9, "markeredgewidth": 1.4, "zorder": 4}
        ax.plot([x], [y], linestyle="none", fillstyle=fill, markerfacecoloralt="none", **mark, **style)
    ax.axvline(right["line"], color=INK, linewidth=1, linestyle=(0, (4, 2.5)), zorder=1)
    ax.axhline(top["line"], color=INK, linewidth=1, linestyle=(0, (4, 2.5)), zorder=1)
    for beyond, names in _quarters(tasks, lanes, results).items():
        side: dict[str, Any] = {"x": 0.92, "ha": "right"} if beyond[0] else {"x": 0.11, "ha": "left"}
        side |= {"va": "top", "fontsize": 9, "transform": ax.transAxes}
        height = 0.92 if beyond[1] else 0.62
        ax.text(y=height, s=_called(beyond, tasks), fontweight="bold", **side)
        ax.text(y=height - 0.07, s=textwrap.fill(", ".join(names), 18 if beyond[0] else 27), **side)
    ax.set(xlabel=f"{right['name']}: {right['label']}", ylabel=f"{top['name']}: {top['label']}")
    return fig


def describe_two_tasks(tasks: Mapping[str, Task], lanes: Mapping[str, str], results: Results) -> str:
    """What :func:`draw_two_tasks` shows, in words: by the medians, who is beyond which line."""
    _check_two(tasks)
    told = [f"{_called(key, tasks)}: {', '.join(own)}" for key, own in _quarters(tasks, lanes, results).items()]
    return f"Medians beyond the finish lines. {'; '.join(told)}."


def _check_two(tasks: Mapping[str, Task]) -> None:
    check_tasks(tasks)
    if len(tasks) != 2 or any(task["line"] is None for task in tasks.values()):
        raise ValueError(f"tasks must be two with a finish line each, got {list(tasks)}")


def _crossed(tasks: Mapping[str, Task], lanes: Mapping[str, str], results: Results) -> dict[str, tuple[bool, ...]]:
    """By lane, whether its median is beyond the line of each task."""
    found = {}
    for lane in lanes:
        medians = [results.get(key, {}).get(lane, {}).get("median") for key in tasks]
        if None not in medians:
            pairs = zip(tasks.values(), medians, strict=True)
            found[lane] = tuple(m >= task["line"] if rises(task) else m <= task["line"] for task, m in pairs)
    return found


def _quarters(
    tasks: Mapping[str, Task], lanes: Mapping[str, str], results: Results
) -> dict[tuple[bool, ...], list[str]]:
    """The names of the lanes by what they cross; both first."""
    crossed = _crossed(tasks, lanes, results)
    keys = [(True, True), (True, False), (False, True), (False, False)]
    found = {key: [lanes[lane] for lane, own in crossed.items() if own == key] for key in keys}
    return {key: own for key, own in found.items() if own}


def _called(beyond: tuple[bool, ...], tasks: Mapping[str, Task]) -> str:
    """What a quarter of the figure is called."""
    names = [task["name"] for task, crossed in zip(tasks.values(), beyond, strict=True) if crossed]
    return "Both" if len(names) == 2 else f"{names[0]} alone" if names else "Neither"
