"""The race in one figure: every model on every task, each seed a mark, with the finish lines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from rtx_lib.plots.lanes import FAMILIES, Task, arrange, check_tasks, higher_is_better, is_log, look, three, wrap
from rtx_lib.plots.style import CYCLE, INK, MARKERS

_DASHED, _DOTTED = (0, (4, 2.5)), (0, (1, 2))

_FILLS: tuple[tuple[Literal["full", "right", "none"], str], ...] = (
    ("full", "all seeds reach it"),
    ("right", "some"),
    ("none", "none"),
)

Summary = Mapping[str, Any]


def _power(value: float) -> str:
    """A power of ten as short as can be: ``10⁻³``."""
    exponent = round(math.log10(value))
    return {0: "1", 1: "10"}.get(exponent, "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")))


def _seeds(result: Summary | None) -> np.ndarray:
    """The finite values of a lane's seeds."""
    values = np.array([np.nan if v is None else v for v in (result or {}).get("values", [])], dtype=float)
    return values[np.isfinite(values)]


def _best(task: Task, results: Mapping[str, Summary]) -> list[str]:
    """The lanes with the best median: several where they tie, none without records."""
    medians = {lane: r["median"] for lane, r in results.items() if len(_seeds(r)) and r.get("median") is not None}
    first = (max if higher_is_better(task) else min)(medians.values(), default=None)
    return [lane for lane, median in medians.items() if median == first]


def _listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: ``A``, ``A and B``, ``A, B and C``."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def draw_race(
    tasks: Mapping[str, Task],
    lanes: Mapping[str, str],
    results: Mapping[str, Mapping[str, Summary]],
    *,
    families: Mapping[str, Sequence[str]] = FAMILIES,
) -> Figure:
    """One panel for each task, one row for each lane, better always to the right: which models reach the finish line.

    Each seed is a small mark and the median a large one, with the range of the seeds as a line: filled where every
    seed is beyond the finish line, half filled where some are, hollow where none is. A run that diverged is a cross
    at the left edge. Families differ in colour and in marker. Show it with ``wide=True``.

    Args:
        tasks: by key, as :mod:`rtx_lib.plots.lanes` describes them.
        lanes: the lanes' names by key.
        results: by task and lane, what ``rtx_lib.evidence.seeds.summarise`` returns: ``seeds``, ``median``, ``low``,
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
        1, len(tasks), figsize=(7.5, 1.75 + 0.285 * (bottom + 1.6)), sharey=True, squeeze=False
    )  # 720 px wide, the width of a page
    axes = panels[0, 0]
    axes.set_ylim(bottom, -1.6)  # the line above the first row is for the names of the baselines
    for panel, (key, task) in zip(panels[0], tasks.items(), strict=True):
        _panel(panel, task, rows, results.get(key, {}), families)
    axes.set_yticks(list(rows.values()), [wrap(lanes[lane]) for lane in rows], fontsize=9.5, linespacing=0.9)
    for panel, (key, task) in zip(panels[0], tasks.items(), strict=True):
        there = [results[key][lane] for lane in lanes if results.get(key, {}).get(lane)]
        beyond = sum(_state(result) == "full" for result in there)
        finding = ""
        if there and task["line"] is not None:  # in three short lines: panels stand close
            finding = f"{beyond} of {len(there)} models\nreach {three(task['line'])}\nwith every seed"
        panel.set_title(task["name"], fontsize=10.5, fontweight="bold", pad=40)
        panel.annotate(
            finding,
            (0.5, 1),
            xycoords="axes fraction",
            xytext=(0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=9,
            linespacing=1.15,
        )
    _legend(fig)
    return fig


def _state(result: Summary | None) -> Literal["full", "right", "none"]:
    """``"full"`` where every seed is beyond the finish line, ``"right"`` where some are, ``"none"``."""
    if not result or not result.get("solved"):
        return "none"
    return "full" if result["solved"] == result["seeds"] else "right"


def _panel(ax: Axes, task: Task, rows: Mapping[str, float], results: Mapping[str, Summary], families: Any) -> None:
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
        text,
        (value, -1.15),
        xytext=(shift, 0),
        textcoords="offset points",
        ha=side,
        va="center",
        fontsize=8.5,
        annotation_clip=False,
    )
    name.set_in_layout(False)


def _row(ax: Axes, y: float, result: Summary | None, family: int, logarithmic: bool) -> None:
    """A lane's seeds, their median and their range."""
    grey: dict[str, Any] = {"va": "center", "fontsize": 8.5, "style": "italic"}
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
            0.03 + 0.07 * np.arange(crosses),
            np.full(crosses, y),
            "x",
            transform=ax.get_yaxis_transform(),
            color=colour,
            markersize=5,
            markeredgewidth=1.5,
            clip_on=False,
            label="_diverged",
        )
    if result.get("median") is None or not len(seeds):
        return
    ax.plot([result["low"], result["high"]], [y, y], "-", color=colour, linewidth=2.6, label="_range")
    ax.plot(
        [result["median"]],
        [y],
        color=colour,
        marker=marker,
        markersize=8.5,
        fillstyle=_state(result),
        markerfacecoloralt="none",
        markeredgewidth=1.6,
        linestyle="none",
        label="_median",
        zorder=4,
    )


def _legend(fig: Figure) -> None:
    """What the marks say, below the panels."""
    plain: dict[str, Any] = {"linestyle": "none", "color": INK, "markeredgewidth": 1.5, "markerfacecoloralt": "none"}
    handles = (
        [Line2D([], [], color=INK, linewidth=1.3, linestyle=_DASHED, label="finish line")]
        + [Line2D([], [], marker="o", markersize=8, fillstyle=fill, label=label, **plain) for fill, label in _FILLS]
        + [
            Line2D([], [], marker="|", markersize=8, label="a seed", **plain),
            Line2D([], [], color=INK, linewidth=2.6, linestyle="-", label="range"),
            Line2D([], [], marker="x", markersize=5, label="diverged", **plain),
        ]
    )
    fig.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(handles),
        fontsize=9,
        handletextpad=0.4,
        columnspacing=1.2,
    )


def describe_race(
    tasks: Mapping[str, Task], lanes: Mapping[str, str], results: Mapping[str, Mapping[str, Summary]]
) -> str:
    """What :func:`draw_race` shows, in words: how many lanes cross each finish line, and which is best, or are where
    medians tie."""
    check_tasks(tasks)
    parts = []
    for key, task in tasks.items():
        own = {lane: results[key][lane] for lane in lanes if results.get(key, {}).get(lane)}
        best = _best(task, own)
        if not best:
            parts.append(f"{task['name']}: no records")
            continue
        names = [lanes[lane] for lane in own if _state(own[lane]) == "full"]
        some = sum(_state(result) == "right" for result in own.values())
        label = task.get("label", task["metric"])
        median = three(own[best[0]]["median"])
        first = f"best {'is' if len(best) == 1 else 'are'} {_listed([lanes[lane] for lane in best])}"
        text = f"{task['name']}: {first} with a median {label} of {median}"
        if task["line"] is not None:
            who = f" ({', '.join(names)})" if 0 < len(names) < 5 else ""
            text = (
                f"{task['name']}: {len(names)} of {len(own)} models cross the line of {three(task['line'])} with every "
                f"seed{who}, {some} with some; {first}, median {label} {median}"
            )
        parts.append(text)
    return f"{len(lanes)} models on {len(tasks)} tasks. {'. '.join(parts)}."
