"""The race on one board: a row for each model, a column for each task, and in each cell what the seeds reached."""

from collections.abc import Collection, Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from rtx_lib.plots.lanes import Summary, Task, arrange, check_tasks, is_log, reached, rises, three
from rtx_lib.plots.style import CYCLE, GREY, INK, look

_TINT = 0.22  # opacity of a cell that cannot be told from the best
_GAP = 0.4  # of a row, between two families


def _rows(lanes: Mapping[str, str]) -> dict[str, float]:
    """Where each lane stands, from the top."""
    rows: dict[str, float] = {}
    for i, own in enumerate(arrange(lanes).values()):
        rows |= {lane: len(rows) + j + _GAP * i for j, lane in enumerate(own)}
    return rows


def _check(tasks: Mapping[str, Task], lanes: Mapping[str, str]) -> None:
    check_tasks(tasks)
    if not lanes:
        raise ValueError("lanes must hold at least one lane, got none")


def short(task: Task, value: float) -> str:
    """A value of a task's metric in few signs: a share in per cent, else two places, or two digits on logarithms."""
    if is_log(task):
        return three(float(f"{value:.2g}"))
    if not rises(task):
        return f"{value:.2f}"
    return f"{100 * value:.1f}".replace("100.0", "100")


def names_of_rows(lanes: Mapping[str, str]) -> list[str]:
    """The lanes' names in the order of the rows; a variant right below its model or another says only what differs."""
    names = [lanes[lane] for lane in _rows(lanes)]
    told = []
    for i, name in enumerate(names):
        of = [above for above in names[:i] if name.startswith((f"{above} ", f"{above}, "))]
        of = [model for model in of if all(row.startswith(model) for row in names[names.index(model) : i])]
        told.append(name.removeprefix(max(of, key=len, default="")).lstrip(" ,"))
    return told


def draw_board(
    tasks: Mapping[str, Task],
    lanes: Mapping[str, str],
    results: Mapping[str, Mapping[str, Summary]],
    firsts: Mapping[str, Collection[str]],
    missing: Mapping[str, Collection[str]],
) -> Figure:
    """Which models solve which tasks: the median over the seeds in each cell, and a mark filled as far as they get.

    The mark is filled where every seed is beyond the finish line, half filled where some are, hollow where none is.
    A cell is tinted and bold where the lane cannot be told from the best, and grey where a seed is no better than what
    needs no learning. Of two lanes whose names begin alike the second says only the rest. Show it with ``wide=True``.

    Parameters
    ----------
    tasks
        By key, as :mod:`rtx_lib.plots.lanes` describes them.
    lanes
        The lanes' names by key.
    results
        By task and lane, the summary of its seeds. A lane that does not run on a task has a dash.
    firsts
        By task, the lanes that cannot be told from the best.
    missing
        By task, the lanes of which a seed is no better than the task's baseline.

    Raises
    ------
    ValueError
        If there is no task or no lane, or a finish line or baseline cannot be drawn.
    """
    _check(tasks, lanes)
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
    label, sign, unit = ("%", "≥", 100) if rises(task) else (str(task["label"]).partition(" ")[0], "≤", 1)
    return label if task["line"] is None else f"{label} {sign} {three(unit * task['line'])}"


def _cell(ax: Axes, at: tuple[float, float], task: Task, lane: str, result: Summary | None, kind: str) -> None:
    x, y = at
    if not result or not result["seeds"]:
        ax.text(x, y, "–", ha="center", va="center", fontsize=9, color=GREY)
        return
    if kind == "first":
        ax.add_patch(Rectangle((x - 0.48, y - 0.47), 0.96, 0.94, color=CYCLE[0], alpha=_TINT, linewidth=0))
    mark: dict[str, Any] = {"marker": "o", "markersize": 5.5, "markeredgewidth": 1.2, "linestyle": "none"}
    mark |= {"fillstyle": reached(result), "markerfacecoloralt": "none", "label": f"_{lane}"}
    ax.plot([x - 0.4], [y], color=look(lane)["color"], **mark)
    text = short(task, result["median"]) if result["values"] else "diverged"
    kinds: dict[str, dict[str, Any]] = {"first": {"fontweight": "bold"}, "missing": {"color": GREY, "style": "italic"}}
    looks = kinds.get(kind, {})
    ax.text(x + 0.44, y, text, ha="right", va="center", fontsize=8.5 if result["values"] else 7.8, **looks)


def _legend(fig: Figure) -> None:
    plain: dict[str, Any] = {"linestyle": "none", "color": INK, "markerfacecoloralt": "none", "marker": "o"}
    fills: dict[str, Any] = {"every seed reaches the line": "full", "some do": "right", "none does": "none"}
    handles: list[Any] = [Line2D([], [], label=label, fillstyle=fill, **plain) for label, fill in fills.items()]
    handles.append(Rectangle((0, 0), 1, 1, color=CYCLE[0], alpha=_TINT, linewidth=0, label="not told from the best"))
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": len(handles), "fontsize": 9}
    fig.legend(handles=handles, handletextpad=0.5, columnspacing=1.4, **place)


def describe_board(
    tasks: Mapping[str, Task],
    lanes: Mapping[str, str],
    results: Mapping[str, Mapping[str, Summary]],
    firsts: Mapping[str, Collection[str]],
) -> str:
    """What :func:`draw_board` shows, in words: of each task who cannot be told from the best, and who solves it."""
    _check(tasks, lanes)
    told = []
    for key, task in tasks.items():
        own = {lane: result for lane, result in results.get(key, {}).items() if lane in lanes and result["seeds"]}
        best = [
            f"{lanes[lane]} {short(task, own[lane]['median'])}"
            for lane in lanes
            if lane in own and lane in firsts.get(key, ()) and own[lane]["values"]
        ]
        full = sum(reached(result) == "full" for result in own.values())
        solved = "" if task["line"] is None else f"; {full} of {len(own)} reach {three(task['line'])} with every seed"
        told.append(f"{task['name']}: first {', '.join(best) or 'none'}{solved}")
    return f"{len(lanes)} models on {len(tasks)} tasks, medians. {'. '.join(told)}."
