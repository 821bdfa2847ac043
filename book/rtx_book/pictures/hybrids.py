"""How two layers of attention learn to look something up, and which stacks of mixed layers have which skill."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
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
    """A row for each stack, a panel for each task: a dot for every run, two lines of them, filled where it solved it.

    Parameters
    ----------
    rows
        By the name of the stack, one :data:`Told` for each of ``tasks``.
    """
    fig, axes = plt.subplots(1, len(tasks), figsize=(5.8, 0.5 + 0.45 * len(rows)), sharey=True)
    for column, (ax, task) in enumerate(zip(axes, tasks, strict=True)):
        for y, own in enumerate(rows.values()):
            count, of, *_ = own[column]
            x, at = np.arange(of) // 2, y - 0.17 + 0.34 * (np.arange(of) % 2)
            ax.scatter(x[:count], at[:count], s=34, color=CYCLE[column])
            ax.scatter(x[count:], at[count:], s=34, color="none", edgecolors=GREY)
            name_at(ax, str(count), (1.02, y), (0, 0), ("axes fraction", "data"), va="center", annotation_clip=False)
        ax.set(xticks=[], ylim=(len(rows) - 0.5, -0.5), frame_on=False)
        ax.set_title(task, loc="left")
        ax.tick_params(length=0)
        ax.grid(visible=False)
    axes[0].set_yticks(range(len(rows)), list(rows))
    return fig


def describe_stacks(rows: Mapping[str, Sequence[Told]], tasks: Sequence[str]) -> str:
    """What :func:`draw_stacks` shows, in words."""

    def one(own: Sequence[Told]) -> str:
        return ", ".join(f"{task} {count} of {of}" for task, (count, of, *_) in zip(tasks, own, strict=True))

    return "; ".join(f"{name}: {one(own)}" for name, own in rows.items()) + "."
