"""Lanes ranked with intervals: who is first and who cannot be told from the first, as a picture and by budget.

The *rank* of a lane is a mapping with ``place``, the ends ``low`` and ``high`` of its interval, and ``group``, 1 for
all that cannot be told from the leader: a row of ``rtx_lib.evidence.ranking.Ranking.rows``.
"""

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from IPython.display import HTML
from matplotlib.figure import Figure

from rtx_lib.plots.figure import in_page, scripted, to_svg
from rtx_lib.plots.race_explorer import marker_path
from rtx_lib.plots.style import GREY, look, style

Ranks = Mapping[str, Mapping[str, float]]

LEGEND = (
    "Bars: the ranks in 95 % of all ways to draw the seeds anew. Whoever reaches the grey ground, the bar of the "
    "first, we do not tell apart from it; its mark is filled."
)
"""What the marks say, for a caption."""


def _check(ranks: Ranks, lanes: Mapping[str, str]) -> None:
    if not ranks or not set(ranks) <= set(lanes):
        raise ValueError(f"ranks must be of one or more of the lanes {list(lanes)}, got {list(ranks)}")


def draw_ranks(ranks: Ranks, lanes: Mapping[str, str], label: str = "rank") -> Figure:
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

    Raises
    ------
    ValueError
        If there is no rank, or a lane has no name.
    """
    _check(ranks, lanes)
    fig, ax = plt.subplots(figsize=(5.8, 0.9 + 0.26 * len(ranks)))
    leader = next(iter(ranks.values()))
    ax.axvspan(leader["low"] - 0.12, leader["high"] + 0.12, color=GREY, alpha=0.2, linewidth=0)
    for y, (lane, rank) in enumerate(ranks.items()):
        own = look(lane)
        fill = own["color"] if rank["group"] == 1 else "none"
        ends = [rank["low"], rank["high"]]
        bar: dict[str, Any] = {"linestyle": "-", "linewidth": 5, "alpha": 0.45, "solid_capstyle": "round"}
        ax.plot(ends, [y, y], color=own["color"], label="_interval", **bar)
        mark: dict[str, Any] = {
            "marker": own["marker"],
            "markersize": 8,
            "markeredgewidth": 1.6,
            "markerfacecolor": fill,
        }
        ax.plot([rank["place"]], [y], color=own["color"], linestyle="none", label="_place", **mark)
    ax.set_yticks(range(len(ranks)), [lanes[lane] for lane in ranks])
    ax.set(xlim=(len(ranks) + 0.5, 0.5), ylim=(len(ranks) - 0.5, -0.5), xlabel=f"{label}, better →")
    ax.set_xticks(range(1, len(ranks) + 1, math.ceil(len(ranks) / 8)))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", alpha=0)
    return fig


def describe_ranks(said: str, ranks: Ranks, lanes: Mapping[str, str]) -> str:
    """What :func:`draw_ranks` shows, in words: the finding, then each lane's rank with its interval."""
    _check(ranks, lanes)
    told = (f"{lanes[lane]} {r['place']:.3g} ({r['low']:.3g} to {r['high']:.3g})" for lane, r in ranks.items())
    return f"{said}. Rank and interval: {', '.join(told)}"


def rank_explorer(
    frames: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
    lanes: Mapping[str, str],
    first: str | None = None,
    *,
    caption: str | None = None,
) -> HTML:
    """The lanes ranked within a budget: the reader picks the task, what is equal and how much; needs no kernel.

    The line above says the finding of what is shown. At first that is one task at its largest budget.

    Parameters
    ----------
    frames
        By the task's name and by what is equal ("steps"), from small to large: ``amount``, the budget as it is written,
        ``said``, the finding, ``split``, the same everywhere, and ``ranks``, by lane, the best first.
        ``rtx_lib.evidence.race_words.rank_frames`` makes them.
    lanes
        Their names by key.
    first
        The name of the task that is shown at first; by default the first of them.
    caption
        Line below, as HTML, after :data:`LEGEND`.

    Raises
    ------
    ValueError
        If there is no frame, none of ``first``, a lane has no name, frames are of two splits, or the explorer exceeds
        600 kB.
    """
    frames = {task: kinds for task, own in frames.items() if (kinds := {k: f for k, f in own.items() if f})}
    if first is not None:
        if first not in frames:
            raise ValueError(f"first must be a task with frames, got {first!r}")
        frames = {first: frames[first], **frames}
    every = [frame for own in frames.values() for kind in own.values() for frame in kind]
    splits = sorted({frame["split"] for frame in every})
    if len(splits) != 1:
        raise ValueError(f"frames must hold budgets of one split, got {splits or 'none'}")
    for frame in every:
        _check(frame["ranks"], lanes)
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
    caption = f"{LEGEND} {caption or ''}".strip()
    return in_page(content + scripted("ranks"), caption, "explorer book-ranks", title=title, ranks=told)


def _frame(frame: Mapping[str, Any], keys: Sequence[str]) -> list[Any]:
    """The amount, the finding, and of each lane its number, place, low, high and whether it is of the first group."""
    rows = [
        [keys.index(lane), *(round(rank[name], 2) for name in ("place", "low", "high")), int(rank["group"] == 1)]
        for lane, rank in frame["ranks"].items()
    ]
    return [frame["amount"], frame["said"], rows]
