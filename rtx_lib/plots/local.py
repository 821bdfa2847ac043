"""Drawings of a LocalRNN: where its window is, and which inputs reach an output through it and through attention.

R-Transformer (Wang, Ma, Liu and Tang 2019) runs a small recurrent network over the last M inputs of every position,
and then attends to all of its outputs. What is near is drawn thick and filled, what comes by attention thin and dashed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from rtx_lib.plots.positions import GREY
from rtx_lib.plots.style import CYCLE

_NEAR, _FAR = CYCLE[:2]
_LOOKS: dict[str, dict[str, Any]] = {  # of circles
    "near": {"facecolor": _NEAR + "70", "edgecolor": _NEAR, "linewidth": 2.6},
    "far": {"facecolor": _FAR + "28", "edgecolor": _FAR, "linewidth": 1.3},
    "none": {"facecolor": "none", "edgecolor": GREY, "linewidth": 1.0},
    "zero": {"facecolor": "none", "edgecolor": GREY, "linewidth": 1.0, "linestyle": (0, (2, 1.5))},
}


@dataclass
class _Pen:
    ax: Axes
    radius: float
    fontsize: float

    def node(self, x: float, y: float, look: str, text: str = "") -> None:
        self.ax.add_patch(Circle((x, y), self.radius, zorder=3, **_LOOKS[look]))
        if text:
            self.word(x, y, text)

    def word(self, x: float, y: float, text: str, **font: Any) -> None:
        look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": self.fontsize, "zorder": 5}
        self.ax.text(x, y, text, **look | font)

    def box(self, x: float, y: float, lit: bool) -> None:
        look = {"zorder": 3, **_LOOKS["near" if lit else "none"]}
        self.ax.add_patch(FancyBboxPatch((x - 0.27, y - 0.27), 0.54, 0.54, "round,pad=0,rounding_size=0.1", **look))

    def arrow(self, start: tuple[float, float], end: tuple[float, float], lit: bool = True) -> None:
        colour, width = (_NEAR, 2.2) if lit else (GREY, 1.0)
        tip = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0}
        self.ax.annotate("", end, start, arrowprops=tip, zorder=2)

    def links(self, ends: Iterable[tuple[float, float, float, float]], **look: Any) -> None:
        """Lines from the foot of circle (x0, y0) to the head of circle (x1, y1) below it, as one artist."""
        pieces = [((x0, y0 - self.radius), (x1, y1 + self.radius), (np.nan, np.nan)) for x0, y0, x1, y1 in ends]
        if pieces:
            self.ax.plot(*np.reshape(pieces, (-1, 2)).T, solid_capstyle="butt", **look)


def _check_places(position: int, **sizes: int) -> None:
    for name, value in sizes.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, was {value}")
    if not 1 <= position <= sizes["length"]:
        raise ValueError(f"position must be from 1 to {sizes['length']}, was {position}")


def draw_windows(ax: Axes, window: int = 3, length: int = 8, position: int = 6) -> None:
    """Where the window is: above an RNN over the whole sequence, below a LocalRNN, with one output's inputs lit.

    Boxes are steps of the recurrent network, from left to right; a 0 in front of the first is the zero state. Dashed
    circles are the zeros that stand before the first input.

    Args:
        ax: axes to draw in, for the defaults 5.8 x 5.6 inches.
        window: M, how many inputs a window holds.
        length: T, number of inputs.
        position: t, the output whose inputs are lit, from 1 to T.

    Raises:
        ValueError: if ``window`` or ``length`` is below 1, or there is no such position.
    """
    _check_places(position, window=window, length=length)
    pen = _Pen(ax, 0.34, 11)
    left, first, above = min(1, 2 - window), position - window + 1, 4.55
    for x in range(left, 1):
        pen.node(x, 0, "zero", "0")
    for y, start, stop in ((above, 1, length), (0, first, position)):
        for x in range(1, length + 1):
            pen.node(x, y, "near" if start <= x <= position else "none", f"$x_{{{x}}}$")
            pen.node(x, y + 2.1, "near" if x == position else "none", f"$h_{{{x}}}$")
        pen.word(start - 0.78, y + 1.05, "0")
        pen.arrow((start - 0.62, y + 1.05), (start - 0.27, y + 1.05))
        for x in range(start, stop + 1):
            pen.box(x, y + 1.05, x <= position)
            pen.arrow((x, y + 0.34), (x, y + 0.78), x <= position)
            if x < stop:
                pen.arrow((x + 0.27, y + 1.05), (x + 0.73, y + 1.05), x < position)
            if y or x == position:
                pen.arrow((x, y + 1.32), (x, y + 1.76), x == position)
    own = f"LocalRNN, $\\mathbf{{M = {window}}}$: each output has its own run"
    for y, title in ((above, "RNN: one run over everything"), (0, own)):
        pen.word(left - 0.4, y + 2.85, title, ha="left", fontsize=12.5, fontweight="bold")
    foot = _bars(pen, window, length, position)
    most = min(left, first - 0.5, 0.5)  # a zero state may stand furthest left
    ax.set(xlim=(most - 0.45, length + 0.45), ylim=(foot - 0.6, above + 3.2), aspect="equal")
    ax.set_axis_off()


def _bars(pen: _Pen, window: int, length: int, position: int) -> float:
    """The windows of the first output, the lit one and the next as bars below the inputs; height of the lowest."""
    level, last, y = 0, -np.inf, 0.0
    for t in sorted({1, position, min(position + 1, length)}):
        level = level + 1 if t - last < max(window, 3) else 0  # one below the other where bars or words overlap
        lit, y, last = t == position, -0.75 - 0.72 * level, t
        look: dict[str, Any] = {"color": _NEAR, "linewidth": 4.5} if lit else {"color": GREY, "linewidth": 2}
        ends = np.array([t - window + 0.62, t + 0.38])
        pen.ax.plot(ends, [y, y], linestyle="-" if lit else (0, (3, 1.5)), marker="|", markersize=10, **look)
        pen.word(ends.mean(), y - 0.34, f"window of $h_{{{t}}}$", fontweight="bold" if lit else "normal")
    return y


def draw_reach(window: int, layers: int = 1, length: int = 12, position: int = 11) -> Figure:
    """Which inputs reach one output: through LocalRNN alone, and through the attention after it.

    Thick and filled: the n (M - 1) + 1 inputs that n LocalRNNs carry to position t; numbers say in which order the
    last of them reads its window. Thin and dashed: attention adds every h_j before t, and with it their windows.
    For frames: ``explorer(draw_reach, range(1, 9), "window M", alt=describe_reach)``.

    Args:
        window: M.
        layers: n, LocalRNNs on one another; as many blocks reach as far along the residual connections.
        length: T, number of inputs.
        position: t, from 1 to T.

    Raises:
        ValueError: if ``window``, ``layers`` or ``length`` is below 1, or there is no such position.
    """
    near = _near(window, layers, length, position)
    gap, wide = 2.5, length + 4.9
    top = gap * (layers + 1)
    fig, ax = plt.subplots(figsize=(5.8, 5.8 * (top + 2.4) / wide + 0.4))
    pen = _Pen(ax, 0.38, 10)
    # The first position of each row that LocalRNN alone connects with the output.
    starts = [max(1, position - (layers - row) * (window - 1)) for row in range(layers + 1)]
    fans: dict[bool, list[tuple[float, float, float, float]]] = {True: [], False: []}
    for row in range(1, layers + 1):
        for j in range(1, position + 1):
            for k in range(max(1, j - window + 1), j + 1):
                fans[j >= starts[row]].append((j, gap * row, k, gap * (row - 1)))
    pen.links(fans[False], color=_FAR, linewidth=0.8, alpha=0.5, linestyle="-", zorder=1)
    attended = [(position, top, j, gap * layers) for j in range(1, position)]
    pen.links(attended, color=_FAR, linewidth=1.3, linestyle=(0, (4, 2)), zorder=1)
    pen.links([*fans[True], (position, top, position, gap * layers)], color=_NEAR, linewidth=2.2, linestyle="-")
    pen.node(position, top, "near", "$t$")
    for row, start in enumerate(starts):
        for j in range(1, length + 1):
            look = "none" if j > position else "near" if j >= start else "far"
            order = str(j - position + window) if row == layers - 1 and look == "near" else ""
            pen.node(j, gap * row, look, order)
    for row, name in enumerate(["inputs", *["LocalRNN"] * layers, "attention"]):
        pen.word(0.2, gap * row, name, ha="right", fontsize=12)
    pen.word(length / 2, -1.2, "numbers: the order in which the window is read", fontsize=11)
    ax.set_title(f"LocalRNN alone: {_inputs(min(near, position))}; with attention: {_inputs(position)}")
    ax.set(xlim=(length + 0.5 - wide, length + 0.5), ylim=(-1.6, top + 0.8), aspect="equal")
    ax.set_axis_off()
    return fig


def _near(window: int, layers: int, length: int, position: int) -> int:
    """How many inputs LocalRNN alone connects with an output."""
    _check_places(position, window=window, layers=layers, length=length)
    return layers * (window - 1) + 1


def _inputs(count: int) -> str:
    return f"{count} input{'' if count == 1 else 's'}"


def describe_reach(window: int, layers: int = 1, length: int = 12, position: int = 11) -> str:
    """What :func:`draw_reach` shows for these arguments, in words."""
    near = min(_near(window, layers, length, position), position)
    way = "a LocalRNN" if layers == 1 else f"{layers} LocalRNNs on one another"
    return (
        f"Through {way} with a window of {window}, output {position} depends on the last {_inputs(near)}, read in "
        f"order of time. Attention over all earlier outputs connects it with all {_inputs(position)} so far."
    )
