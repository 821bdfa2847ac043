"""Recurrent networks drawn from their parts: gated cells stage by stage, and a network unrolled in time.

In a cell boxes are learned maps, and circles act by component.
"""

import math
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_book.page.diagram import Pen, arrow, blank
from rtx_book.paths import texts
from rtx_lib.plots.curves import bands, label_lines
from rtx_lib.plots.heatmaps import Point, word
from rtx_lib.plots.style import CYCLE, INK

_STAGES: dict[str, dict[str, str]] = texts("pictures/stages.yml")["cell"]
CELL_STAGES = tuple(_STAGES)
"""The stages of :func:`draw_cell` in order: the LSTM is built up first, then the GRU."""

_BUS, _ROW = 1.0, 2.35  # heights: what enters the boxes, and the boxes
_TOP = 0.33  # half the height of a box
_BOX = (0.5, _TOP)
_MARKS = texts("pictures/marks.yml")["cell"]


def describe_cell(stage: str) -> str:
    """What :func:`draw_cell` shows at this stage, in words."""
    return _STAGES[stage]["words"]


def draw_cell(stage: str) -> Figure:
    """One time step of a recurrent cell, with the part that is new at this stage drawn thick and filled.

    Boxes read x_t and h_{t-1} and hold weights; circles act component by component. The stages follow the history of
    the LSTM (Hochreiter and Schmidhuber 1997: cell state, input and output gate; Gers, Schmidhuber and Cummins 2000:
    forget gate), then the way of the error signal, then the GRU (Cho et al. 2014) with the reset after the matrix.
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.7))
    blank(ax, (-0.2, 10.2), (-0.35, 5.55), title=_STAGES[stage]["title"])
    pen = _CellPen(ax, stage, 1.3, 2.8, 0.12, CYCLE[stage == "way back"])
    at = CELL_STAGES.index(stage)
    pen.draw((mark, part, *where) for first, last, part, mark, *where in _MARKS if first <= at <= last)
    return fig


class _CellPen(Pen):
    """With the marks that only cells have."""

    def inputs(self, part: str, last: float) -> None:
        """The line that carries x_t and h_{t-1} past the boxes."""
        self.word(part, 0.2, _BUS, "$h_{t-1}$")
        self.word(part, 1.15, -0.1, "$x_t$")
        self.line(part, (0.65, _BUS), (last, _BUS))
        self.line(part, (1.15, 0.2), (1.15, _BUS))
        self.ax.plot([1.15], [_BUS], marker="o", color=INK, markersize=4)

    def gate(self, part: str, x: float, kind: str, name: str, side: int = 1) -> None:
        """A box that the line of the inputs feeds, with a name above it, at its right or left."""
        self.arrow(part, (x, _BUS), (x, _ROW - _TOP))
        self.box(part, x, _ROW, _BOX, kind)
        self.word(part, x + 0.1 * side, _ROW + 0.4, name, ha="left" if side > 0 else "right", va="bottom")


_SHAPES = (  # name, place of the first step, number of steps, those that read, those that write
    ("one to one", 0, 1, (0,), (0,)),
    ("one to many", 2.25, 3, (0,), (0, 1, 2)),
    ("many to one", 5.75, 3, (0, 1, 2), (2,)),
    ("many to many,\nread then write", 9.25, 4, (0, 1), (2, 3)),
    ("many to many,\nin step", 14, 3, (0, 1, 2), (0, 1, 2)),
)


def draw_unrolled() -> Figure:
    """Above a network with its loop and the same network unrolled, below the five shapes of input and output.

    The weights are W_ih (input to state), W_hh (state to state) and V (state to output). Show it with ``wide=True``.
    """
    read, state, written = range(3)  # rows from below, and their colours
    fig, (top, low) = plt.subplots(2, 1, figsize=(7.6, 5.0), height_ratios=[1.05, 1])
    blank(top, (-1.2, 9.2), (-0.6, 2.6), aspect="auto")
    blank(low, (-0.6, 17.6), (-1.5, 2.5), aspect="auto")
    for i, step in enumerate("t123T"):  # the loop at the left, then steps 1 to T
        x = 1.2 + 1.7 * i if i else 0
        for row, letter in enumerate("xho"):
            _box(top, x, row, f"${letter}_{step}$")
        _link(top, (x, read), (x, state), "$W_{ih}$", 0.42)
        _link(top, (x, state), (x, written), "$V$", 0.3)
        if i > 1:
            _link(top, (x - 1.7, state), (x, state), "$W_{hh}$" if i < 4 else "···", dy=0.28)
    _link(top, (-0.18, 1.2), (-0.18, 0.8), "$W_{hh}$", -0.86, connectionstyle="arc3,rad=2.2", shrinkA=6, shrinkB=6)
    word(top, 1.55, 1, "unrolled:")
    for name, start, steps, reads, writes in _SHAPES:
        word(low, start + (steps - 1) / 2, -0.75, name, va="top", fontsize=12)
        for t in range(steps):
            x = start + t
            _box(low, x, state, "h")
            if t in reads:
                _box(low, x, read, "x")
                _link(low, (x, read), (x, state))
            if t in writes:
                _box(low, x, written, "o")
                _link(low, (x, state), (x, written))
            if t:
                _link(low, (x - 1, state), (x, state), shrinkA=9, shrinkB=9)
    return fig


def _box(ax: Axes, x: float, row: int, text: str) -> None:
    frame = {"boxstyle": "round,pad=0.35", "facecolor": "none", "edgecolor": CYCLE[row], "linewidth": 2}
    word(ax, x, row, text, fontsize=12, bbox=frame)


def _link(ax: Axes, start: Point, end: Point, text: str = "", dx: float = 0, dy: float = 0, **look: Any) -> None:
    """An arrow between boxes, with the name of its weights beside it."""
    arrow(ax, start, end, **{"shrinkA": 13, "shrinkB": 13} | look)
    if text:
        word(ax, (start[0] + end[0]) / 2 + dx, (start[1] + end[1]) / 2 + dy, text, fontsize=12)


def draw_kept(biases: Sequence[float]) -> Figure:
    """What is left at step 12 of what an LSTM wrote at step 3, a line for each forget bias, if nothing else opens f."""
    fig, ax = plt.subplots(figsize=(5.8, 2.8))
    for index, b in enumerate(biases):
        left = (1 / (1 + math.exp(-b))) ** np.arange(10)
        bands(ax, left, f"$b_f$ = {b}", steps=np.arange(3, 13), markevery=1, index=index)
    ax.set(xlim=(1, 12), ylim=(0, 1.03), xlabel="step t", ylabel="left of step 3's write")
    label_lines(ax)
    return fig
