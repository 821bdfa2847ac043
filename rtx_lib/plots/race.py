"""The race in one figure: every model on every task, each seed a mark, with the finish lines.

What is raced is given as plain numbers. A *lane* is a model. A task is described by a mapping with

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
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from rtx_lib.plots.style import CYCLE, DASHES, INK, MARKERS

FAMILIES: dict[str, tuple[str, ...]] = {
    "recurrent": ("rnn", "irnn", "lstm", "gru", "deep-gru", "indrnn"),
    "convolution": ("tcn",),
    "between": ("r-transformer",),
    "attention": ("transformer", "transformer-none", "transformer-xl"),
}
"""The lanes of each family, in the order in which they are drawn. A lane that is not named here comes last."""

_DASHED, _DOTTED = (0, (4, 2.5)), (0, (1, 2))

Task = Mapping[str, Any]
Summary = Mapping[str, Any]


def arrange(lanes: Mapping[str, str], families: Mapping[str, Sequence[str]] = FAMILIES) -> dict[str, list[str]]:
    """The given lanes by family, in the families' order; what belongs to none is of the family ``"other"``."""
    order = {family: [lane for lane in own if lane in lanes] for family, own in families.items()}
    known = {lane for own in families.values() for lane in own}
    order["other"] = [*order.get("other", []), *(lane for lane in lanes if lane not in known)]
    return {family: own for family, own in order.items() if own}


def look(lane: str, families: Mapping[str, Sequence[str]] = FAMILIES) -> tuple[int, int]:
    """Indices of a lane: of its family (its colour), and within it (dash pattern and marker in a chart of curves)."""
    for number, own in enumerate(families.values()):
        if lane in own:
            return number % len(CYCLE), list(own).index(lane) % len(DASHES)
    return len(CYCLE) - 1, 0


def higher_is_better(task: Task) -> bool:
    """Whether the finish line of a task is reached from below."""
    return bool(task["metric"] == "accuracy")


def is_log(task: Task) -> bool:
    """Whether a task's metric is drawn on logarithms."""
    return bool(task.get("log", task["metric"] == "mse"))


def three(value: float) -> str:
    """A number with three significant digits: ``0.0123``, ``1,230``, ``1.2e-05``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.1e}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:.3g}"


def _power(value: float) -> str:
    """A power of ten as short as can be: ``10⁻³``."""
    exponent = round(math.log10(value))
    return {0: "1", 1: "10"}.get(exponent, "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")))


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


def _seeds(result: Summary | None) -> np.ndarray:
    """The finite values of a lane's seeds."""
    values = np.array([np.nan if v is None else v for v in (result or {}).get("values", [])], dtype=float)
    return values[np.isfinite(values)]


def _best(task: Task, results: Mapping[str, Summary]) -> str | None:
    medians = {lane: r["median"] for lane, r in results.items() if len(_seeds(r)) and r.get("median") is not None}
    if not medians:
        return None
    return max(medians, key=lambda lane: medians[lane] if higher_is_better(task) else -medians[lane])


def draw_race(
    tasks: Mapping[str, Task],
    lanes: Mapping[str, str],
    results: Mapping[str, Mapping[str, Summary]],
    *,
    families: Mapping[str, Sequence[str]] = FAMILIES,
) -> Figure:
    """One panel for each task, one row for each lane, better always to the right: which models reach the finish line.

    Each seed is a small mark and the median a large one, with its bootstrap interval as a line: filled where every
    seed is beyond the finish line, half filled where some are, hollow where none is. A run that diverged is a cross
    at the left edge. Families differ in colour and in marker. Show it with ``wide=True``.

    Args:
        tasks: by key, as :mod:`rtx_lib.plots.race` describes them.
        lanes: the lanes' names by key.
        results: by task and lane, what ``rtx_lib.summaries.summarise`` returns: ``seeds``, ``median``, ``low``,
            ``high``, ``values``, ``solved``, ``diverged``. Where a lane is missing, its row says so.
        families: the lanes of each family.

    Raises:
        ValueError: if there is no task or no lane, or a finish line or baseline cannot be drawn.
    """
    check_tasks(tasks)
    if not lanes:
        raise ValueError("lanes must hold at least one lane, held none")
    groups = arrange(lanes, families)
    rows: dict[str, float] = {}
    for i, own in enumerate(groups.values()):
        rows |= {lane: len(rows) + j + 0.45 * i for j, lane in enumerate(own)}
    bottom = max(rows.values()) + 0.7
    fig, panels = plt.subplots(
        1, len(tasks), figsize=(7.5, 1.5 + 0.285 * (bottom + 1.6)), sharey=True, squeeze=False
    )  # 720 px wide, the width of a page
    axes = panels[0, 0]
    axes.set_ylim(bottom, -1.6)  # the line above the first row is for the names of the baselines
    for panel, (key, task) in zip(panels[0], tasks.items(), strict=True):
        _panel(panel, task, rows, results.get(key, {}), families)
    axes.set_yticks(list(rows.values()), [_wrap(lanes[lane]) for lane in rows], fontsize=9.5, linespacing=0.9)
    for panel, (key, task) in zip(panels[0], tasks.items(), strict=True):
        own = [result for lane in lanes if (result := results.get(key, {}).get(lane))]
        beyond = sum(_state(result) == "full" for result in own)
        finding = f"{beyond} of {len(own)} reach {three(task['line'])}" if own and task["line"] is not None else " "
        panel.set_title(f"{task['name']}\n", fontsize=10.5, fontweight="bold", pad=6)
        panel.annotate(
            finding, (0.5, 1), xycoords="axes fraction", xytext=(0, 5), textcoords="offset points", ha="center",
            fontsize=9,
        )  # fmt: skip
    _legend(fig)
    return fig


def _wrap(name: str) -> str:
    """A long name in two lines, broken at the space nearest to its middle."""
    if len(name) <= 20 or " " not in name:
        return name
    spaces = [i for i, letter in enumerate(name) if letter == " "]
    middle = min(spaces, key=lambda i: abs(i - len(name) / 2))
    return f"{name[:middle]}\n{name[middle + 1 :]}"


def _state(result: Summary | None) -> str:
    """``"full"`` where every seed is beyond the finish line, ``"right"`` where some are, ``"none"``."""
    if not result or not result.get("solved"):
        return "none"
    return "full" if result["solved"] == result["seeds"] else "right"


def _panel(
    ax: Axes, task: Task, rows: Mapping[str, float], results: Mapping[str, Summary], families: Any
) -> None:
    """One task: its marks, lines and axis."""
    higher, logarithmic = higher_is_better(task), is_log(task)
    drawn = {lane: results[lane] for lane in rows if results.get(lane)}
    values = np.concatenate([[], *(_seeds(result) for result in drawn.values())])
    marks = {name: float(v) for name, v in {"": task["line"], **task.get("baselines", {})}.items() if v is not None}
    top = 0.7 / (ax.get_ylim()[0] - ax.get_ylim()[1])
    every = np.concatenate([values, list(marks.values())])
    if logarithmic:
        every = every[every > 0]
        ax.set_xscale("log")
    low, high = (every.min(), every.max()) if len(every) else (0.1, 1.0)
    if logarithmic:
        pad = max((high / low) ** 0.12, 1.25)
        low, high = low / pad, high * pad
        ax.xaxis.set_major_locator(LogLocator(10, numticks=3))
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        pad = 0.12 * (high - low) or 0.1 * abs(high) or 1
        low, high = low - pad, high + pad
        ax.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value) if logarithmic else three(value)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlim((low, high) if higher else (high, low))
    ax.tick_params(axis="x", labelsize=9)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", alpha=0)
    ax.set_xlabel(f"{task.get('label', task['metric'])}\nbetter →", fontsize=9.5)
    for name, value in marks.items():
        dots, width = (_DOTTED, 1.0) if name else (_DASHED, 1.3)
        ax.axvline(value, ymax=1 - top, color=INK, linewidth=width, linestyle=dots, zorder=1)
        _name_line(ax, name, value)
    for lane, y in rows.items():
        _row(ax, y, drawn.get(lane), look(lane, families)[0], logarithmic)


def _name_line(ax: Axes, text: str, value: float) -> None:
    """The name of a vertical line above it, set off to the side where there is more room."""
    at = ax.transAxes.inverted().transform(ax.transData.transform((value, 0)))[0]
    side = "right" if at > 0.6 else "left"
    shift = {"right": 4, "left": -4}[side]
    name = ax.annotate(
        text, (value, -1.15), xytext=(shift, 0), textcoords="offset points", ha=side, va="center", fontsize=8.5,
        annotation_clip=False,
    )  # fmt: skip
    name.set_in_layout(False)


def _row(ax: Axes, y: float, result: Summary | None, family: int, logarithmic: bool) -> None:
    """A lane's seeds, their median and its interval."""
    grey = {"va": "center", "fontsize": 8.5, "style": "italic"}
    if not result or not result.get("seeds"):
        ax.text(0.5, y, "no records", transform=ax.get_yaxis_transform(), ha="center", **grey)
        return
    colour, marker = CYCLE[family], MARKERS[family]
    seeds = _seeds(result)
    if logarithmic:
        seeds = seeds[seeds > 0]
    ax.plot(
        seeds, np.full(len(seeds), y), "|", color=colour, markersize=8, markeredgewidth=1.1, alpha=0.75, label="_seeds"
    )
    if crosses := int(result.get("diverged") or 0):
        ax.plot(
            0.03 + 0.07 * np.arange(crosses), np.full(crosses, y), "x", transform=ax.get_yaxis_transform(),
            color=colour, markersize=5, markeredgewidth=1.5, clip_on=False, label="_diverged",
        )  # fmt: skip
    if result.get("median") is None or not len(seeds):
        return
    ax.plot([result["low"], result["high"]], [y, y], "-", color=colour, linewidth=2.6, label="_interval")
    ax.plot(
        [result["median"]], [y], color=colour, marker=marker, markersize=8.5, fillstyle=_state(result),
        markerfacecoloralt="none", markeredgewidth=1.6, linestyle="none", label="_median", zorder=4,
    )  # fmt: skip


def _legend(fig: Figure) -> None:
    """What the marks say, below the panels."""
    plain = {"linestyle": "none", "color": INK, "markeredgewidth": 1.5, "markerfacecoloralt": "none"}
    handles = [Line2D([], [], color=INK, linewidth=1.3, linestyle=_DASHED, label="finish line")] + [
        Line2D([], [], marker="o", markersize=8, fillstyle=fill, label=label, **plain)
        for fill, label in (("full", "all seeds reach it"), ("right", "some"), ("none", "none"))
    ] + [
        Line2D([], [], marker="|", markersize=8, label="a seed", **plain),
        Line2D([], [], color=INK, linewidth=2.6, linestyle="-", label="interval"),
        Line2D([], [], marker="x", markersize=5, label="diverged", **plain),
    ]
    fig.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9, handletextpad=0.4,
        columnspacing=1.2,
    )  # fmt: skip


def describe_race(
    tasks: Mapping[str, Task], lanes: Mapping[str, str], results: Mapping[str, Mapping[str, Summary]]
) -> str:
    """What :func:`draw_race` shows, in words: how many lanes cross each finish line, and which is best."""
    check_tasks(tasks)
    parts = []
    for key, task in tasks.items():
        own = {lane: results[key][lane] for lane in lanes if results.get(key, {}).get(lane)}
        best = _best(task, own)
        if best is None:
            parts.append(f"{task['name']}: no records")
            continue
        names = [lanes[lane] for lane in own if _state(own[lane]) == "full"]
        some = sum(_state(result) == "right" for result in own.values())
        label = task.get("label", task["metric"])
        text = f"{task['name']}: best is {lanes[best]} with a median {label} of {three(own[best]['median'])}"
        if task["line"] is not None:
            who = f" ({', '.join(names)})" if 0 < len(names) < 5 else ""
            text = (
                f"{task['name']}: {len(names)} of {len(own)} models cross the line of {three(task['line'])} with every "
                f"seed{who}, {some} with some; best is {lanes[best]}, median {label} {three(own[best]['median'])}"
            )
        parts.append(text)
    return f"{len(lanes)} models on {len(tasks)} tasks. {'. '.join(parts)}."


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
            f"finish line {three(line)}", (1, line), xycoords=("axes fraction", "data"), xytext=(0, 3),
            textcoords="offset points", ha="right", va="bottom", fontsize=10,
        )  # fmt: skip
    if yours and len(yours["steps"]):
        ax.plot(
            yours["steps"], yours["values"], color=INK, linestyle="-", linewidth=3, marker="*", markersize=10,
            markevery=max(1, len(yours["steps"]) // 8), label=f"your run: {yours['name']}", zorder=5,
        )  # fmt: skip
        ax.legend(loc="best")
    if is_log(task):
        ax.set_yscale("log")
    ax.set(xlabel="training steps", ylabel=f"{metric}, {'higher' if metric == 'accuracy' else 'lower'} is better")


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
