"""Gated cells drawn from their parts, one part more at each stage: boxes are learned maps, circles act by component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from rtx_lib.plots.style import CYCLE, INK

_STAGES = {  # stage: (equation, description)
    "recurrent step": (
        r"$h_t = \tanh(a_t)$",
        "A plain recurrent step: the input x and the last state h enter one box, tanh, whose output is the new state. "
        "All that is remembered has to pass through the box.",
    ),
    "cell state": (
        r"$c_t = c_{t-1} + g_t, \quad h_t = \tanh(c_t)$",
        "A second line, the cell state c, runs straight from left to right. The tanh box's output is added to it, and "
        "the state h is read off it. Nothing on the line itself is multiplied.",
    ),
    "input gate": (
        r"$c_t = c_{t-1} + i_t \odot g_t, \quad h_t = \tanh(c_t)$",
        "A sigmoid box i now multiplies what is written, before it is added to the cell state.",
    ),
    "output gate": (
        r"$c_t = c_{t-1} + i_t \odot g_t, \quad h_t = o_t \odot \tanh(c_t)$",
        "A sigmoid box o multiplies what is read from the cell state. This is the cell of 1997.",
    ),
    "forget gate": (
        r"$c_t = f_t \odot c_{t-1} + i_t \odot g_t, \quad h_t = o_t \odot \tanh(c_t)$",
        "A sigmoid box f multiplies the old cell state on its line, so that it can be kept or cleared. This is the "
        "LSTM as it is used today.",
    ),
    "way back": (
        r"$\delta c_{t-1} = f_t \odot \delta c_t + \ldots$ (through the boxes)",
        "The error signal on its way back along the cell state: the sum passes it on unchanged, and the forget gate "
        "multiplies it by f. It meets no matrix and no tanh.",
    ),
    "update gate": (
        r"$h_t = z_t \odot h_{t-1} + (1 - z_t) \odot n_t$",
        "The GRU has one line, h. A sigmoid box z multiplies the old state, and one minus z multiplies the candidate n "
        "before it is added.",
    ),
    "reset gate": (
        r"$h_t = z_t \odot h_{t-1} + (1 - z_t) \odot n_t, \quad r_t$ inside $n_t$",
        "The full GRU: a second sigmoid box r multiplies what the candidate n hears of the old state.",
    ),
}
CELL_STAGES = tuple(_STAGES)
"""The stages of :func:`draw_cell` in order: the LSTM is built up first, then the GRU."""

_BUS, _ROW, _MEET, _LINE = 1.0, 2.35, 3.5, 4.6  # heights: what enters the boxes, the boxes, the products, the state
_SIZE = 0.5  # half the width of a box


def describe_cell(stage: str) -> str:
    """What :func:`draw_cell` shows at this stage, in words.

    Raises:
        ValueError: if ``stage`` is not one of :data:`CELL_STAGES`.
    """
    return _look_up(stage)[1]


def draw_cell(stage: str) -> Figure:
    """One time step of a recurrent cell, with the part that is new at this stage drawn thick and filled.

    Boxes read x_t and h_{t-1} and hold weights; circles act component by component. The stages follow the history of
    the LSTM (Hochreiter and Schmidhuber 1997: cell state, input and output gate; Gers, Schmidhuber and Cummins 2000:
    forget gate), then the way of the error signal, then the GRU (Cho et al. 2014) with the reset after the matrix.

    Raises:
        ValueError: if ``stage`` is not one of :data:`CELL_STAGES`.
    """
    equation = _look_up(stage)[0]
    fig, ax = plt.subplots(figsize=(5.8, 3.7))
    ax.set(xlim=(-0.2, 10.2), ylim=(-0.35, 5.55), aspect="equal")
    ax.set_axis_off()
    ax.set_title(equation)
    pen = _Pen(ax, stage)
    if stage in ("update gate", "reset gate"):
        _gru(pen, reset=stage == "reset gate")
    else:
        _lstm(pen, CELL_STAGES.index(stage))
    return fig


def _look_up(stage: str) -> tuple[str, str]:
    if stage not in _STAGES:
        raise ValueError(f"stage must be one of {list(CELL_STAGES)}, was {stage!r}")
    return _STAGES[stage]


@dataclass
class _Pen:
    """Draws parts; those that belong to the current stage stand out."""

    ax: Axes
    stage: str

    def _look(self, part: str) -> dict[str, Any]:
        new = part == self.stage
        return {"color": CYCLE[0] if new else INK, "linewidth": 2.8 if new else 1.3, "zorder": 3 if new else 2}

    def box(self, x: float, y: float, kind: str, name: str, part: str) -> None:
        look = self._look(part)
        edge = look.pop("color")
        fill = (edge if part == self.stage else "#808080") + "40"
        corner = (x - _SIZE, y - 0.33)
        shape = "round,pad=0,rounding_size=0.12"
        self.ax.add_patch(FancyBboxPatch(corner, 2 * _SIZE, 0.66, shape, facecolor=fill, edgecolor=edge, **look))
        self.ax.text(x, y, kind, ha="center", va="center", zorder=4)
        if name:
            weight = "bold" if part == self.stage else "normal"
            self.ax.text(x + 0.1, y + 0.4, name, ha="left", va="bottom", zorder=4, fontweight=weight)

    def circle(self, x: float, y: float, sign: str, part: str) -> None:
        look = self._look(part)
        edge = look.pop("color")
        # An opaque fill would have to know the page's background; so lines end at the rim instead.
        self.ax.add_patch(Circle((x, y), 0.27, facecolor="none", edgecolor=edge, **look))
        self.ax.text(x, y, sign, ha="center", va="center_baseline", zorder=4)

    def arrow(self, part: str, *points: tuple[float, float], head: bool = True, **line: Any) -> None:
        look = self._look(part) | line
        xs, ys = zip(*points, strict=True)
        self.ax.plot(xs, ys, linestyle="-", solid_capstyle="butt", **look)
        if head:
            tip: dict[str, Any] = {"arrowstyle": "-|>", "color": look["color"], "lw": look["linewidth"]}
            tip |= {"shrinkA": 0, "shrinkB": 0}
            self.ax.annotate("", points[-1], points[-2], arrowprops=tip, zorder=look["zorder"])

    def word(self, x: float, y: float, text: str, part: str = "", **font: Any) -> None:
        look: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 4}
        look["fontweight"] = "bold" if part == self.stage else "normal"
        self.ax.text(x, y, text, **look | font)


def _inputs(pen: _Pen, places: Sequence[float]) -> None:
    """The line that carries x_t and h_{t-1} past the boxes."""
    pen.word(0.2, _BUS, "$h_{t-1}$")
    pen.word(1.15, -0.1, "$x_t$")
    pen.arrow("", (0.65, _BUS), (max(places), _BUS), head=False)
    pen.arrow("", (1.15, 0.2), (1.15, _BUS), head=False)
    pen.ax.plot([1.15], [_BUS], marker="o", color=INK, markersize=4)


def _feed(pen: _Pen, x: float, part: str) -> None:
    pen.arrow(part, (x, _BUS), (x, _ROW - 0.33))


def _lstm(pen: _Pen, reached: int) -> None:
    """Everything up to stage number ``reached`` of the LSTM."""
    f, i, g, o, out = 2.2, 3.6, 5.0, 6.8, 8.3
    state = "recurrent step"
    _inputs(pen, [o if reached >= 3 else g])
    _feed(pen, g, state)
    pen.box(g, _ROW, "tanh", "$g_t$" if reached else "", state)
    pen.arrow(state, (out, _BUS), (9.3, _BUS))
    pen.word(9.75, _BUS, "$h_t$")
    if reached == 0:
        pen.arrow(state, (g + _SIZE, _ROW), (out, _ROW), (out, _BUS), head=False)
        return

    line = "cell state"
    start = f + 0.27 if reached >= 4 else 0.65
    pen.word(0.2, _LINE, "$c_{t-1}$")
    pen.word(9.75, _LINE, "$c_t$")
    pen.arrow(line, (start, _LINE), (g - 0.27, _LINE))
    pen.arrow(line, (g + 0.27, _LINE), (9.3, _LINE))
    pen.circle(g, _LINE, "+", line)
    pen.arrow(line, (out, _LINE), (out, 3.83 if reached >= 3 else _ROW + 0.33))
    pen.box(out, _MEET if reached >= 3 else _ROW, "tanh", "", line)
    if reached >= 3:
        pen.arrow("output gate", (out, 3.17), (out, _ROW + 0.27))
        pen.arrow("output gate", (out, _ROW - 0.27), (out, _BUS), head=False)
        _feed(pen, o, "output gate")
        pen.box(o, _ROW, "σ", "$o_t$", "output gate")
        pen.arrow("output gate", (o + _SIZE, _ROW), (out - 0.27, _ROW))
        pen.circle(out, _ROW, "×", "output gate")
    else:
        pen.arrow(line, (out, _ROW - 0.33), (out, _BUS), head=False)
    if reached == 1:
        pen.arrow(line, (g, _ROW + 0.33), (g, _LINE - 0.27))
        return

    pen.arrow("input gate", (g, _ROW + 0.33), (g, _MEET - 0.27))
    pen.arrow("input gate", (g, _MEET + 0.27), (g, _LINE - 0.27))
    pen.arrow("input gate", (i, _ROW + 0.33), (i, _MEET), (g - 0.27, _MEET))
    pen.circle(g, _MEET, "×", "input gate")
    _feed(pen, i, "input gate")
    pen.box(i, _ROW, "σ", "$i_t$", "input gate")
    if reached >= 4:
        pen.arrow("forget gate", (0.65, _LINE), (f - 0.27, _LINE))
        pen.circle(f, _LINE, "×", "forget gate")
        _feed(pen, f, "forget gate")
        pen.box(f, _ROW, "σ", "$f_t$", "forget gate")
        pen.arrow("forget gate", (f, _ROW + 0.33), (f, _LINE - 0.27))
    if reached >= 5:
        back: dict[str, Any] = {"color": CYCLE[1], "linewidth": 2.8, "zorder": 5}
        for right, left in ((9.3, g + 0.4), (g - 0.4, f + 0.4), (f - 0.4, 0.65)):
            pen.arrow("way back", (right, _LINE + 0.42), (left, _LINE + 0.42), **back)
        pen.word(g, _LINE + 0.45, "1", "way back")
        pen.word(f, _LINE + 0.45, "$f_t$")
        pen.word(7.3, _LINE + 0.75, "error signal", fontsize=11)


def _gru(pen: _Pen, *, reset: bool) -> None:
    """The GRU, with or without its reset gate."""
    z, r, cut, n = 2.2, 4.1, 5.35, 6.6
    gate, inside = "update gate", "reset gate"
    _inputs(pen, [n])
    pen.word(0.2, _LINE, "$h_{t-1}$")
    pen.word(9.75, _LINE, "$h_t$")
    pen.arrow("", (0.65, _LINE), (z - 0.27, _LINE))
    pen.arrow("", (z + 0.27, _LINE), (n - 0.27, _LINE))
    pen.arrow("", (n + 0.27, _LINE), (9.3, _LINE))
    pen.circle(n, _LINE, "+", gate)
    pen.circle(z, _LINE, "×", gate)
    _feed(pen, z, gate)
    pen.box(z, _ROW, "σ", "", gate)
    pen.word(z - 0.1, _ROW + 0.42, "$z_t$", va="bottom", ha="right")
    pen.arrow(gate, (z, _ROW + 0.33), (z, _LINE - 0.27))
    pen.arrow(gate, (z, _MEET), (3.83, _MEET))
    pen.circle(4.1, _MEET, "1−", gate)
    pen.arrow(gate, (4.37, _MEET), (n - 0.27, _MEET))
    pen.circle(n, _MEET, "×", gate)
    _feed(pen, n, "")
    pen.box(n, _ROW, "tanh", "$n_t$", "")
    pen.arrow("", (n, _ROW + 0.33), (n, _MEET - 0.27))
    pen.arrow("", (n, _MEET + 0.27), (n, _LINE - 0.27))
    if reset:
        _feed(pen, r, inside)
        pen.box(r, _ROW, "σ", "$r_t$", inside)
        pen.arrow(inside, (r + _SIZE, _ROW), (cut - 0.27, _ROW))
        pen.circle(cut, _ROW, "×", inside)
        pen.arrow(inside, (cut, _BUS), (cut, _ROW - 0.27))
        pen.arrow(inside, (cut + 0.27, _ROW), (n - _SIZE, _ROW))
        pen.word(cut + 0.12, 1.5, "$h_{t-1}$", ha="left")
        pen.word(n + 0.12, 1.5, "$x_t$", ha="left")
