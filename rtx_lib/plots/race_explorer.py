"""The race as an explorer that needs no kernel: learning curves by task and budget, and the reader's own run in it."""

from __future__ import annotations

import functools
import html
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from IPython.display import HTML

from rtx_lib.plots.control import check_size
from rtx_lib.plots.curves import Record
from rtx_lib.plots.figure import figcaption
from rtx_lib.plots.lanes import (
    FAMILIES,
    Task,
    arrange,
    check_tasks,
    higher_is_better,
    is_log,
    look,
    over_seeds,
    three,
    wrap,
)
from rtx_lib.plots.race_chart import AXES, BANDS, BOX, DASH_LENGTHS, MARKS, PREFIXES, draw_chart
from rtx_lib.plots.style import CYCLE

POINTS = 60
"""Most points of a curve."""

_CUTS = 30  # positions of the slider
_HINT = "Point at a line, or go to a name by the Tab key, for its numbers."


@functools.cache
def _beside(suffix: str) -> str:
    """The script or the style sheet beside this file, without whole lines of comment and without indents."""
    lines = Path(__file__).with_suffix(suffix).read_text(encoding="utf-8").splitlines()
    return "\n".join(line.strip() for line in lines if line.strip() and not line.strip().startswith(("//", "/*")))


def race_explorer(
    runs: Mapping[str, Sequence[Record]],
    tasks: Mapping[str, Task],
    costs: Mapping[tuple[str, str], Mapping[str, float]],
    *,
    yours: Sequence[Mapping[str, Any]] | None = None,
    families: Mapping[str, Sequence[str]] = FAMILIES,
    caption: str | None = None,
) -> HTML:
    """Learning curves of every lane, by task and by budget in steps, seconds or FLOPs; works without a kernel.

    The median over the seeds is a line, from least to greatest a band. Chosen lanes are in colour, with a dash
    pattern, marks and a name; the others are grey. At first those are the best of each family. (Of more than six,
    only the one looked at has its band.) A slider cuts the budget and says which three of all lanes lead there; when
    the reader turns from steps to a cost, it goes to where the cheapest lane has ended. Pointing at a line or going
    to a name says its numbers. A lane has no median from where half of its runs have ended early, as diverged runs do.

    Args:
        runs: by task, each run's ``lane``, ``name``, ``seed``, ``steps`` and ``values`` (the validation metric).
        tasks: by key, as :mod:`rtx_lib.plots.lanes` describes them.
        costs: by task and lane, ``seconds_per_step`` and ``flops_per_step``. A lane without is drawn over steps only.
        yours: the reader's runs, drawn over the others: ``task``, ``name``, ``steps``, ``values`` and, where known,
            ``seconds_per_step`` and ``flops_per_step``.
        families: the lanes of each family.
        caption: line below, as HTML.

    Raises:
        ValueError: if there is no task, a run or one of ``yours`` is of a task that is not there, steps and values
            differ in number, or the explorer exceeds 600 kB.
    """
    check_tasks(tasks)
    own = list(yours or [])
    for key in [*runs, *(run["task"] for run in own)]:
        if key not in tasks:
            raise ValueError(f"runs and yours must be of the tasks {list(tasks)}, were of {key!r}")
    names = {run["lane"]: str(run["name"]) for task in runs.values() for run in task}
    groups = arrange(names, families)
    order = [lane for lanes in groups.values() for lane in lanes]
    lanes = [_lane(names[lane], *look(lane, families)) for lane in order]
    lanes += [_lane(f"your run: {run['name']}", -1, 0) for run in own]
    data = []
    for key, task in tasks.items():
        whole = np.unique([step for run in runs.get(key, ()) for step in run["steps"]])
        worst = -math.inf if higher_is_better(task) else math.inf
        entries: dict[int, dict[str, Any]] = {}
        for k, lane in enumerate(order):
            if mine := [run for run in runs.get(key, ()) if run["lane"] == lane]:
                entries[k] = _entry(mine, task, costs.get((key, lane), {}), whole)
        ends = {k: worst if entry["end"][0] is None else entry["end"][0] for k, entry in entries.items()}
        best = [
            (max if higher_is_better(task) else min)(there, key=ends.__getitem__)
            for group in groups.values()
            if (there := [k for k, lane in enumerate(order) if lane in group and k in entries])
        ]
        for k, run in enumerate(own, start=len(order)):
            if run["task"] == key:
                entries[k] = _entry([run], task, run, np.unique(run["steps"]))
                best.append(k)
        data.append(_task(task, {k: entry for k, entry in entries.items() if entry["s"]}, best))
    start = list(tasks).index(own[-1]["task"]) if own else 0
    everything = {
        "tasks": data,
        "lanes": lanes,
        "box": BOX,
        "axes": AXES,
        "prefixes": PREFIXES,
        "marks": MARKS,
        "bands": BANDS,
    }
    text = json.dumps(everything, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    chart, says = draw_chart(data[start], lanes)
    count = len(order)
    boxes = {family: [order.index(lane) for lane in group] for family, group in groups.items()}
    if own:
        boxes["yours"] = list(range(count, len(lanes)))
    handler, sheet = html.escape(_beside(".js")), _beside(".css")
    here = "this.oninput(event)"
    return HTML(
        check_size(
            f'<figure class="book-fig book-explorer book-race" data-race="{html.escape(text)}" oninput="{handler}" '
            f'onclick="{here}" onmouseover="{here}" onkeydown="event.stopPropagation()"><style>{sheet}</style>'
            f"{_choices([str(task['name']) for task in tasks.values()], start)}{chart}{_slider(says)}"
            f'<p class="about" data-part="about" aria-live="polite">{_HINT}</p>'
            f"{_boxes(boxes, lanes, data[start]['best'])}"
            f"<noscript><p>The controls need JavaScript.</p></noscript>{figcaption(caption)}</figure>",
            "explorer",
        )
    )


def _lane(name: str, family: int, member: int) -> dict[str, Any]:
    """A lane's name and look; family -1 is the reader's own."""
    label = [html.escape(part) for part in wrap(name, 16).split("\n")]
    if family < 0:
        return {"name": name, "label": label, "colour": "currentColor", "dash": "", "mark": len(MARKS) - 1, "yours": 1}
    return {"name": name, "label": label, "colour": CYCLE[family], "dash": DASH_LENGTHS[member], "mark": member}


def _entry(runs: Sequence[Record], task: Task, cost: Mapping[str, Any], whole: np.ndarray) -> dict[str, Any]:
    """One lane on one task: its thinned curves, its cost, where it ends and when it is at the finish line.

    ``whole`` holds the steps of the task, sorted: a run that does not come to the last of them ended early.
    """
    higher, line = higher_is_better(task), task["line"]
    steps, middle, low, high = over_seeds(runs, higher)
    if len(after := whole[whole > max(steps, default=-math.inf)]):  # all ended early: nothing is there from then on
        steps = np.append(steps, after[0])
        middle, low, high = (np.append(curve, np.nan) for curve in (middle, low, high))
    keep = np.unique(np.linspace(0, max(0, len(steps) - 1), min(POINTS, len(steps))).round().astype(int))
    reached = []
    for run in runs:
        for step, value in zip(run["steps"], run["values"], strict=True):
            if line is not None and value is not None and (value >= line if higher else value <= line):
                reached.append(step)
                break
    ends = [run["values"][-1] for run in runs if len(run["steps"]) and run["steps"][-1] == whole[-1]]
    ends = [value for value in ends if value is not None and math.isfinite(value)]
    return {
        "s": [_round(step) for step in steps[keep]],
        "m": [_round(value) for value in middle[keep]],
        "l": [_round(value) for value in low[keep]],
        "h": [_round(value) for value in high[keep]],
        "cost": [_round(cost.get("seconds_per_step")), _round(cost.get("flops_per_step"))],
        "n": len(runs),
        "off": len(runs) - len(ends),
        "end": [_round(v) for v in (*middle[-1:], min(ends), max(ends))] if ends else [None] * 3,
        "reach": _round(np.median(reached)) if reached else None,
        "k_of": len(reached),
    }


def _round(value: Any) -> float | int | None:
    """Four significant digits; None for what is not finite."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.4g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def _task(task: Task, entries: dict[int, dict[str, Any]], best: list[int]) -> dict[str, Any]:
    """What the page needs to draw a task: its lanes, its lines and the range of its metric."""
    higher, logarithmic = higher_is_better(task), is_log(task)
    baselines = {html.escape(name): value for name, value in task.get("baselines", {}).items() if value is not None}
    named = {} if task["line"] is None else {f"finish line {three(task['line'])}": task["line"]}
    lines = [[name, float(value)] for name, value in {**named, **baselines}.items()]
    values = [v for entry in entries.values() for v in entry["m"] if v is not None and (v > 0 or not logarithmic)]
    if not higher and baselines:  # what is worse than every baseline lies at the upper edge
        values = [min(value, 1.15 * max(baselines.values())) for value in values]
    values += [value for _, value in lines]
    low, high = (min(values), max(values)) if values else (0.1, 1.0)
    if logarithmic:
        low, high = low / 1.3, high * 1.3
    else:
        pad = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
        low, high = max(low - pad, 0.0) if low >= 0 else low - pad, high + pad
    label = str(task.get("label", task["metric"]))
    return {
        "name": str(task["name"]),
        "label": f"{label} ({'higher' if higher else 'lower'} is better)",
        "higher": higher,
        "log": logarithmic,
        "line": task["line"],
        "lines": lines,
        "y": [_round(low), _round(high)],
        "best": best,
        "lanes": entries,
    }


# ---- controls


def _choices(names: Sequence[str], start: int) -> str:
    """The choice of the task and of the axis."""

    def options(of: Sequence[str], chosen: int) -> str:
        return "".join(
            f'<option value="{i}"{" selected" if i == chosen else ""}>{html.escape(one)}</option>'
            for i, one in enumerate(of)
        )

    return (
        '<div class="book-control">'
        f'<label><span>Task</span> <select data-part="task" autocomplete="off">{options(names, start)}</select></label>'
        f'<label><span>Budget in</span> <select data-part="axis" autocomplete="off">{options(AXES, 0)}</select></label>'
        '<label><input type="checkbox" data-part="log" autocomplete="off"> <span>logarithmic</span></label></div>'
    )


def _slider(says: str) -> str:
    """The slider that cuts the budget."""
    said = html.escape(says)
    return (
        f'<div class="book-control"><label><span>Cut the budget</span> <input type="range" data-part="cut" min="0" '
        f'max="{_CUTS}" value="{_CUTS}" autocomplete="off" aria-valuetext="{said}"></label> '
        f'<output aria-live="off">{said}</output></div>'
    )


def _boxes(boxes: Mapping[str, Sequence[int]], lanes: Sequence[Mapping[str, Any]], chosen: Sequence[int]) -> str:
    """A check box for each lane, by family, and the buttons that set them all."""
    focus = "this.closest('figure').oninput(event)"
    sets = []
    for family, own in boxes.items():
        inputs = "".join(
            f'<label data-lane="{k}"><input type="checkbox" value="{k}" autocomplete="off" onfocus="{focus}"'
            f'{" checked" if k in chosen else ""}><svg viewBox="0 0 34 14" aria-hidden="true" '
            f'style="color:inherit"><path d="M1 7H33" fill="none" stroke="{lanes[k]["colour"]}" stroke-width="2.2" '
            f'stroke-dasharray="{lanes[k]["dash"] or "none"}"/><path d="M17 7{MARKS[lanes[k]["mark"]]}" '
            f'fill="{lanes[k]["colour"]}"/></svg>{html.escape(str(lanes[k]["name"]))}</label>'
            for k in own
        )
        sets.append(f"<fieldset><legend>{html.escape(family)}</legend>{inputs}</fieldset>")
    buttons = "".join(
        f'<button type="button" value="{value}">{text}</button>'
        for value, text in (("best", "Best of each family"), ("all", "All"), ("none", "None"))
    )
    return f'<div class="book-lanes">{"".join(sets)}</div><div class="book-control">{buttons}</div>'
