"""What is raced: lanes by family, tasks with a finish line, curves over seeds, and the reader's own run among them.

A *lane* is a model, and looks as :func:`rtx_lib.plots.style.look` says. A task is described by a mapping with

- ``name``: what it is called;
- ``metric``: ``"accuracy"`` or ``"exact"`` (reached from below) or another (``"mse"``, ``"loss"``, from above);
- ``line``: the finish line, a value of the metric, or None;
- ``label``: the metric as the axis says it, on logarithms if it is ``"mse"``;
- ``baselines``: values of the metric by name, what is reached without learning.

Of a lane on a task there are *runs*, each with ``lane``, ``name``, ``seed``, ``steps`` and ``values``, or their
*summary*, what ``rtx_book.records.seeds.summarise`` returns: ``seeds``, ``median``, ``low``, ``high``, ``values``,
``solved``, ``diverged``.
"""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from rtx_book.words import rises, three
from rtx_lib.plots.curves import baseline, label_lines, wrap
from rtx_lib.plots.style import CYCLE, FAMILIES, GREY, INK, look, model_of

# ------------------------------------------------------------------------------------------------ lanes


Task = Mapping[str, Any]
Run = Mapping[str, Any]
Summary = Mapping[str, Any]
# Tasks and the names of lanes by key; by task and lane the summary of its seeds; by task some of the lanes.
Tasks = Mapping[str, Task]
Lanes = Mapping[str, str]
Results = Mapping[str, Mapping[str, Summary]]
Some = Mapping[str, Collection[str]]


def arrange(lanes: Lanes) -> dict[str, list[str]]:
    """The given lanes by family, each in the order given; what belongs to none is of the family ``"other"``."""
    models = {lane: model_of(lane)[0] for lane in lanes}
    order = {family: [lane for lane in lanes if models[lane] in own] for family, own in FAMILIES.items()}
    order["other"] = [lane for lane in lanes if not models[lane]]
    return {family: own for family, own in order.items() if own}


def is_log(task: Task) -> bool:
    """Whether a task's metric is drawn on logarithms."""
    return bool(task["metric"] == "mse")


def described(task: Task) -> str:
    """The metric with its direction: ``"MSE (lower is better)"``."""
    return f"{task['label']} ({'higher' if rises(task['metric']) else 'lower'} is better)"


def over_seeds(runs: Sequence[Run], higher: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Steps (N,), and the median, least and greatest value over the runs at each (N,), NaN where there is none.

    A run that ended early, as one that diverged does, counts as worse than every other from then on: the median
    ends where half of the runs have.
    """
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


def mark(ax: Axes, lane: str, x: Any, y: Any, size: float, edge: float, **style: Any) -> None:
    """Marks of a lane in its colour and form, filled by ``fillstyle``: "full", "right" (half) or "none"."""
    own = look(lane)
    looks = {"marker": own["marker"], "markersize": size, "markeredgewidth": edge, "markerfacecoloralt": "none"}
    ax.plot(x, y, **{"color": own["color"], "linestyle": "none"} | looks | style)


def rows_from_above(ax: Axes, names: Sequence[str], fontsize: float | None = None) -> None:
    """A row for each name, the first on top."""
    ax.set_yticks(range(len(names)), names, fontsize=fontsize)
    ax.set_ylim(len(names) - 0.5, -0.5)


def metric_upwards(ax: Axes, task: Task) -> None:
    """A task's metric as the upward axis: its scale, and numbers of three digits."""
    if is_log(task):
        ax.set_yscale("log", nonpositive="mask")
        ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: three(value)))
    ax.yaxis.set_minor_formatter(NullFormatter())


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
    """
    metric, line = finish
    task = {"metric": metric, "label": metric}
    for lane, name in {run["lane"]: str(run["name"]) for run in runs}.items():
        steps, middle, *_ = over_seeds([run for run in runs if run["lane"] == lane], rises(metric))
        ax.plot(steps, middle, linewidth=1.1, label=name, **look(lane) | {"marker": ""})
    if line is not None:
        baseline(ax, line, f"finish line {three(line)}")
    if yours and len(yours["steps"]):
        strong: dict[str, Any] = {"color": INK, "linestyle": "-", "linewidth": 3, "zorder": 5}
        strong |= {"marker": "*", "markersize": 10, "markevery": max(1, len(yours["steps"]) // 8)}
        ax.plot(yours["steps"], yours["values"], label=f"your run: {yours['name']}", **strong)
    metric_upwards(ax, task)
    ax.set(xlabel="training steps", ylabel=described(task))
    label_lines(ax, fontsize=9)


def draw_lane_lines(
    curves: Mapping[str, tuple[Any, Any]], lanes: Lanes, *, height: float, floor: float, every: int, **axes: Any
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
    """
    fig, ax = plt.subplots(figsize=(5.8, height))
    for i, (lane, (x, y)) in enumerate(curves.items()):
        ax.plot(x, np.maximum(y, floor), markevery=(i % every, every), label=lanes[lane], **look(lane))
    ax.set(**axes)
    if floor and floor > ax.get_ylim()[0]:
        baseline(ax, floor, "this or less", at=0.3)
    label_lines(ax)
    return fig


def draw_lane_slopes(values: Mapping[str, Sequence[float]], lanes: Lanes, sides: Sequence[str], ylabel: str) -> Figure:
    """How a change turns the order of the lanes: a line for each from its place before, at the left, to that after.

    The best stands on top, and beside both ends the values.

    Parameters
    ----------
    values
        Of each lane, the one before and the one after.
    lanes
        The lanes' names by key, written at the right.
    sides
        What stands below the left and the right ends.
    ylabel
        What the values are: better where larger if :func:`rtx_book.words.rises` says so of this word.
    """
    fig, ax = plt.subplots(figsize=(5.8, 1.1 + 0.23 * len(values)))
    table = np.array([*values.values()], dtype=float)
    places = (-table if rises(ylabel) else table).argsort(axis=0, kind="stable").argsort(axis=0)
    for lane, own, ends in zip(values, table, places, strict=True):
        ax.plot([0, 1], ends, markevery=(0, 1), **look(lane))
        ax.text(-0.06, ends[0], three(own[0]), ha="right", va="center", fontsize=10.5)
        ax.text(1.06, ends[1], f"{three(own[1])}  {lanes[lane]}", va="center", fontsize=10.5)
    rows_from_above(ax, [str(place) for place in range(1, len(values) + 1)], 10.5)
    ax.set(xlim=(-0.35, 2.7), xticks=[0, 1], xticklabels=sides, ylabel=f"place by {ylabel}")
    ax.grid(visible=False)
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


# ------------------------------------------------------------------------------------------------ race


# ---- the ranking that a single seed gives


def _ranked(task: Task, values: Mapping[str, Mapping[int, float]], seed: int) -> dict[str, float]:
    """What each lane reached with this seed, the best first."""
    found = {lane: own[seed] for lane, own in values.items() if seed in own}
    return dict(sorted(found.items(), key=lambda item: item[1], reverse=rises(task["metric"])))


def draw_ranking(task: Task, lanes: Lanes, values: Mapping[str, Mapping[int, float]], seed: int) -> Figure:
    """The lanes from best to worst as one seed ranks them, a large mark each; thin marks are the other seeds.

    Parameters
    ----------
    task
        As :mod:`rtx_book.pictures.race` describes it.
    lanes
        The lanes' names by key.
    values
        By lane and seed, the metric.
    seed
        The one that ranks. Lanes without it are left out.
    """
    found = _ranked(task, values, seed)
    fig, ax = plt.subplots(figsize=(5.8, 1.0 + 0.26 * len(found)))
    for y, (lane, value) in enumerate(found.items()):
        own, others = look(lane) | {"linestyle": "none", "markersize": 9}, list(values[lane].values())
        ax.plot(others, [y] * len(others), alpha=0.6, label="_seeds", **own | {"marker": "|"})
        ax.plot([value], [y], label="_seed", **own)
    rows_from_above(ax, [f"{place}. {lanes[lane]}" for place, lane in enumerate(found, start=1)], 12)
    ax.set_xlabel(f"{task['name']}: {task['label']}, better to the right")
    ax.set_xscale("log" if is_log(task) else "linear")
    ax.xaxis.set_inverted(not rises(task["metric"]))
    fig.suptitle(f"With seed {seed}, {lanes[next(iter(found))]} is best", fontsize=12.5)
    return fig


def describe_ranking(task: Task, lanes: Lanes, values: Mapping[str, Mapping[int, float]], seed: int) -> str:
    """What :func:`draw_ranking` shows, in words."""
    told = ", ".join(f"{lanes[lane]} {three(value)}" for lane, value in _ranked(task, values, seed).items())
    return f"{task['name']} with seed {seed}, best first: {told}"


# ---- two lanes that differ in one thing


def draw_controls(pairs: Sequence[tuple[str, str]], lanes: Lanes, ways: Mapping[str, Mapping[str, float]]) -> Figure:
    """How far two lanes get that differ in one thing, a panel for each pair and a row for each task.

    The first of a pair is hollow and the second filled; the line between them is what the difference is worth. Show it
    with ``wide=True``.

    Parameters
    ----------
    pairs
        Keys of two lanes each.
    lanes
        Their names by key.
    ways
        By a task's name and lane, the share of the way from what needs no learning to the best lane. A row stays empty
        where one of the two is missing.
    """
    size = (7.5, 1.1 + 0.27 * len(ways))
    fig, (panels,) = plt.subplots(1, len(pairs), figsize=size, sharex=True, sharey=True, squeeze=False)
    for ax, pair in zip(panels, pairs, strict=True):
        for y, own in enumerate(ways.values()):
            if all(lane in own for lane in pair):
                ax.plot([own[lane] for lane in pair], [y, y], "-", color=GREY, linewidth=2.6, zorder=1, label="_gain")
                for lane, fill in zip(pair, ("none", "full"), strict=True):
                    label = lanes[lane] if y == 0 else "_lane"
                    mark(ax, lane, [own[lane]], [y], 8, 1.5, marker="o", fillstyle=fill, zorder=2, label=label)
        ax.set_xlabel("way from nothing to the best")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), fontsize=10.5, handletextpad=0.2)
    rows_from_above(panels[0], list(ways), 11)
    panels[0].set_xlim(-0.06, 1.06)
    return fig


# ------------------------------------------------------------------------------------------------ board


_TINT = 0.22  # opacity of a cell that cannot be told from the best
_GAP = 0.4  # of a row, between two families


def _rows(lanes: Lanes) -> dict[str, float]:
    """Where each lane stands, from the top."""
    rows: dict[str, float] = {}
    for i, own in enumerate(arrange(lanes).values()):
        rows |= {lane: len(rows) + j + _GAP * i for j, lane in enumerate(own)}
    return rows


def short(task: Task, value: float) -> str:
    """A value of a task's metric in few signs: a share in per cent, else two places, or two digits on logarithms."""
    if is_log(task):
        return three(float(f"{value:.2g}"))
    if not rises(task["metric"]):
        return f"{value:.2f}"
    return f"{100 * value:.1f}".replace("100.0", "100")


def names_of_rows(lanes: Lanes) -> list[str]:
    """The lanes' names in the order of the rows; a variant right below its model or another says only what differs."""
    names = [lanes[lane] for lane in _rows(lanes)]
    told = []
    for i, name in enumerate(names):
        of = [above for above in names[:i] if name.startswith((f"{above} ", f"{above}, "))]
        of = [model for model in of if all(row.startswith(model) for row in names[names.index(model) : i])]
        told.append(name.removeprefix(max(of, key=len, default="")).lstrip(" ,"))
    return told


def draw_board(tasks: Tasks, lanes: Lanes, results: Results, firsts: Some, missing: Some) -> Figure:
    """Which models solve which tasks: the median over the seeds in each cell, and a mark filled as far as they get.

    The mark is filled where every seed is beyond the finish line, half filled where some are, hollow where none is.
    A cell is tinted and bold where the lane cannot be told from the best, and grey where a seed is no better than what
    needs no learning. Of two lanes whose names begin alike the second says only the rest. Show it with ``wide=True``.

    Parameters
    ----------
    tasks
        By key, as :mod:`rtx_book.pictures.race` describes them.
    lanes
        The lanes' names by key.
    results
        By task and lane, the summary of its seeds. A lane that does not run on a task has a dash.
    firsts
        By task, the lanes that cannot be told from the best.
    missing
        By task, the lanes of which a seed is no better than the task's baseline.
    """
    rows = _rows(lanes)
    bottom = max(rows.values()) + 0.6
    fig, ax = plt.subplots(figsize=(7.25, 0.75 + 0.215 * (bottom + 2)))
    ax.set(xlim=(-0.5, len(tasks) - 0.5), ylim=(bottom, -2))
    for column, (key, task) in enumerate(tasks.items()):
        head: dict[str, Any] = {"ha": "center", "va": "center"}
        ax.text(column, -1.5, task["name"], fontsize=8, fontweight="bold", **head)
        ax.text(column, -0.85, _asked(task), fontsize=7.8, **head)
        for lane, y in rows.items():
            result = results.get(key, {}).get(lane)
            kind = "first" if lane in firsts.get(key, ()) else "missing" if lane in missing.get(key, ()) else ""
            _cell(ax, (column, y), task, lane, result, kind)
    ax.set_yticks(list(rows.values()), names_of_rows(lanes), fontsize=9)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.grid(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    _legend(fig)
    return fig


def _asked(task: Task) -> str:
    """The metric, and the finish line where there is one: ``% ≥ 99``, ``nats ≤ 1.8``."""
    label, sign, unit = ("%", "≥", 100) if rises(task["metric"]) else (str(task["label"]).partition(" ")[0], "≤", 1)
    return label if task["line"] is None else f"{label} {sign} {three(unit * task['line'])}"


def _cell(ax: Axes, at: tuple[float, float], task: Task, lane: str, result: Summary | None, kind: str) -> None:
    x, y = at
    if not result or not result["seeds"]:
        ax.text(x, y, "–", ha="center", va="center", fontsize=9, color=GREY)
        return
    if kind == "first":
        ax.add_patch(Rectangle((x - 0.48, y - 0.47), 0.96, 0.94, color=CYCLE[0], alpha=_TINT, linewidth=0))
    mark(ax, lane, [x - 0.4], [y], 5.5, 1.2, marker="o", fillstyle=reached(result), label=f"_{lane}")
    text = short(task, result["median"]) if result["values"] else "diverged"
    kinds: dict[str, dict[str, Any]] = {"first": {"fontweight": "bold"}, "missing": {"color": GREY, "style": "italic"}}
    size = 8.5 if result["values"] else 7.8
    ax.text(x + 0.44, y, text, ha="right", va="center", fontsize=size, **kinds.get(kind, {}))


def _legend(fig: Figure) -> None:
    plain: dict[str, Any] = {"linestyle": "none", "color": INK, "markerfacecoloralt": "none", "marker": "o"}
    fills: dict[str, Any] = {"every seed reaches the line": "full", "some do": "right", "none does": "none"}
    handles: list[Any] = [Line2D([], [], label=label, fillstyle=fill, **plain) for label, fill in fills.items()]
    handles.append(Rectangle((0, 0), 1, 1, color=CYCLE[0], alpha=_TINT, linewidth=0, label="level with the best"))
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": len(handles), "fontsize": 9}
    fig.legend(handles=handles, handletextpad=0.5, columnspacing=1.4, **place)


def describe_board(tasks: Tasks, lanes: Lanes, results: Results, firsts: Some) -> str:
    """What :func:`draw_board` shows, in words: of each task who cannot be told from the best, and who solves it."""
    told = []
    for key, task in tasks.items():
        own = {lane: result for lane, result in results.get(key, {}).items() if lane in lanes and result["seeds"]}
        first = [lane for lane in lanes if lane in own and lane in firsts.get(key, ()) and own[lane]["values"]]
        best = [f"{lanes[lane]} {short(task, own[lane]['median'])}" for lane in first]
        full = sum(reached(result) == "full" for result in own.values())
        solved = "" if task["line"] is None else f"; {full} of {len(own)} reach {three(task['line'])} with every seed"
        told.append(f"{task['name']}: first {', '.join(best) or 'none'}{solved}")
    return f"{len(lanes)} models on {len(tasks)} tasks, medians. {'. '.join(told)}."


# ------------------------------------------------------------------------------------------------ lengths


def draw_lengths(task: Task, lanes: Lanes, results: Mapping[int, Mapping[str, Summary]], *, x_label: str) -> Figure:
    """The metric against the length, one small panel for each lane, with the others in grey behind it.

    A seed is a small dash, the median a large mark: filled where every seed is beyond the finish line, half filled
    where some are, else hollow. Show it with ``wide=True``.

    Parameters
    ----------
    task
        As :mod:`rtx_book.pictures.race` describes it.
    lanes
        The lanes' names by key.
    results
        By length and lane, the summary of its seeds. What is missing is left out.
    x_label
        What the length is of.
    """
    lengths = sorted(results)
    order = list(itertools.chain(*arrange(lanes).values()))
    found = {lane: {length: results[length][lane] for length in lengths if results[length].get(lane)} for lane in order}
    medians = {lane: [own[T]["median"] if T in own else np.nan for T in lengths] for lane, own in found.items()}
    curves = {lane: np.array(own, dtype=float) for lane, own in medians.items()}  # None turns to NaN
    columns = min(4, len(order))
    height = math.ceil(len(order) / columns)
    size = (7.5, 0.7 + 1.5 * height)
    fig, grid = plt.subplots(height, columns, figsize=size, sharex=True, sharey=True, squeeze=False)
    for ax, lane in zip(grid.flat, order, strict=False):
        _length_panel(ax, task, lane, curves, lengths)
        for length, result in found[lane].items():
            at = [length] * len(result["values"])
            mark(ax, lane, at, result["values"], 8, 1.2, marker="_", alpha=0.75, label="_seeds")
            middle = [result["median"]] * bool(at)
            mark(ax, lane, at[:1], middle, 7.5, 1.6, label="_median", fillstyle=reached(result), zorder=4)
        ax.set_title(wrap(lanes[lane], 22), fontsize=10, linespacing=0.9, pad=4)
    first = grid[0, 0]
    first.set_xscale("log")
    first.xaxis.set_minor_locator(NullLocator())
    first.set_xticks(lengths, [str(length) for length in lengths])
    first.set_xlim(lengths[0] / 1.3, lengths[-1] * 1.3)
    metric_upwards(first, task)
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


# ------------------------------------------------------------------------------------------------ two tasks


def draw_two_tasks(tasks: Tasks, lanes: Lanes, results: Results) -> Figure:
    """Four fields: who crosses the finish line of both tasks, of one alone, and of neither, by the medians.

    A lane is a point with its name: filled where every seed is beyond the lines of its field, half filled where some
    are, else hollow.

    Parameters
    ----------
    tasks
        Two by key, as :mod:`rtx_book.pictures.race` describes them: the first to the right, the second upwards.
    lanes
        The lanes' names by key.
    results
        By task and lane, the summary of its seeds. What has no median on both tasks is left out.
    """
    fig, ax = plt.subplots(figsize=(4.45, 3.1))  # with texts of 9 points a phone shows it whole
    quarters = _quarters(tasks, lanes, results)
    high = {up: 1 + max((len(own) for key, own in quarters.items() if key[1] == up), default=0) for up in (False, True)}
    for beyond, names in quarters.items():
        left, top = 1.02 * beyond[0], high[True] * beyond[1] - 0.5
        ax.text(left + 0.03, top, _called(beyond, tasks), fontweight="bold", va="center", fontsize=9)
        for row, lane in enumerate(names, start=1):
            own = [reached(results[key][lane]) for key, crossed in zip(tasks, beyond, strict=True) if crossed]
            fill = min(own, key=("none", "right", "full").index, default="none")
            mark(ax, lane, [left + 0.06], [top - row], 6, 1.3, fillstyle=fill, label=f"_{lane}")
            ax.text(left + 0.11, top - row, lanes[lane], va="center", fontsize=9)
    ax.axvline(1, color=INK, linewidth=1, linestyle=(0, (4, 2.5)), zorder=1)
    ax.axhline(0, color=INK, linewidth=1, linestyle=(0, (4, 2.5)), zorder=1)
    ax.set(xlim=(0, 2), ylim=(-high[False], high[True]), xticks=[], yticks=[])
    ax.grid(False)
    return fig


def describe_two_tasks(tasks: Tasks, lanes: Lanes, results: Results) -> str:
    """What :func:`draw_two_tasks` shows, in words: by the medians, who is beyond which line."""
    quarters = _quarters(tasks, lanes, results).items()
    told = [f"{_called(key, tasks)}: {', '.join(lanes[lane] for lane in own)}" for key, own in quarters]
    return f"Medians beyond the finish lines. {'; '.join(told)}."


def fields(tasks: Tasks, lanes: Lanes, results: Results) -> dict[str, Any]:
    """The same for any two of the tasks, as ``play("fields", ...)`` takes it."""
    parts = ("median", "low", "high", "solved", "seeds")
    found = {
        task: {lane: [own[part] for part in parts] for lane, own in results[task].items() if own["median"] is not None}
        for task in tasks
    }
    said = {}
    for task, own in tasks.items():
        said[task] = {k: own[k] for k in ("name", "label", "line")} | {"rises": rises(own["metric"])}
    return {"tasks": said, "lanes": {lane: [lanes[lane], look(lane)["color"]] for lane in lanes}, "results": found}


def _crossed(tasks: Tasks, lanes: Lanes, results: Results) -> dict[str, tuple[bool, ...]]:
    """By lane, whether its median is beyond the line of each task."""
    found = {}
    for lane in lanes:
        medians = [results.get(key, {}).get(lane, {}).get("median") for key in tasks]
        if None not in medians:
            pairs = zip(tasks.values(), medians, strict=True)
            found[lane] = tuple(m >= task["line"] if rises(task["metric"]) else m <= task["line"] for task, m in pairs)
    return found


def _quarters(tasks: Tasks, lanes: Lanes, results: Results) -> dict[tuple[bool, ...], list[str]]:
    """The lanes by what they cross; both first."""
    crossed = _crossed(tasks, lanes, results)
    keys = [(True, True), (True, False), (False, True), (False, False)]
    found = {key: [lane for lane, own in crossed.items() if own == key] for key in keys}
    return {key: own for key, own in found.items() if own}


def _called(beyond: tuple[bool, ...], tasks: Tasks) -> str:
    """What a quarter of the figure is called."""
    names = [task["name"] for task, crossed in zip(tasks.values(), beyond, strict=True) if crossed]
    return "Both" if len(names) == 2 else f"{names[0]} alone" if names else "Neither"
