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

_BUS, _ROW, _MEET, _LINE = 1.0, 2.35, 3.5, 4.6  # heights: what enters the boxes, the boxes, the products, the state
_TOP, _RIM = 0.33, 0.27  # half the height of a box, radius of a circle
_BOX = (0.5, _TOP)
_F, _I, _G, _O, _OUT = 2.2, 3.6, 5.0, 6.8, 8.3  # of the LSTM, from left to right: gates and candidate, and what is read
_Z, _R, _CUT, _N = 2.2, 4.1, 5.35, 6.6  # of the GRU: update and reset gate, the reset's product, the candidate
_STEP, _STATE, _WRITE, _READ, _KEEP, _BACK, _UPDATE, _RESET = CELL_STAGES

_MARKS: tuple[tuple[Any, ...], ...] = (
    # first and last stage at which it is there, its part, what and where
    (0, 2, "", "inputs", _G),
    (3, 5, "", "inputs", _O),
    (6, 7, "", "inputs", _N),
    # LSTM: the step
    (0, 0, _STEP, "gate", _G, "tanh", ""),
    (1, 5, _STEP, "gate", _G, "tanh", "$g_t$"),
    (0, 0, _STEP, "line", (_G + 0.5, _ROW), (_OUT, _ROW), (_OUT, _BUS)),
    (0, 5, _STEP, "arrow", (_OUT, _BUS), (9.3, _BUS)),
    (0, 5, "", "word", 9.75, _BUS, "$h_t$"),
    # the cell state, and what is read off it
    (1, 5, "", "word", 0.2, _LINE, "$c_{t-1}$"),
    (1, 5, "", "word", 9.75, _LINE, "$c_t$"),
    (1, 3, _STATE, "arrow", (0.65, _LINE), (_G - _RIM, _LINE)),
    (4, 5, _STATE, "arrow", (_F + _RIM, _LINE), (_G - _RIM, _LINE)),
    (1, 5, _STATE, "circle", _G, _LINE, "+"),
    (1, 5, _STATE, "arrow", (_G + _RIM, _LINE), (9.3, _LINE)),
    (1, 1, _STATE, "arrow", (_G, _ROW + _TOP), (_G, _LINE - _RIM)),
    (1, 2, _STATE, "arrow", (_OUT, _LINE), (_OUT, _ROW + _TOP)),
    (1, 2, _STATE, "box", _OUT, _ROW, _BOX, "tanh"),
    (1, 2, _STATE, "line", (_OUT, _ROW - _TOP), (_OUT, _BUS)),
    (3, 5, _STATE, "arrow", (_OUT, _LINE), (_OUT, _MEET + _TOP)),
    (3, 5, _STATE, "box", _OUT, _MEET, _BOX, "tanh"),
    # the three gates
    (2, 5, _WRITE, "gate", _I, "σ", "$i_t$"),
    (2, 5, _WRITE, "arrow", (_I, _ROW + _TOP), (_I, _MEET), (_G - _RIM, _MEET)),
    (2, 5, _WRITE, "arrow", (_G, _ROW + _TOP), (_G, _MEET - _RIM)),
    (2, 5, _WRITE, "circle", _G, _MEET, "×"),
    (2, 5, _WRITE, "arrow", (_G, _MEET + _RIM), (_G, _LINE - _RIM)),
    (3, 5, _READ, "gate", _O, "σ", "$o_t$"),
    (3, 5, _READ, "arrow", (_O + 0.5, _ROW), (_OUT - _RIM, _ROW)),
    (3, 5, _READ, "arrow", (_OUT, _MEET - _TOP), (_OUT, _ROW + _RIM)),
    (3, 5, _READ, "circle", _OUT, _ROW, "×"),
    (3, 5, _READ, "line", (_OUT, _ROW - _RIM), (_OUT, _BUS)),
    (4, 5, _KEEP, "arrow", (0.65, _LINE), (_F - _RIM, _LINE)),
    (4, 5, _KEEP, "circle", _F, _LINE, "×"),
    (4, 5, _KEEP, "gate", _F, "σ", "$f_t$"),
    (4, 5, _KEEP, "arrow", (_F, _ROW + _TOP), (_F, _LINE - _RIM)),
    # the way of the error signal
    (5, 5, _BACK, "arrow", (9.3, _LINE + 0.42), (_G + 0.4, _LINE + 0.42)),
    (5, 5, _BACK, "arrow", (_G - 0.4, _LINE + 0.42), (_F + 0.4, _LINE + 0.42)),
    (5, 5, _BACK, "arrow", (_F - 0.4, _LINE + 0.42), (0.65, _LINE + 0.42)),
    (5, 5, _BACK, "word", _G, _LINE + 0.45, "1"),
    (5, 5, "", "word", _F, _LINE + 0.45, "$f_t$"),
    (5, 5, "", "label", 7.3, _LINE + 0.75, "error signal", "center", 12),
    # GRU: old state and candidate, mixed by the update gate
    (6, 7, "", "word", 0.2, _LINE, "$h_{t-1}$"),
    (6, 7, "", "word", 9.75, _LINE, "$h_t$"),
    (6, 7, "", "arrow", (0.65, _LINE), (_Z - _RIM, _LINE)),
    (6, 7, "", "arrow", (_Z + _RIM, _LINE), (_N - _RIM, _LINE)),
    (6, 7, "", "arrow", (_N + _RIM, _LINE), (9.3, _LINE)),
    (6, 7, "", "gate", _N, "tanh", "$n_t$"),
    (6, 7, "", "arrow", (_N, _ROW + _TOP), (_N, _MEET - _RIM)),
    (6, 7, "", "arrow", (_N, _MEET + _RIM), (_N, _LINE - _RIM)),
    (6, 7, _UPDATE, "circle", _N, _LINE, "+"),
    (6, 7, _UPDATE, "circle", _Z, _LINE, "×"),
    (6, 7, _UPDATE, "gate", _Z, "σ", "$z_t$", -1),
    (6, 7, _UPDATE, "arrow", (_Z, _ROW + _TOP), (_Z, _LINE - _RIM)),
    (6, 7, _UPDATE, "arrow", (_Z, _MEET), (_R - _RIM, _MEET)),
    (6, 7, _UPDATE, "circle", _R, _MEET, "1−"),
    (6, 7, _UPDATE, "arrow", (_R + _RIM, _MEET), (_N - _RIM, _MEET)),
    (6, 7, _UPDATE, "circle", _N, _MEET, "×"),
    # what the candidate hears of the old state
    (7, 7, _RESET, "gate", _R, "σ", "$r_t$"),
    (7, 7, _RESET, "arrow", (_R + 0.5, _ROW), (_CUT - _RIM, _ROW)),
    (7, 7, _RESET, "arrow", (_CUT, _BUS), (_CUT, _ROW - _RIM)),
    (7, 7, _RESET, "circle", _CUT, _ROW, "×"),
    (7, 7, _RESET, "arrow", (_CUT + _RIM, _ROW), (_N - 0.5, _ROW)),
    (7, 7, "", "label", _CUT + 0.12, 1.5, "$h_{t-1}$", "left", 12),
    (7, 7, "", "label", _N + 0.12, 1.5, "$x_t$", "left", 12),
)


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
    pen = _CellPen(ax, stage, 1.3, 2.8, 0.12, CYCLE[stage == _BACK])
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
