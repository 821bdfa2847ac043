"""The race and its ranks as explorers that need no kernel: curves by task and budget, intervals, the reader's own run.

Python gives the numbers and a still picture for readers without scripts; ``race_explorer.js`` draws.

The *rank* of a lane is a mapping with ``place``, the ends ``low`` and ``high`` of its interval, and ``group``, 1 for
all that cannot be told from the leader: a row of ``rtx_book.race.ranking.Ranking.rows``.
"""

import html
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from matplotlib.figure import Figure
from matplotlib.markers import MarkerStyle
from matplotlib.transforms import Affine2D

from rtx_book.page.figure import in_page, scripted, to_svg
from rtx_book.pictures.race import Run, Task, arrange, described, draw_lane, is_log, mark, over_seeds, rows_from_above
from rtx_book.words import rises, three
from rtx_lib.plots.curves import wrap
from rtx_lib.plots.style import GREY, look, style

# ------------------------------------------------------------------------------------------------ explorer


POINTS = 60
"""Most points of a curve."""

_YOURS = (("-", "*"), ((0, (4, 2)), "X"), ((0, (1, 1.5)), "P"))
"""Line and marker of the reader's runs, in turn."""


Costs = Mapping[tuple[str, str], Mapping[str, float]]
Lanes = Mapping[str, str]
Tasks = Mapping[str, Task]


def race_explorer(
    runs: Mapping[str, Sequence[Run]], tasks: Tasks, costs: Costs, *, yours: Sequence[Run] = (), caption: str = ""
) -> HTML:
    """Learning curves of every lane, by task and by budget in steps, seconds or FLOPs; works without a kernel.

    The median over the seeds is a line, from least to greatest a band. Chosen lanes are in colour, with a dash
    pattern, marks and a name; the others are grey. At first those are the best of each family. (Of more than six,
    only the one looked at has its band.) A slider cuts the budget and says which three of all lanes lead there; when
    the reader turns from steps to a cost, it goes to where the cheapest lane has ended. Pointing at a line or going
    to a name says its numbers. A lane has no median from where half of its runs have ended early, as diverged runs do.

    Parameters
    ----------
    runs
        By task, each run's ``lane``, ``name``, ``seed``, ``steps`` and ``values`` (the validation metric).
    tasks
        By key, as :mod:`rtx_book.pictures.race` describes them.
    costs
        By task and lane, ``seconds_per_step`` and ``flops_per_step``. A lane without is drawn over steps only.
    yours
        The reader's runs, drawn over the others: ``task``, ``name``, ``steps``, ``values`` and, where known,
        ``seconds_per_step`` and ``flops_per_step``.
    caption
        Line below, as HTML.
    """
    names = {run["lane"]: str(run["name"]) for task in runs.values() for run in task}
    families = {lane: family for family, group in arrange(names).items() for lane in group}
    lanes = [_lane(names[lane], family, look(lane)) for lane, family in families.items()]
    for run, (linestyle, marker) in zip(yours, itertools.cycle(_YOURS), strict=False):
        own = {"color": "currentColor", "linestyle": linestyle, "marker": marker}
        lanes.append(_lane(f"your run: {run['name']}", "yours", own))
    data = []
    for key, task in tasks.items():
        whole = np.unique([step for run in runs.get(key, ()) for step in run["steps"]])
        entries: dict[int, dict[str, Any]] = {}
        for k, lane in enumerate(families):
            if group := [run for run in runs.get(key, ()) if run["lane"] == lane]:
                entries[k] = _entry(group, task, costs.get((key, lane), {}), whole)
        best = _best(entries, task, list(families.values()))
        for k, run in enumerate(yours, start=len(families)):
            if run["task"] == key:
                entries[k] = _entry([run], task, run, np.unique(run["steps"]))
                best.append(k)
        data.append(_task(task, {k: entry for k, entry in entries.items() if entry["s"]}, best))
    first = yours[-1]["task"] if yours else next(iter(tasks))
    start = list(tasks).index(first)
    still = _still(tasks[first], runs.get(first, ()), yours[-1] if yours else None, data[start], lanes)
    content = f'<div class="room">{still}</div><noscript><p>The controls need JavaScript.</p></noscript>'
    told = {"tasks": data, "lanes": lanes, "start": start}
    return in_page(content + scripted("race_explorer"), caption, "explorer book-race", race=told)


def _still(task: Task, runs: Sequence[Run], yours: Run | None, data: Mapping[str, Any], lanes: Sequence[Any]) -> str:
    """The first task over steps, as a picture: for print, and without a script."""
    with style():
        fig, ax = plt.subplots(figsize=(5.8, 4.4))
        draw_lane(ax, runs, yours, (task["metric"], task["line"]))
    ends = {k: entry["m"][-1] for k, entry in data["lanes"].items() if entry["m"][-1] is not None}
    order = sorted(ends, key=ends.__getitem__, reverse=data["higher"])[:3]
    lead = ", ".join(f"{lanes[k]['name']} {three(ends[k])}" for k in order) or "no value yet"
    return to_svg(fig, f"{data['label']} of {len(data['lanes'])} models on {data['name']}, over steps; first: {lead}")


def _lane(name: str, family: str, looks: Mapping[str, Any]) -> dict[str, Any]:
    """A lane's name, as it stands at its line too, its family and its look in the words of SVG."""
    colour, dash, marker = (looks[part] for part in ("color", "linestyle", "marker"))
    lengths = "none" if dash == "-" else " ".join(f"{2.2 * length:.3g}" for length in dash[1])
    words = {"name": name, "label": wrap(name, 16).split("\n"), "family": family}
    return words | {"colour": colour, "dash": lengths, "mark": marker_path(marker)}


def marker_path(marker: str) -> str:
    """A marker of matplotlib as the path of an SVG, around its middle and about 8.5 units wide."""
    shape = MarkerStyle(marker)
    outline = shape.get_path().transformed(shape.get_transform() + Affine2D().scale(8.5, -8.5))
    letters = {1: "M", 2: "L", 3: "Q", 4: "C"}
    return "".join(
        "Z" if code == outline.CLOSEPOLY else letters[int(code)] + " ".join(f"{v:.2f}" for v in points)
        for points, code in outline.iter_segments(simplify=False, curves=True)
    )


def _best(entries: Mapping[int, Mapping[str, Any]], task: Task, families: Sequence[str]) -> list[int]:
    """The lane of each family that ends best; one without an end is the last."""
    sign = 1 if rises(task["metric"]) else -1
    ends = {k: -math.inf if entry["end"][0] is None else sign * entry["end"][0] for k, entry in entries.items()}
    groups = [[k for k in ends if families[k] == family] for family in dict.fromkeys(families)]
    return [max(group, key=ends.__getitem__) for group in groups if group]


def _entry(runs: Sequence[Run], task: Task, cost: Mapping[str, Any], whole: np.ndarray) -> dict[str, Any]:
    """One lane on one task: its thinned curves, its cost, where it ends and when it is at the finish line.

    ``whole`` holds the steps of the task, sorted: a run that does not come to the last of them ended early.
    """
    higher, line = rises(task["metric"]), task["line"]
    steps, *curves = over_seeds(runs, higher)
    if len(after := whole[whole > max(steps, default=-math.inf)]):  # all ended early: nothing is there from then on
        steps, *curves = np.append(steps, after[0]), *(np.append(curve, np.nan) for curve in curves)
    keep = np.unique(np.linspace(0, max(0, len(steps) - 1), min(POINTS, len(steps))).round().astype(int))
    reached = []
    for run in runs:
        values = np.asarray(run["values"], dtype=float)  # None turns to NaN, which reaches nothing
        if line is not None and (there := values >= line if higher else values <= line).any():
            reached.append(run["steps"][int(there.argmax())])
    lasts = [run["values"][-1] for run in runs if len(run["steps"]) and run["steps"][-1] == whole[-1]]
    ends = [value for value in lasts if value is not None and math.isfinite(value)]
    thinned = dict(zip("smlh", ([_round(v) for v in row[keep]] for row in (steps, *curves)), strict=True))
    return thinned | {
        "cost": [_round(cost.get("seconds_per_step")), _round(cost.get("flops_per_step"))],
        "n": len(runs),
        "off": len(runs) - len(ends),
        "end": [_round(v) for v in (*curves[0][-1:], min(ends), max(ends))] if ends else [None] * 3,
        "reach": _round(np.median(reached)) if reached else None,
        "reached": len(reached),
    }


def _round(value: Any) -> float | int | None:
    """Four significant digits; None for what is not finite."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.4g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def _task(task: Task, entries: dict[int, dict[str, Any]], best: list[int]) -> dict[str, Any]:
    """What the page needs to draw a task: its lanes, its lines and the range of its metric."""
    higher, log, finish = rises(task["metric"]), is_log(task), task["line"]
    baselines = {name: value for name, value in task["baselines"].items() if value is not None}
    lines = baselines if finish is None else {f"finish line {three(finish)}": finish, **baselines}
    values = [v for entry in entries.values() for v in entry["m"] if v is not None and (v > 0 or not log)]
    if not higher and baselines:  # what is worse than every baseline lies at the upper edge
        values = [min(value, 1.15 * max(baselines.values())) for value in values]
    values += lines.values()
    low, high = (min(values), max(values)) if values else (0.1, 1.0)
    pad = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
    low, high = (low / 1.3, high * 1.3) if log else (max(low - pad, 0.0) if low >= 0 else low - pad, high + pad)
    drawn = {"name": str(task["name"]), "label": described(task), "higher": higher, "log": log, "line": finish}
    lanes = {"lines": [[name, float(value)] for name, value in lines.items()], "best": best, "lanes": entries}
    return drawn | lanes | {"y": [_round(low), _round(high)]}


# ------------------------------------------------------------------------------------------------ ranks


Ranks = Mapping[str, Mapping[str, float]]

LEGEND = (
    "Bars: the ranks in 95 % of all ways to draw the five seeds anew, all of one processor. Grey: the bar of the "
    "first. A lane whose bar reaches it cannot be told from the first; its mark is filled."
)
"""What the marks say, for a caption."""


def draw_ranks(ranks: Ranks, lanes: Lanes, label: str = "rank") -> Figure:
    """The lanes from best to worst, each a mark at its rank and a bar over its interval; better is to the right.

    Marks are filled where a lane cannot be told from the leader, whose interval is the grey ground.

    Parameters
    ----------
    ranks
        By lane, the best first.
    lanes
        Their names by key.
    label
        What the ranks are, below the axis.
    """
    fig, ax = plt.subplots(figsize=(5.8, 0.9 + 0.26 * len(ranks)))
    leader = next(iter(ranks.values()))
    ax.axvspan(leader["low"] - 0.12, leader["high"] + 0.12, color=GREY, alpha=0.2, linewidth=0)
    for y, (lane, rank) in enumerate(ranks.items()):
        bar: dict[str, Any] = {"linestyle": "-", "linewidth": 5, "alpha": 0.45, "solid_capstyle": "round"}
        ax.plot([rank["low"], rank["high"]], [y, y], color=look(lane)["color"], label="_interval", **bar)
        fill = "full" if rank["group"] == 1 else "none"
        mark(ax, lane, [rank["place"]], [y], 8, 1.6, fillstyle=fill, label="_place")
    rows_from_above(ax, [lanes[lane] for lane in ranks])
    ax.set(xlim=(len(ranks) + 0.5, 0.5), xlabel=f"{label}, better →")
    ax.set_xticks(range(1, len(ranks) + 1, math.ceil(len(ranks) / 8)))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", alpha=0)
    return fig


def describe_ranks(said: str, ranks: Ranks, lanes: Lanes) -> str:
    """What :func:`draw_ranks` shows, in words: the finding, then each lane's rank with its interval."""
    told = (f"{lanes[lane]} {r['place']:.3g} ({r['low']:.3g} to {r['high']:.3g})" for lane, r in ranks.items())
    return f"{said}. Rank and interval: {', '.join(told)}"


def rank_explorer(
    frames: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]], lanes: Lanes, first: str | None = None
) -> HTML:
    """The lanes ranked within a budget: the reader picks the task, what is equal and how much; needs no kernel.

    The line above says the finding of what is shown. At first that is one task at its largest budget.

    Parameters
    ----------
    frames
        By the task's name and by what is equal ("steps"), from small to large: ``amount``, the budget as it is written,
        ``said``, the finding, ``split``, the same everywhere, and ``ranks``, by lane, the best first.
        ``rtx_book.race.race_tables.rank_frames`` makes them.
    lanes
        Their names by key.
    first
        The name of the task that is shown at first; by default the first of them.
    """
    frames = {task: kinds for task, own in frames.items() if (kinds := {k: f for k, f in own.items() if f})}
    if first is not None:
        frames = {first: frames[first], **frames}
    every = [frame for own in frames.values() for kind in own.values() for frame in kind]
    splits = sorted({frame["split"] for frame in every})
    if len(splits) != 1:
        raise ValueError(f"frames must hold budgets of one split, got {splits or 'none'}")
    keys = list(lanes)
    tasks = [
        {"name": task, "kinds": [{"name": kind, "frames": [_frame(one, keys) for one in f]} for kind, f in own.items()]}
        for task, own in frames.items()
    ]
    looks = [{"name": lanes[k], "colour": look(k)["color"], "mark": marker_path(look(k)["marker"])} for k in keys]
    start = next(iter(next(iter(frames.values())).values()))[-1]
    with style():
        fig = draw_ranks(start["ranks"], lanes, f"rank on the {splits[0]} split after {start['amount']}")
    still = to_svg(fig, describe_ranks(start["said"], start["ranks"], lanes))
    content = f'<div class="room">{still}</div><noscript><p>The controls need JavaScript.</p></noscript>'
    title = html.escape(start["said"])
    told = {"tasks": tasks, "lanes": looks, "split": splits[0]}
    return in_page(content + scripted("ranks"), LEGEND, "explorer book-ranks", title=title, ranks=told)


def _frame(frame: Mapping[str, Any], keys: Sequence[str]) -> list[Any]:
    """The amount, the finding, and of each lane its number, place, low, high and whether it is of the first group."""
    rows = [
        [keys.index(lane), *(round(rank[name], 2) for name in ("place", "low", "high")), int(rank["group"] == 1)]
        for lane, rank in frame["ranks"].items()
    ]
    return [frame["amount"], frame["said"], rows]
