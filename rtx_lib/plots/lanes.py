"""What is raced: lanes by family, tasks with a finish line, curves over seeds, and the reader's own run among them.

A *lane* is a model. A task is described by a mapping with

- ``name``: what it is called;
- ``metric``: ``"accuracy"`` (reached from below) or another (``"mse"``, ``"loss"``, reached from above);
- ``line``: the finish line, a value of the metric, or None;
- ``label``: the metric as the axis says it; the metric's name by default;
- ``baselines``: values of the metric by name, what is reached without learning;
- ``log``: whether the metric's axis is logarithmic; of ``"mse"`` by default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_lib.plots.curves import label_lines
from rtx_lib.plots.style import CYCLE, DASHES, INK, MARKERS

FAMILIES: dict[str, tuple[str, ...]] = {
    "recurrent": ("rnn", "irnn", "lstm", "gru", "deep-gru", "indrnn"),
    "convolution": ("tcn",),
    "between": ("r-transformer",),
    "attention": ("transformer", "transformer-none", "transformer-xl"),
}
"""The lanes of each family, in the order in which they are drawn. A lane that is not named here comes last."""

Task = Mapping[str, Any]


def arrange(lanes: Mapping[str, str], families: Mapping[str, Sequence[str]] = FAMILIES) -> dict[str, list[str]]:
    """The given lanes by family, in the families' order; what belongs to none is of the family ``"other"``."""
    order = {family: [lane for lane in own if lane in lanes] for family, own in families.items()}
    known = {lane for own in families.values() for lane in own}
    order["other"] = [*order.get("other", []), *(lane for lane in lanes if lane not in known)]
    return {family: own for family, own in order.items() if own}


def look(lane: str, families: Mapping[str, Sequence[str]] = FAMILIES) -> tuple[int, int]:
    """Indices of a lane's look: of its colour, one for each family, and of its dash pattern and marker among curves.

    The first lane of each family has a pattern of its own, so that families are told apart without colour.
    """
    for number, own in enumerate(families.values()):
        if lane in own:
            return number % len(CYCLE), (number + list(own).index(lane)) % len(DASHES)
    return len(CYCLE) - 1, 0


def higher_is_better(task: Task) -> bool:
    """Whether the finish line of a task is reached from below."""
    return bool(task["metric"] == "accuracy")


def is_log(task: Task) -> bool:
    """Whether a task's metric is drawn on logarithms."""
    return bool(task.get("log", task["metric"] == "mse"))


def three(value: float) -> str:
    """A number with three significant digits: ``0.0123``, ``1,230``, ``1.23e-5``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not 1e-3 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:.3g}"


def check_tasks(tasks: Mapping[str, Task]) -> None:
    """Raise ValueError unless there is a task and each has a name, a metric and a finish line that can be drawn."""
    if not tasks:
        raise ValueError("tasks must hold at least one task, held none")
    for key, task in tasks.items():
        if missing := {"name", "metric", "line"} - set(task):
            raise ValueError(f"tasks[{key!r}] must have a name, a metric and a line, lacked {sorted(missing)}")
        for what, value in {"line": task["line"], **task.get("baselines", {})}.items():
            if value is not None and not (math.isfinite(value) and (value > 0 or not is_log(task))):
                raise ValueError(f"tasks[{key!r}]: {what} must be finite, and above 0 on logarithms, was {value}")


def wrap(name: str, width: int = 20) -> str:
    """A name longer than ``width`` in two lines, broken at the space nearest to its middle."""
    if len(name) <= width or " " not in name:
        return name
    spaces = [i for i, letter in enumerate(name) if letter == " "]
    middle = min(spaces, key=lambda i: abs(i - len(name) / 2))
    return f"{name[:middle]}\n{name[middle + 1 :]}"


def draw_lane(
    ax: Axes,
    runs: Sequence[Mapping[str, Any]],
    yours: Mapping[str, Any] | None,
    finish: tuple[str, float | None],
    *,
    families: Mapping[str, Sequence[str]] = FAMILIES,
) -> None:
    """The reader's own run over the recorded ones of one task: medians of the lanes, thin, and one strong line.

    For a figure that is drawn again while the run goes on.

    Args:
        ax: axes to draw in.
        runs: of one task: ``lane``, ``name``, ``seed``, ``steps``, ``values`` of each.
        yours: the reader's run: ``name``, ``steps``, ``values``; None or empty before it starts.
        finish: the metric and the finish line's value, or None.
        families: the lanes of each family, for the colours.

    Raises:
        ValueError: if the steps and values of the reader's run differ in number.
    """
    metric, line = finish
    if yours and len(yours["steps"]) != len(yours["values"]):
        raise ValueError(
            f"yours must hold as many steps as values, held {len(yours['steps'])} and {len(yours['values'])}"
        )
    task = {"metric": metric}
    for lane in dict.fromkeys(run["lane"] for run in runs):
        steps, middle, _, _ = over_seeds([run for run in runs if run["lane"] == lane], metric == "accuracy")
        family, member = look(lane, families)
        dash = {"color": CYCLE[family], "linestyle": DASHES[member]}
        ax.plot(steps, middle, linewidth=1.1, alpha=0.7, label=f"_{lane}", **dash)
    if line is not None:
        ax.axhline(line, color=INK, linestyle=(0, (4, 3)), linewidth=1.2, label="_finish")
        ax.annotate(
            f"finish line {three(line)}",
            (1, line),
            xycoords=("axes fraction", "data"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=10,
        )
    if yours and len(yours["steps"]):
        ax.plot(
            yours["steps"],
            yours["values"],
            color=INK,
            linestyle="-",
            linewidth=3,
            marker="*",
            markersize=10,
            markevery=max(1, len(yours["steps"]) // 8),
            label=f"your run: {yours['name']}",
            zorder=5,
        )
        ax.legend(loc="best")
    if is_log(task):
        ax.set_yscale("log")
    ax.set(xlabel="training steps", ylabel=f"{metric}, {'higher' if metric == 'accuracy' else 'lower'} is better")


def lane_lines(
    ax: Axes,
    curves: Mapping[str, tuple[Any, Any]],
    lanes: Mapping[str, str],
    *,
    floor: float | None = None,
    every: int = 1,
    families: Mapping[str, Sequence[str]] = FAMILIES,
) -> None:
    """One line for each lane, in the colour, the dash pattern and with the marks that it has everywhere.

    Args:
        ax: axes to draw in. Name the lines with :func:`~rtx_lib.plots.curves.label_lines` once its limits are set.
        curves: x and y of each lane, (N,) both.
        lanes: the lanes' names by key.
        floor: smaller values are drawn there, for a logarithmic axis.
        every: one mark for so many points.
        families: the lanes of each family, for the look.

    Raises:
        ValueError: if a lane has no name, or its x and y differ in number.
    """
    for lane, (x, y) in curves.items():
        if lane not in lanes:
            raise ValueError(f"curves must be of the lanes {list(lanes)}, held {lane!r}")
        if len(x) != len(y):
            raise ValueError(f"curves[{lane!r}] must have as many x as y, had {len(x)} and {len(y)}")
        family, member = look(lane, families)
        ax.plot(
            x,
            y if floor is None else np.maximum(y, floor),
            color=CYCLE[family],
            linestyle=DASHES[member],
            marker=MARKERS[member],
            markevery=(min(member, every - 1), every),
            label=lanes[lane],
        )


def draw_lane_lines(
    curves: Mapping[str, tuple[Any, Any]],
    lanes: Mapping[str, str],
    *,
    height: float = 4.0,
    floor: float | None = None,
    every: int = 1,
    families: Mapping[str, Sequence[str]] = FAMILIES,
    **axes: Any,
) -> Figure:
    """A figure of :func:`lane_lines`, with each lane's name at the end of its line.

    Args:
        curves: x and y of each lane, (N,) both.
        lanes: the lanes' names by key.
        height: of the figure, in inches.
        floor: smaller values are drawn there, for a logarithmic axis.
        every: one mark for so many points.
        families: the lanes of each family, for the look.
        axes: what ``Axes.set`` takes, such as ``xlabel`` and ``yscale``.

    Raises:
        ValueError: as :func:`lane_lines`.
    """
    fig, ax = plt.subplots(figsize=(5.8, height))
    lane_lines(ax, curves, lanes, floor=floor, every=every, families=families)
    ax.set(**axes)
    label_lines(ax)
    return fig


def draw_lane_slopes(
    values: Mapping[str, Sequence[float]],
    lanes: Mapping[str, str],
    sides: tuple[str, str],
    ylabel: str,
    title: str,
    *,
    families: Mapping[str, Sequence[str]] = FAMILIES,
) -> Figure:
    """How a change turns the order of the lanes: a line for each from its value before, at the left, to that after.

    Args:
        values: of each lane, the one before and the one after.
        lanes: the lanes' names by key, written at the right.
        sides: what stands below the left and the right ends.
        ylabel: what the values are.
        title: the finding, above.
        families: the lanes of each family, for the look.

    Raises:
        ValueError: if a lane has no name or not two values.
    """
    fig, ax = plt.subplots(figsize=(5.8, 4.6))
    lane_lines(ax, {lane: ([0, 1], own) for lane, own in values.items()}, lanes, families=families)
    ax.set_xticks([0, 1], sides)
    ax.set(xlim=(-0.08, 1.04), ylabel=ylabel)
    ax.grid(axis="x", alpha=0)
    ax.set_title(title, loc="left", pad=14)
    label_lines(ax, fontsize=10.5)
    return fig


def over_seeds(
    runs: Sequence[Mapping[str, Any]], higher: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Steps (N,), and the median, least and greatest value over the runs at each (N,), NaN where there is none.

    A run that ended early, as one that diverged does, counts as worse than every other from then on: the median
    ends where half of the runs have.

    Raises:
        ValueError: if there is no run, or a run's steps and values differ in number.
    """
    if not runs:
        raise ValueError("runs must hold at least one run, held none")
    for run in runs:
        if len(run["steps"]) != len(run["values"]):
            raise ValueError(f"run {run.get('name')!r}: {len(run['steps'])} steps and {len(run['values'])} values")
    steps = np.unique(np.concatenate([np.asarray(run["steps"], dtype=float) for run in runs]))
    worst = -np.inf if higher else np.inf
    table = np.full((len(runs), len(steps)), worst)
    for row, run in zip(table, runs, strict=True):
        places = np.asarray(run["steps"], dtype=float)
        values = np.array([np.nan if value is None else value for value in run["values"]], dtype=float)
        seen = np.isfinite(values)
        if seen.any():
            row[:] = np.interp(steps, places[seen], values[seen])
            row[steps < places[seen][0]] = np.nan
            row[steps > places[seen][-1]] = worst
    known = ~np.isnan(table).all(axis=0)
    steps, table = steps[known], table[:, known]
    finite = np.where(np.isfinite(table), table, np.nan)
    some = np.isfinite(finite).any(axis=0)
    steps, table, finite = steps[some], table[:, some], finite[:, some]
    with np.errstate(invalid="ignore"):
        middle = np.nanmedian(table, axis=0)
    return steps, np.where(np.isfinite(middle), middle, np.nan), np.nanmin(finite, axis=0), np.nanmax(finite, axis=0)
