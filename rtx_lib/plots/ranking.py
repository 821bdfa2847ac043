"""The ranking that a single seed gives, with the other seeds behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from rtx_lib.plots.lanes import FAMILIES, Task, higher_is_better, is_log, look, three
from rtx_lib.plots.style import CYCLE, MARKERS


def _ranked(task: Task, values: Mapping[str, Mapping[int, float]], seed: int) -> dict[str, float]:
    """What each lane reached with this seed, the best first."""
    found = {lane: own[seed] for lane, own in values.items() if seed in own}
    if not found:
        raise ValueError(f"seed must be one that a lane has, was {seed}")
    return dict(sorted(found.items(), key=lambda item: -item[1] if higher_is_better(task) else item[1]))


def draw_ranking(
    task: Task,
    lanes: Mapping[str, str],
    values: Mapping[str, Mapping[int, float]],
    seed: int,
    *,
    families: Mapping[str, Sequence[str]] = FAMILIES,
) -> Figure:
    """The lanes from best to worst as one seed ranks them, a large mark each; thin marks are the other seeds.

    Args:
        task: as :mod:`rtx_lib.plots.lanes` describes it.
        lanes: the lanes' names by key.
        values: by lane and seed, the metric.
        seed: the one that ranks. Lanes without it are left out.
        families: the lanes of each family, for colour and marker.

    Raises:
        ValueError: if no lane has the seed.
    """
    found = _ranked(task, values, seed)
    fig, ax = plt.subplots(figsize=(5.8, 1.0 + 0.26 * len(found)))
    for y, (lane, value) in enumerate(found.items()):
        family, _ = look(lane, families)
        others = list(values[lane].values())
        ax.plot(others, [y] * len(others), "|", color=CYCLE[family], markersize=9, alpha=0.6, label="_seeds")
        ax.plot([value], [y], MARKERS[family], color=CYCLE[family], markersize=9, label="_seed")
    names = [f"{place}. {lanes[lane]}" for place, lane in enumerate(found, start=1)]
    ax.set_yticks(range(len(names)), names, fontsize=11)
    label = task.get("label", task["metric"])
    ax.set(ylim=(len(names) - 0.5, -0.5), xlabel=f"{task['name']}: {label}, better to the right")
    if is_log(task):
        ax.set_xscale("log")
    if not higher_is_better(task):
        ax.invert_xaxis()
    best = next(iter(found))
    fig.suptitle(f"Seed {seed} names {lanes[best]} the best", fontsize=12.5)
    return fig


def describe_ranking(task: Task, lanes: Mapping[str, str], values: Mapping[str, Mapping[int, float]], seed: int) -> str:
    """What :func:`draw_ranking` shows, in words."""
    told = ", ".join(f"{lanes[lane]} {three(value)}" for lane, value in _ranked(task, values, seed).items())
    return f"{task['name']} with seed {seed}, best first: {told}"
