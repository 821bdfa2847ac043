"""A recurrent network drawn as a loop, unrolled into a chain, and in the shapes that leave out inputs or outputs."""

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_lib.plots.diagram import Point, arrow, blank, word
from rtx_lib.plots.style import CYCLE

_SHAPES = (  # name, place of the first step, number of steps, those that read, those that write
    ("one to one", 0, 1, (0,), (0,)),
    ("one to many", 2.25, 3, (0,), (0, 1, 2)),
    ("many to one", 5.75, 3, (0, 1, 2), (2,)),
    ("many to many,\nread then write", 9.25, 4, (0, 1), (2, 3)),
    ("many to many,\nin step", 14, 3, (0, 1, 2), (0, 1, 2)),
)
_INPUT, _STATE, _OUTPUT = range(3)  # rows from below, and their colours


def draw_unrolled() -> Figure:
    """Above a network with its loop and the same network unrolled, below the five shapes of input and output.

    The letters are U (input to state), W (state to state) and V (state to output). Show it with ``wide=True``.
    """
    fig, (top, low) = plt.subplots(2, 1, figsize=(7.6, 5.0), height_ratios=[1.05, 1])
    blank(top, (-1.2, 9.2), (-0.6, 2.6), aspect="auto")
    blank(low, (-0.6, 17.6), (-1.5, 2.5), aspect="auto")
    for i, step in enumerate("t123T"):  # the loop at the left, then steps 1 to T
        x = 1.2 + 1.7 * i if i else 0
        for row, letter in enumerate("xho"):
            _box(top, x, row, f"${letter}_{step}$")
        _link(top, (x, _INPUT), (x, _STATE), "U", 0.28)
        _link(top, (x, _STATE), (x, _OUTPUT), "V", 0.28)
        if i > 1:
            _link(top, (x - 1.7, _STATE), (x, _STATE), "W" if i < 4 else "···", dy=0.28)
    _link(top, (-0.18, 1.2), (-0.18, 0.8), "W", -0.72, connectionstyle="arc3,rad=2.2", shrinkA=6, shrinkB=6)
    word(top, 1.55, 1, "unrolled:")
    for name, start, steps, reads, writes in _SHAPES:
        word(low, start + (steps - 1) / 2, -0.75, name, va="top", fontsize=11)
        for t in range(steps):
            x = start + t
            _box(low, x, _STATE, "h")
            if t in reads:
                _box(low, x, _INPUT, "x")
                _link(low, (x, _INPUT), (x, _STATE))
            if t in writes:
                _box(low, x, _OUTPUT, "o")
                _link(low, (x, _STATE), (x, _OUTPUT))
            if t:
                _link(low, (x - 1, _STATE), (x, _STATE), shrinkA=9, shrinkB=9)
    return fig


def _box(ax: Axes, x: float, row: int, text: str) -> None:
    frame = {"boxstyle": "round,pad=0.35", "facecolor": "none", "edgecolor": CYCLE[row], "linewidth": 2}
    word(ax, x, row, text, fontsize=11, bbox=frame)


def _link(ax: Axes, start: Point, end: Point, text: str = "", dx: float = 0, dy: float = 0, **look: Any) -> None:
    """An arrow between boxes, with the name of its weights beside it."""
    arrow(ax, start, end, **{"shrinkA": 13, "shrinkB": 13} | look)
    if text:
        word(ax, (start[0] + end[0]) / 2 + dx, (start[1] + end[1]) / 2 + dy, text, fontsize=11)
