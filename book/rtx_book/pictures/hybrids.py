"""How two layers of attention learn to look something up, and which stacks of mixed layers have which skill."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from rtx_lib.plots.curves import baseline, label_lines, name_at
from rtx_lib.plots.style import CYCLE, DASHES, GREY, MARKERS


def draw_forming(curves: Mapping[str, Sequence[float]], steps: Sequence[int], guessing: float) -> Figure:
    """Shares from 0 to 1 while a model is trained, a line for each, and the share that guessing gets right.

    Parameters
    ----------
    curves
        By name, one share for each of ``steps``.
    steps
        Of the training, ascending.
    guessing
        The level of the dashed line.
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.1))
    for (name, row), colour, dash, marker in zip(curves.items(), CYCLE, DASHES, MARKERS, strict=False):
        ax.plot(steps, row, label=name, color=colour, linestyle=dash, marker=marker, markevery=0.15)
    ax.set(xlim=(0, steps[-1]), ylim=(-0.03, 1.06), xlabel="training step", ylabel="share")
    baseline(ax, guessing, "guessing", at=0.6)
    label_lines(ax)
    return fig


Told = tuple[int, int, tuple[float, float], float | None]
"""How many runs solved a task, of how many, the interval of that share, and the median step; None if none did."""


def draw_stacks(rows: Mapping[str, Sequence[Told]], tasks: Sequence[str]) -> Figure:
    """A row for each stack, a panel for each task: the share of runs that solved it, with its 95 % interval.

    At the right of a panel stands the median step at which those that solved it had done so.

    Parameters
    ----------
    rows
        By the name of the stack, one :data:`Told` for each of ``tasks``.
    """
    fig, axes = plt.subplots(1, len(tasks), figsize=(5.8, 1.1 + 0.36 * len(rows)), sharey=True)
    for column, (ax, task) in enumerate(zip(axes, tasks, strict=True)):
        look = {"color": CYCLE[column], "linestyle": "-", "linewidth": 2}
        for y, own in enumerate(rows.values()):
            count, of, interval, step = own[column]
            ax.plot(interval, [y, y], label="_interval", **look)
            ax.plot([count / of], [y], marker=MARKERS[column], markersize=8, label="_share", **look)
            steps = "–" if step is None else f"{step:,.0f}"
            name_at(ax, steps, (1.06, y), (0, 0), ("axes fraction", "data"), va="center", annotation_clip=False)
        for end in (0, 1):
            ax.axvline(end, color=GREY, linewidth=0.8, linestyle="-", label="_end")
        ax.set(xlim=(-0.06, 1.06), xticks=[0, 0.5, 1], xlabel="share of runs")
        ax.set_title(task, loc="left")
    axes[0].set_yticks(range(len(rows)), list(rows), fontsize=12)
    axes[0].set_ylim(len(rows) - 0.5, -0.5)
    return fig


def describe_stacks(rows: Mapping[str, Sequence[Told]], tasks: Sequence[str]) -> str:
    """What :func:`draw_stacks` shows, in words."""

    def one(own: Sequence[Told]) -> str:
        return ", ".join(f"{task} {count} of {of}" for task, (count, of, *_) in zip(tasks, own, strict=True))

    return "; ".join(f"{name}: {one(own)}" for name, own in rows.items()) + "."
