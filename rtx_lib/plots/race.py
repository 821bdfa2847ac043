"""The race in figures: the ranking that one seed gives, and what a lane owes to its surroundings."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from rtx_lib.plots.lanes import Task, is_log, rises, three
from rtx_lib.plots.style import GREY, look

# ---- the ranking that a single seed gives


def _ranked(task: Task, values: Mapping[str, Mapping[int, float]], seed: int) -> dict[str, float]:
    """What each lane reached with this seed, the best first."""
    found = {lane: own[seed] for lane, own in values.items() if seed in own}
    if not found:
        raise ValueError(f"seed must be one that a lane has, got {seed}")
    return dict(sorted(found.items(), key=lambda item: item[1], reverse=rises(task)))


def draw_ranking(task: Task, lanes: Mapping[str, str], values: Mapping[str, Mapping[int, float]], seed: int) -> Figure:
    """The lanes from best to worst as one seed ranks them, a large mark each; thin marks are the other seeds.

    Parameters
    ----------
    task
        As :mod:`rtx_lib.plots.lanes` describes it.
    lanes
        The lanes' names by key.
    values
        By lane and seed, the metric.
    seed
        The one that ranks. Lanes without it are left out.

    Raises
    ------
    ValueError
        If no lane has the seed.
    """
    found = _ranked(task, values, seed)
    fig, ax = plt.subplots(figsize=(5.8, 1.0 + 0.26 * len(found)))
    for y, (lane, value) in enumerate(found.items()):
        style = look(lane) | {"linestyle": "none", "markersize": 9}
        others = list(values[lane].values())
        ax.plot(others, [y] * len(others), alpha=0.6, label="_seeds", **style | {"marker": "|"})
        ax.plot([value], [y], label="_seed", **style)
    names = [f"{place}. {lanes[lane]}" for place, lane in enumerate(found, start=1)]
    ax.set_yticks(range(len(names)), names, fontsize=12)
    ax.set(ylim=(len(names) - 0.5, -0.5), xlabel=f"{task['name']}: {task['label']}, better to the right")
    ax.set_xscale("log" if is_log(task) else "linear")
    ax.xaxis.set_inverted(not rises(task))
    fig.suptitle(f"Seed {seed} names {lanes[next(iter(found))]} the best", fontsize=12.5)
    return fig


def describe_ranking(task: Task, lanes: Mapping[str, str], values: Mapping[str, Mapping[int, float]], seed: int) -> str:
    """What :func:`draw_ranking` shows, in words."""
    told = ", ".join(f"{lanes[lane]} {three(value)}" for lane, value in _ranked(task, values, seed).items())
    return f"{task['name']} with seed {seed}, best first: {told}"


# ---- two lanes that differ in one thing


def draw_controls(
    pairs: Sequence[tuple[str, str]], lanes: Mapping[str, str], ways: Mapping[str, Mapping[str, float]]
) -> Figure:
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

    Raises
    ------
    ValueError
        If there is no pair, or a lane has no name.
    """
    if not pairs or not all(lane in lanes for pair in pairs for lane in pair):
        raise ValueError(f"pairs must be of the lanes {list(lanes)}, got {list(pairs)}")
    size = (7.5, 1.1 + 0.27 * len(ways))
    fig, (panels,) = plt.subplots(1, len(pairs), figsize=size, sharex=True, sharey=True, squeeze=False)
    for ax, pair in zip(panels, pairs, strict=True):
        for y, own in enumerate(ways.values()):
            if all(lane in own for lane in pair):
                ax.plot([own[lane] for lane in pair], [y, y], "-", color=GREY, linewidth=2.6, zorder=1, label="_gain")
                for lane, fill in zip(pair, ("none", "full"), strict=True):
                    style: dict[str, Any] = {"marker": "o", "color": look(lane)["color"], "linestyle": "none"}
                    style |= {"markersize": 8, "markeredgewidth": 1.5, "fillstyle": fill, "zorder": 2}
                    ax.plot([own[lane]], [y], label=lanes[lane] if y == 0 else "_lane", **style)
        ax.set_xlabel("way from nothing to the best")
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), fontsize=10.5, handletextpad=0.2)
    panels[0].set_yticks(range(len(ways)), list(ways), fontsize=11)
    panels[0].set(xlim=(-0.06, 1.06), ylim=(len(ways) - 0.5, -0.5))
    return fig
