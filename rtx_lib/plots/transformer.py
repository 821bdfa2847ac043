"""The encoder-decoder Transformer as a diagram, one part more at each stage, with its three attentions by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Rectangle
from matplotlib.transforms import Affine2D

from rtx_lib.plots.positions import cell_path
from rtx_lib.plots.style import CYCLE, INK

_STAGES = {  # stage: (title, description)
    "embeddings": (
        r"$x_t =$ √D $E[w_t] + p_t$",
        "Two towers begin: on the left the source tokens, on the right the target tokens so far. Each token becomes "
        "its embedding, and its position is added.",
    ),
    "encoder self-attention": (
        r"softmax$(QK^\top$ / √K$)\,V$: all see all",
        "Left tower: the encoder self-attention. Queries, keys and values all come from the source, and every token "
        "sees every other. A line leads around the box; its output is added to the input and normalised.",
    ),
    "encoder feed-forward": (
        r"$W_2\,\mathrm{relu}(W_1 x + b_1) + b_2$, at each position alone",
        "Left tower: a feed-forward net of two layers follows, the same at each position, again with a line around it, "
        "a sum and a norm.",
    ),
    "encoder stack": (
        "the layer repeats N times",
        "Left tower: attention and feed-forward net together are one layer, of which N stand on one another. What "
        "leaves the top is the memory: one vector for each source token.",
    ),
    "masked decoder self-attention": (
        "no target token sees a later one",
        "Right tower: the masked decoder self-attention. Queries, keys and values come from the target so far, and "
        "the mask, a lower triangle, hides from each token all later ones.",
    ),
    "encoder-decoder attention": (
        "$Q$ from the decoder, $K$ and $V$ from the encoder",
        "The encoder-decoder attention joins the towers: queries come up the right tower, keys and values come from "
        "the encoder's memory, and every target token sees the whole source.",
    ),
    "prediction": (
        r"$p(w_{t+1} \mid w_{\leq t}, \mathrm{source})$ at each position",
        "Right tower: a feed-forward net completes the decoder's layer, which repeats N times. A linear map and a "
        "softmax give the probabilities of the next token at every position; in training all positions at once.",
    ),
    "decoding": (
        "one token at a time, each fed back",
        "In use, the token chosen from the probabilities is appended to the target, and the right tower runs again. "
        "The left tower runs once.",
    ),
    "three attentions": (
        "three attentions, one formula",
        "The whole model with its three attentions in colour: encoder self-attention, where all see all; masked "
        "decoder self-attention, where the mask is a lower triangle; and encoder-decoder attention, where the "
        "queries come from the decoder and the keys and values from the encoder.",
    ),
}
TRANSFORMER_STAGES = tuple(_STAGES)
"""The stages of :func:`draw_transformer` in order."""

_LEFT, _RIGHT = 2.75, 8.05  # middles of the towers
_HALF = 2.1  # half the width of a box
_ATTENTIONS = ("encoder self-attention", "masked decoder self-attention", "encoder-decoder attention")


def describe_transformer(stage: str) -> str:
    """What :func:`draw_transformer` shows at this stage, in words.

    Raises:
        ValueError: if ``stage`` is not one of :data:`TRANSFORMER_STAGES`.
    """
    return _look_up(stage)[1]


def draw_transformer(stage: str = "three attentions", ax: Axes | None = None) -> Figure:
    """The Transformer up to one stage, read from the bottom to the top, with what is new drawn thick and filled.

    As published (Vaswani et al. 2017, figure 1), with the norm after each sum. The small grid in an attention shows
    its mask: a row for each query, a filled cell for each key that it may see.

    Args:
        stage: one of :data:`TRANSFORMER_STAGES`; the last shows everything, with the three attentions in colour.
        ax: axes to draw in; a figure of their own by default.

    Returns:
        The figure.

    Raises:
        ValueError: if ``stage`` is not one of :data:`TRANSFORMER_STAGES`.
    """
    title = _look_up(stage)[0]
    if ax is None:
        _, ax = plt.subplots(figsize=(5.4, 7.0))
    ax.set(xlim=(-0.1, 11.5), ylim=(-0.3, 13.9), aspect="equal")
    ax.set_axis_off()
    ax.set_title(title)
    pen = _Pen(ax, stage)
    _encoder(pen)
    _decoder(pen)
    return ax.figure.canvas.figure


def _look_up(stage: str) -> tuple[str, str]:
    if stage not in _STAGES:
        raise ValueError(f"stage must be one of {list(TRANSFORMER_STAGES)}, was {stage!r}")
    return _STAGES[stage]


@dataclass
class _Pen:
    """Draws the parts that the stage has reached; those that are new at it stand out."""

    ax: Axes
    stage: str

    def _shows(self, part: str) -> bool:
        return TRANSFORMER_STAGES.index(part) <= TRANSFORMER_STAGES.index(self.stage)

    def _look(self, part: str) -> dict[str, Any]:
        new = part == self.stage
        return {"color": CYCLE[0] if new else INK, "linewidth": 2.6 if new else 1.2, "zorder": 3 if new else 2}

    def box(self, x: float, y: float, half: float, text: str, part: str, mask: np.ndarray | None = None) -> None:
        if not self._shows(part):
            return
        look = self._look(part)
        coloured = part == self.stage
        if mask is not None and self.stage == "three attentions":
            look |= {"color": CYCLE[_ATTENTIONS.index(part)], "linewidth": 2.6}
            coloured = True
        edge = look.pop("color")
        fill = (edge if coloured else "#808080") + "40"
        shape = "round,pad=0,rounding_size=0.15"
        corner = (x - _HALF, y - half)
        self.ax.add_patch(FancyBboxPatch(corner, 2 * _HALF, 2 * half, shape, facecolor=fill, edgecolor=edge, **look))
        shift = 0.0 if mask is None else -0.42
        self.ax.text(x + shift, y, text, ha="center", va="center", zorder=4, fontsize=10.5)
        if mask is not None:
            self._mask(x + _HALF - 0.55, y, mask, edge)

    def _mask(self, x: float, y: float, mask: np.ndarray, colour: str) -> None:
        rows, columns = mask.shape
        place = Affine2D().translate((1 - columns) / 2, (1 - rows) / 2).scale(0.155, -0.155).translate(x, y)
        for cells, fill in ((mask, colour), (np.ones_like(mask), "none")):
            path = cell_path(cells).transformed(place)
            self.ax.add_patch(PathPatch(path, facecolor=fill, edgecolor="#808080", linewidth=0.5, zorder=4))

    def arrow(self, part: str, *points: tuple[float, float], head: bool = True) -> None:
        if not self._shows(part):
            return
        look = self._look(part)
        xs, ys = zip(*points, strict=True)
        self.ax.plot(xs, ys, linestyle="-", solid_capstyle="butt", **look)
        if head:
            tip: dict[str, Any] = {"arrowstyle": "-|>", "color": look["color"], "lw": look["linewidth"]}
            self.ax.annotate("", points[-1], points[-2], arrowprops=tip | {"shrinkA": 0, "shrinkB": 0}, zorder=3)

    def word(self, x: float, y: float, text: str, part: str, **font: Any) -> None:
        if self._shows(part):
            look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 11, "zorder": 4}
            self.ax.text(x, y, text, **look | font)

    def stack(self, x: float, low: float, high: float, part: str) -> None:
        """A dashed frame around a layer, which is repeated."""
        if not self._shows(part):
            return
        look = self._look(part)
        look |= {"linestyle": (0, (3, 2)), "facecolor": "none", "edgecolor": look.pop("color")}
        self.ax.add_patch(Rectangle((x - _HALF - 0.45, low), 2 * _HALF + 0.9, high - low, **look))

    def embed(self, x: float, tokens: str) -> None:
        part = "embeddings"
        self.word(x, 0.1, tokens, part)
        self.arrow(part, (x, 0.4), (x, 0.85))
        self.box(x, 1.2, 0.35, "embedding", part)
        self.arrow(part, (x, 1.55), (x, 1.98))
        if self._shows(part):
            look = self._look(part)
            self.ax.add_patch(Circle((x, 2.25), 0.27, facecolor="none", edgecolor=look.pop("color"), **look))
        self.word(x, 2.25, "+", part, va="center_baseline", fontsize=12)
        self.word(x + 0.5, 2.25, "position", part, ha="left")

    def add_norm(self, x: float, y: float, below: float, side: int, part: str) -> None:
        """Sum and norm at height y, with the line that leads around from height ``below``."""
        self.box(x, y, 0.27, "add & norm", part)
        out = x + side * (_HALF + 0.28)
        self.arrow(part, (x, below), (out, below), (out, y), (x + side * _HALF, y))


def _encoder(pen: _Pen) -> None:
    x, part = _LEFT, "encoder self-attention"
    pen.embed(x, "source tokens")
    pen.arrow(part, (x, 2.52), (x, 3.35))
    pen.box(x, 3.85, 0.5, "encoder\nself-attention", part, np.ones((5, 5)))
    pen.word(x + 0.2, 3.12, "Q, K, V", part, ha="left", fontsize=10)
    pen.arrow(part, (x, 4.35), (x, 4.68), head=False)
    pen.add_norm(x, 4.95, 2.87, -1, part)

    part = "encoder feed-forward"
    pen.arrow(part, (x, 5.22), (x, 5.8))
    pen.box(x, 6.15, 0.35, "feed-forward", part)
    pen.arrow(part, (x, 6.5), (x, 6.83), head=False)
    pen.add_norm(x, 7.1, 5.48, -1, part)

    part = "encoder stack"
    pen.stack(x, 2.62, 7.55, part)
    pen.word(x - _HALF - 0.45, 7.85, "N ×", part, ha="left", fontsize=12)
    pen.arrow(part, (x, 7.37), (x, 8.05))
    pen.word(x, 8.35, "memory", part, fontsize=10)


def _decoder(pen: _Pen) -> None:
    x, part = _RIGHT, "masked decoder self-attention"
    pen.embed(x, "target tokens so far")
    pen.arrow(part, (x, 2.52), (x, 3.35))
    pen.box(x, 3.85, 0.5, "masked decoder\nself-attention", part, np.tri(5))
    pen.word(x + 0.2, 3.12, "Q, K, V", part, ha="left", fontsize=10)
    pen.arrow(part, (x, 4.35), (x, 4.68), head=False)
    pen.add_norm(x, 4.95, 2.87, 1, part)

    part = "encoder-decoder attention"
    pen.arrow(part, (x, 5.22), (x, 7.55))
    pen.word(x + 0.2, 7.25, "Q", part, ha="left", fontsize=10)
    pen.arrow(part, (_LEFT, 8.05), (x - _HALF, 8.05))
    pen.word((_LEFT + x - _HALF) / 2 + 0.4, 8.3, "K, V", part, fontsize=10)
    pen.box(x, 8.05, 0.5, "encoder-decoder\nattention", part, np.ones((5, 4)))
    pen.arrow(part, (x, 8.55), (x, 8.88), head=False)
    pen.add_norm(x, 9.15, 5.5, 1, part)

    part = "prediction"
    pen.arrow(part, (x, 9.42), (x, 9.98))
    pen.box(x, 10.33, 0.35, "feed-forward", part)
    pen.arrow(part, (x, 10.68), (x, 10.95), head=False)
    pen.add_norm(x, 11.22, 9.67, 1, part)
    pen.stack(x, 2.62, 11.67, part)
    pen.word(x - _HALF - 0.6, 11.45, "N ×", part, ha="right", fontsize=12)
    pen.arrow(part, (x, 11.49), (x, 12.05))
    pen.box(x, 12.4, 0.35, "linear, softmax", part)
    pen.arrow(part, (x, 12.75), (x, 13.15))
    pen.word(x, 13.4, "next token", part)

    out = 11.2
    pen.arrow("decoding", (x + 1.1, 13.4), (out, 13.4), (out, 0.1), (x + 1.95, 0.1))
