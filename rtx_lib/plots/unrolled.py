"""A recurrent network drawn as a loop, unrolled into a chain, and in the shapes that leave out inputs or outputs."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_lib.plots.style import CYCLE, INK

_SHAPES = (  # name, number of steps, those that read, those that write
    ("one to one", 1, (0,), (0,)),
    ("one to many", 3, (0,), (0, 1, 2)),
    ("many to one", 3, (0, 1, 2), (2,)),
    ("many to many,\nread then write", 4, (0, 1), (2, 3)),
    ("many to many,\nin step", 3, (0, 1, 2), (0, 1, 2)),
)
_INPUT, _STATE, _OUTPUT = range(3)  # rows from below, and their colours


def draw_unrolled() -> Figure:
    """Above a network with its loop and the same network unrolled, below the five shapes of input and output.

    The letters are U (input to state), W (state to state) and V (state to output). Show it with ``wide=True``.
    """
    fig, (top, low) = plt.subplots(2, 1, figsize=(7.6, 5.0), height_ratios=[1.05, 1])
    for ax in (top, low):
        ax.axis("off")
    top.set(xlim=(-1.2, 9.2), ylim=(-0.6, 2.6))
    low.set(xlim=(-0.6, 17.6), ylim=(-1.5, 2.5))
    _chain(top)
    start = 0.0
    for name, steps, reads, writes in _SHAPES:
        _shape(low, start, steps, reads, writes)
        low.text(start + (steps - 1) / 2, -0.75, name, ha="center", va="top", fontsize=11)
        start += steps + {1: 1.25, 3: 0.5}.get(steps, 0.75)  # a short shape has a name wider than itself
    return fig


def _chain(ax: Axes) -> None:
    """The loop at the left, then steps 1 to T."""
    for i, step in enumerate(["t", "1", "2", "3", "T"]):
        x = 0 if i == 0 else 1.2 + 1.7 * i
        for row, letter in enumerate("xho"):
            _box(ax, x, row, f"${letter}_{step}$")
        _arrow(ax, (x, _INPUT), (x, _STATE), "U", 0.28)
        _arrow(ax, (x, _STATE), (x, _OUTPUT), "V", 0.28)
        if i > 1:
            _arrow(ax, (x - 1.7, _STATE), (x, _STATE), "W" if i < 4 else "···", dy=0.28)
    _arrow(ax, (-0.18, 1.2), (-0.18, 0.8), "W", -0.72, connectionstyle="arc3,rad=2.2", shrinkA=6, shrinkB=6)
    ax.text(1.55, 1, "unrolled:", ha="center", va="center")


def _shape(ax: Axes, start: float, steps: int, reads: tuple[int, ...], writes: tuple[int, ...]) -> None:
    for t in range(steps):
        x = start + t
        _box(ax, x, _STATE, "h")
        if t in reads:
            _box(ax, x, _INPUT, "x")
            _arrow(ax, (x, _INPUT), (x, _STATE))
        if t in writes:
            _box(ax, x, _OUTPUT, "o")
            _arrow(ax, (x, _STATE), (x, _OUTPUT))
        if t:
            _arrow(ax, (x - 1, _STATE), (x, _STATE), shrinkA=9, shrinkB=9)


def _box(ax: Axes, x: float, row: int, text: str) -> None:
    frame = {"boxstyle": "round,pad=0.35", "facecolor": "none", "edgecolor": CYCLE[row], "linewidth": 2}
    ax.text(x, row, text, ha="center", va="center", fontsize=11, bbox=frame)


def _arrow(
    ax: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    text: str = "",
    dx: float = 0,
    dy: float = 0,
    **look: Any,
) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkA": 13, "shrinkB": 13} | look)
    ax.text((start[0] + end[0]) / 2 + dx, (start[1] + end[1]) / 2 + dy, text, ha="center", va="center", fontsize=11)
