"""Drawings of a LocalRNN: where its window is, and which inputs reach an output through it and through attention.

R-Transformer (Wang, Ma, Liu and Tang 2019) runs a small recurrent network over the last M inputs of every position,
and then attends to all of its outputs. What is near is drawn thick and filled, what comes by attention thin and dashed.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_book.page import diagram
from rtx_book.page.diagram import blank, links
from rtx_lib.plots.heatmaps import Point, word
from rtx_lib.plots.style import CYCLE, GREY

_NEAR, _FAR = CYCLE[:2]
_POSITION = 11  # of the output whose inputs are followed
_LOOKS: dict[str, dict[str, Any]] = {  # of circles
    "near": {"facecolor": _NEAR + "70", "edgecolor": _NEAR, "linewidth": 2.6},
    "far": {"facecolor": _FAR + "28", "edgecolor": _FAR, "linewidth": 1.3},
    "none": {"facecolor": "none", "edgecolor": GREY, "linewidth": 1.0},
    "zero": {"facecolor": "none", "edgecolor": GREY, "linewidth": 1.0, "linestyle": (0, (2, 1.5))},
}


def _node(ax: Axes, x: float, y: float, look: str, text: str, radius: float = 0.34, fontsize: float = 12) -> None:
    diagram.circle(ax, x, y, radius, zorder=3, **_LOOKS[look])
    word(ax, x, y, text, fontsize=fontsize)


def _arrow(ax: Axes, start: Point, end: Point, lit: bool = True) -> None:
    diagram.arrow(ax, start, end, *((_NEAR, 2.2) if lit else (GREY, 1.0)))


def draw_windows() -> Figure:
    """Where a window of 3 is: above an RNN over the whole sequence, below a LocalRNN, with one output's inputs lit.

    Boxes are steps of the recurrent network, from left to right; a 0 in front of the first is the zero state. Dashed
    circles are the zeros that stand before the first input.
    """
    window, length, position, above = 3, 8, 6, 4.55
    fig, ax = plt.subplots(figsize=(5.8, 5.6))
    first = position - window + 1
    for x in (-1, 0):
        _node(ax, x, 0, "zero", "0")
    for y, start, stop in ((above, 1, length), (0, first, position)):
        for x in range(1, length + 1):
            _node(ax, x, y, "near" if start <= x <= position else "none", f"$x_{{{x}}}$")
            _node(ax, x, y + 2.1, "near" if x == position else "none", f"$h_{{{x}}}$")
        word(ax, start - 0.78, y + 1.05, "0", fontsize=12)
        _arrow(ax, (start - 0.62, y + 1.05), (start - 0.27, y + 1.05))
        for x in range(start, stop + 1):
            diagram.box(ax, x, y + 1.05, 0.27, 0.27, 0.1, zorder=3, **_LOOKS["near" if x <= position else "none"])
            _arrow(ax, (x, y + 0.34), (x, y + 0.78), x <= position)
            if x < stop:
                _arrow(ax, (x + 0.27, y + 1.05), (x + 0.73, y + 1.05), x < position)
            if y or x == position:
                _arrow(ax, (x, y + 1.32), (x, y + 1.76), x == position)
    own = f"LocalRNN, $\\mathbf{{M = {window}}}$: each output has its own run"
    for y, title in ((above, "RNN: one run over everything"), (0, own)):
        word(ax, -1.4, y + 2.85, title, ha="left", fontsize=12.5, fontweight="bold")
    # Below the inputs the windows of the first output, the lit one and the next as bars.
    for t, y in ((1, -0.75), (position, -0.75), (position + 1, -1.47)):
        lit = t == position
        look: dict[str, Any] = {"color": _NEAR, "linewidth": 4.5} if lit else {"color": GREY, "linewidth": 2}
        ends = np.array([t - window + 0.62, t + 0.38])
        ax.plot(ends, [y, y], linestyle="-" if lit else (0, (3, 1.5)), marker="|", markersize=10, **look)
        word(ax, ends.mean(), y - 0.34, f"window of $h_{{{t}}}$", fontsize=12, fontweight="bold" if lit else "normal")
    blank(ax, (-1.45, length + 0.45), (-2.07, above + 3.2))
    return fig


def draw_reach(window: int, layers: int = 1) -> Figure:
    """Which inputs reach one output: through LocalRNN alone, and through the attention after it.

    Thick and filled: the n (M - 1) + 1 inputs that n LocalRNNs carry to position t; numbers say in which order the
    last of them reads its window. Thin and dashed: attention adds every h_j before t, and with it their windows.

    Parameters
    ----------
    window
        M.
    layers
        N, LocalRNNs on one another; as many blocks reach as far along the residual connections.
    """
    near, length, position = _near(window, layers), _POSITION + 1, _POSITION
    gap, wide, radius = 2.5, length + 4.9, 0.38
    top = gap * (layers + 1)
    fig, ax = plt.subplots(figsize=(5.8, 5.8 * (top + 2.4) / wide + 0.4))
    # The first position of each row that LocalRNN alone connects with the output.
    starts = [max(1, position - (layers - row) * (window - 1)) for row in range(layers + 1)]

    def way(row: int, j: int, k: int) -> tuple[Point, Point]:
        """From the foot of circle j to the head of circle k in the row below."""
        return (j, gap * row - radius), (k, gap * (row - 1) + radius)

    rows, places = range(1, layers + 1), range(1, position + 1)
    fan = [(row, j, k) for row in rows for j in places for k in range(max(1, j - window + 1), j + 1)]
    links(ax, [way(*e) for e in fan if e[1] < starts[e[0]]], color=_FAR, linewidth=0.8, alpha=0.5, zorder=1)
    attended = [way(layers + 1, position, j) for j in range(1, position)]
    links(ax, attended, color=_FAR, linewidth=1.3, linestyle=(0, (4, 2)), zorder=1)
    own = [*(e for e in fan if e[1] >= starts[e[0]]), (layers + 1, position, position)]
    links(ax, [way(*e) for e in own], color=_NEAR, linewidth=2.2)
    _node(ax, position, top, "near", "$t$", radius, 12)
    for row, start in enumerate(starts):
        for j in range(1, length + 1):
            look = "none" if j > position else "near" if j >= start else "far"
            order = str(j - position + window) if row == layers - 1 and look == "near" else ""
            _node(ax, j, gap * row, look, order, radius, 12)
    for row, name in enumerate(["inputs", *["LocalRNN"] * layers, "attention"]):
        word(ax, 0.2, gap * row, name, ha="right", fontsize=12)
    word(ax, length / 2, -1.2, "numbers: the order in which the window is read", fontsize=12)
    ax.set_title(f"LocalRNN alone: {_inputs(near)}; with attention: {_inputs(position)}")
    blank(ax, (length + 0.5 - wide, length + 0.5), (-1.6, top + 0.8))
    return fig


def _near(window: int, layers: int) -> int:
    """How many inputs LocalRNN alone connects with the output."""
    return min(layers * (window - 1) + 1, _POSITION)


def _inputs(count: int) -> str:
    return f"{count} input{'' if count == 1 else 's'}"


def describe_reach(window: int, layers: int = 1) -> str:
    """What :func:`draw_reach` shows for these arguments, in words."""
    near = _near(window, layers)
    way = "a LocalRNN" if layers == 1 else f"{layers} LocalRNNs on one another"
    return (
        f"Through {way} with a window of {window}, output {_POSITION} depends on the last {_inputs(near)}, read in "
        f"order of time. Attention over all earlier outputs connects it with all {_inputs(_POSITION)} so far."
    )
