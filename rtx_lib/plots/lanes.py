"""What is raced: lanes by family, tasks with a finish line, curves over seeds, and the reader's own run among them.

A *lane* is a model, and looks as :func:`rtx_lib.plots.style.look` says. A task is described by a mapping with

- ``name``: what it is called;
- ``metric``: ``"accuracy"`` or ``"exact"`` (reached from below) or another (``"mse"``, ``"loss"``, from above);
- ``line``: the finish line, a value of the metric, or None;
- ``label``: the metric as the axis says it, on logarithms if it is ``"mse"``;
- ``baselines``: values of the metric by name, what is reached without learning.

Of a lane on a task there are *runs*, each with ``lane``, ``name``, ``seed``, ``steps`` and ``values``, or their
*summary*, what ``rtx_lib.evidence.seeds.summarise`` returns: ``seeds``, ``median``, ``low``, ``high``, ``values``,
``solved``, ``diverged``.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from rtx_lib.plots.curves import baseline, label_lines
from rtx_lib.plots.style import FAMILIES, INK, look, model_of

Task = Mapping[str, Any]
Run = Mapping[str, Any]
Summary = Mapping[str, Any]

RISING = ("accuracy", "exact", "last quarter")
"""Metrics that are better where they are larger."""


def arrange(lanes: Mapping[str, str]) -> dict[str, list[str]]:
    """The given lanes by family, each in the order given; what belongs to none is of the family ``"other"``."""
    models = {lane: model_of(lane)[0] for lane in lanes}
    order = {family: [lane for lane in lanes if models[lane] in own] for family, own in FAMILIES.items()}
    order["other"] = [lane for lane in lanes if not models[lane]]
    return {family: own for family, own in order.items() if own}


def rises(task: Task) -> bool:
    """Whether the finish line of a task is reached from below."""
    return task["metric"] in RISING


def is_log(task: Task) -> bool:
    """Whether a task's metric is drawn on logarithms."""
    return bool(task["metric"] == "mse")


def described(task: Task) -> str:
    """The metric with its direction: ``"MSE (lower is better)"``."""
    return f"{task['label']} ({'higher' if rises(task) else 'lower'} is better)"


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
    """Raise ValueError unless there is a task and each is whole, with a finish line that can be drawn."""
    if not tasks:
        raise ValueError("tasks must hold at least one task, got none")
    for key, task in tasks.items():
        if missing := {"name", "metric", "line", "label", "baselines"} - set(task):
            raise ValueError(f"tasks[{key!r}] must hold all that describes a task, got none of {sorted(missing)}")
        for what, value in {"line": task["line"], **task["baselines"]}.items():
            if value is not None and not (math.isfinite(value) and (value > 0 or not is_log(task))):
                raise ValueError(f"tasks[{key!r}]: {what} must be finite, and above 0 on logarithms, got {value}")


def over_seeds(runs: Sequence[Run], higher: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Steps (N,), and the median, least and greatest value over the runs at each (N,), NaN where there is none.

    A run that ended early, as one that diverged does, counts as worse than every other from then on: the median
    ends where half of the runs have.

    Raises
    ------
    ValueError
        If there is no run, or a run's steps and values differ in number.
    """
    if not runs:
        raise ValueError("runs must hold at least one run, got none")
    for run in runs:
        if len(run["steps"]) != len(run["values"]):
            raise ValueError(f"run {run.get('name')!r}: {len(run['steps'])} steps and {len(run['values'])} values")
    steps = np.unique(np.concatenate([np.asarray(run["steps"], dtype=float) for run in runs]))
    worst = -np.inf if higher else np.inf
    table = np.full((len(runs), len(steps)), worst)
    for row, run in zip(table, runs, strict=True):
        places, values = (np.asarray(run[key], dtype=float) for key in ("steps", "values"))  # None turns to NaN
        if (seen := np.isfinite(values)).any():
            row[:] = np.interp(steps, places[seen], values[seen], left=np.nan, right=worst)
    some = np.isfinite(table).any(axis=0)
    finite = np.where(np.isfinite(table), table, np.nan)[:, some]
    with np.errstate(invalid="ignore"):
        middle = np.nanmedian(table[:, some], axis=0)
    middle[~np.isfinite(middle)] = np.nan
    return steps[some], middle, np.nanmin(finite, axis=0), np.nanmax(finite, axis=0)


# ---- marks and axes that the figures of the race share


def reached(result: Summary) -> Literal["full", "right", "none"]:
    """How a mark is filled: ``"full"`` where every seed is beyond the finish line, ``"right"`` where some are."""
    if not result["solved"]:
        return "none"
    return "full" if result["solved"] == result["seeds"] else "right"


def mark_seeds(ax: Axes, lane: str, at: float, result: Summary, *, upright: bool = False) -> None:
    """A dash for each seed of a lane and a large mark for their median, filled as :func:`reached` says.

    ``at`` is the row where values run to the right, and the column where they run upwards.
    """
    own, dash, size = look(lane), "_" if upright else "|", 7.5 if upright else 8.5
    seeds: dict[str, Any] = {"marker": dash, "markersize": 8, "markeredgewidth": 1.2, "alpha": 0.75, "label": "_seeds"}
    median: dict[str, Any] = {"marker": own["marker"], "markersize": size, "markeredgewidth": 1.6, "label": "_median"}
    median |= {"fillstyle": reached(result), "markerfacecoloralt": "none", "zorder": 4}
    for values, style in ((result["values"], seeds), ([result["median"]] * bool(result["values"]), median)):
        ends = [values, [at] * len(values)]
        ax.plot(*ends[:: -1 if upright else 1], color=own["color"], linestyle="none", **style)


def metric_axis(ax: Axes, side: Literal["x", "y"], task: Task) -> None:
    """A task's metric along one side: its scale, and numbers of three digits."""
    axis = getattr(ax, f"{side}axis")
    if is_log(task):
        getattr(ax, f"set_{side}scale")("log", nonpositive="mask")
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: three(value)))
    axis.set_minor_formatter(NullFormatter())


# ---- lines


def draw_lane(ax: Axes, runs: Sequence[Run], yours: Run | None, finish: tuple[str, float | None]) -> None:
    """The reader's own run over the recorded ones of one task: medians of the lanes, thin, and one strong line.

    For a figure that is drawn again while the run goes on.

    Parameters
    ----------
    ax
        Axes to draw in.
    runs
        Of one task: ``lane``, ``name``, ``seed``, ``steps``, ``values`` of each.
    yours
        The reader's run: ``name``, ``steps``, ``values``; None or empty before it starts.
    finish
        The metric and the finish line's value, or None.

    Raises
    ------
    ValueError
        If a run's steps and values differ in number.
    """
    metric, line = finish
    task = {"metric": metric, "label": metric}
    if yours and len(yours["steps"]) != len(yours["values"]):
        sizes = f"{len(yours['steps'])} and {len(yours['values'])}"
        raise ValueError(f"yours must hold as many steps as values, got {sizes}")
    for lane, name in {run["lane"]: str(run["name"]) for run in runs}.items():
        steps, middle, *_ = over_seeds([run for run in runs if run["lane"] == lane], rises(task))
        ax.plot(steps, middle, linewidth=1.1, label=name, **look(lane) | {"marker": ""})
    if line is not None:
        baseline(ax, line, f"finish line {three(line)}")
    if yours and len(yours["steps"]):
        mark: dict[str, Any] = {"marker": "*", "markersize": 10, "markevery": max(1, len(yours["steps"]) // 8)}
        strong: dict[str, Any] = {"color": INK, "linestyle": "-", "linewidth": 3, "zorder": 5}
        ax.plot(yours["steps"], yours["values"], label=f"your run: {yours['name']}", **strong, **mark)
    metric_axis(ax, "y", task)
    ax.set(xlabel="training steps", ylabel=described(task))
    label_lines(ax, fontsize=9)


def draw_lane_lines(
    curves: Mapping[str, tuple[Any, Any]],
    lanes: Mapping[str, str],
    *,
    height: float,
    floor: float,
    every: int,
    **axes: Any,
) -> Figure:
    """A line for each lane, in the look that it has everywhere, with its name at the end.

    Parameters
    ----------
    curves
        x and y of each lane, (N,) both.
    lanes
        The lanes' names by key.
    height
        Of the figure, in inches.
    floor
        Smaller values are drawn there, for a logarithmic axis.
    every
        One mark for so many points.
    axes
        What ``Axes.set`` takes, such as ``xlabel`` and ``yscale``.

    Raises
    ------
    ValueError
        If a lane has no name, or its x and y differ in number.
    """
    for lane, (x, y) in curves.items():
        if lane not in lanes or len(x) != len(y):
            allowed = f"as many x as y for each of the lanes {list(lanes)}"
            raise ValueError(f"curves must hold {allowed}, got {len(x)} and {len(y)} for {lane!r}")
    fig, ax = plt.subplots(figsize=(5.8, height))
    for i, (lane, (x, y)) in enumerate(curves.items()):
        ax.plot(x, np.maximum(y, floor), markevery=(i % every, every), label=lanes[lane], **look(lane))
    ax.set(**axes)
    label_lines(ax)
    return fig


def draw_lane_slopes(
    values: Mapping[str, Sequence[float]], lanes: Mapping[str, str], sides: tuple[str, str], ylabel: str
) -> Figure:
    """How a change turns the order of the lanes: a line for each from its value before, at the left, to that after.

    Parameters
    ----------
    values
        Of each lane, the one before and the one after.
    lanes
        The lanes' names by key, written at the right.
    sides
        What stands below the left and the right ends.
    ylabel
        What the values are.

    Raises
    ------
    ValueError
        If a lane has no name or not two values.
    """
    for lane, own in values.items():
        if lane not in lanes or len(own) != 2:
            raise ValueError(f"values must be two for each of the lanes {list(lanes)}, got {own} for {lane!r}")
    fig, ax = plt.subplots(figsize=(5.8, 4.6))
    for lane, own in values.items():
        ax.plot([0, 1], own, markevery=(0, 1), label=lanes[lane], **look(lane))
    ax.set_xticks([0, 1], sides)
    ax.set(xlim=(-0.08, 1.04), ylabel=ylabel)
    ax.grid(axis="x", alpha=0)
    label_lines(ax, fontsize=10.5)
    return fig


def draw_looks() -> Figure:
    """The table of looks: for each model, by family, a piece of line in its colour, with its dashes and marker."""
    fig, ax = plt.subplots(figsize=(5.8, 0.3 + 0.27 * sum(len(own) + 1 for own in FAMILIES.values())))
    row = 0
    for family, own in FAMILIES.items():
        ax.text(0, row, family, fontweight="bold", va="center")
        for name in own:
            row += 1
            ax.plot([0.3, 0.65, 1], [row] * 3, **look(name), markevery=(1, 2), markersize=8)
            ax.text(1.1, row, name, va="center")
        row += 1
    ax.set(xlim=(0, 2), ylim=(row - 0.5, -0.5))
    ax.set_axis_off()
    return fig
