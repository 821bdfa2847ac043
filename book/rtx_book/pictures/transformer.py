"""The encoder-decoder Transformer as a diagram, one part more at each stage, with its three attentions by name."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle

from rtx_book.page.diagram import Pen, blank
from rtx_book.page.grids import squares
from rtx_book.paths import texts
from rtx_lib.plots.style import CYCLE, GREY

_STAGES: dict[str, dict[str, str]] = texts("pictures/stages.yml")["transformer"]
TRANSFORMER_STAGES = tuple(_STAGES)
"""The stages of :func:`draw_transformer` in order."""

_HALF = 2.1  # half the width of a box
_ENCODE, _MASKED, _CROSS = (TRANSFORMER_STAGES[place] for place in (1, 4, 5))
_MASKS = {_ENCODE: np.ones((5, 5)), _MASKED: np.tri(5), _CROSS: np.ones((5, 4))}
_MARKS = texts("pictures/marks.yml")["transformer"]


def describe_transformer(stage: str) -> str:
    """What :func:`draw_transformer` shows at this stage, in words."""
    return _STAGES[stage]["words"]


def draw_transformer(stage: str = "three attentions") -> Figure:
    """The Transformer up to one stage, read from the bottom to the top, with what is new drawn thick and filled.

    As published (Vaswani et al. 2017, figure 1), with the norm after each sum. The small grid in an attention shows
    its mask: a row for each query, a filled cell for each key that it may see.

    Parameters
    ----------
    stage
        One of :data:`TRANSFORMER_STAGES`; the last shows everything, with the three attentions in colour.
    """
    fig, ax = plt.subplots(figsize=(5.4, 7.0))
    blank(ax, (-0.1, 11.5), (-0.3, 13.9), title=_STAGES[stage]["title"])
    reached = TRANSFORMER_STAGES[: TRANSFORMER_STAGES.index(stage) + 1]
    _TowerPen(ax, stage, 1.2, 2.6, 0.15).draw(mark for mark in _MARKS if mark[1] in reached)
    return fig


class _TowerPen(Pen):
    """With the parts that repeat in both towers."""

    def plate(self, part: str, x: float, y: float, half: float, text: str) -> None:
        """A box as wide as a tower, with its mask if it is an attention."""
        mask = _MASKS.get(part) if "attention" in text else None
        if mask is None:
            self.box(part, x, y, (_HALF, half), text, fontsize=11)
            return
        own = CYCLE[list(_MASKS).index(part)] if self.stage == TRANSFORMER_STAGES[-1] else None
        edge = self.box(part, x, y, (_HALF, half), "", own)
        self.label(part, x - 0.42, y, text, "center", 11)
        rows, columns = mask.shape
        for cells, fill in ((mask, edge), (np.ones_like(mask), "none")):
            places = (np.argwhere(cells)[:, ::-1] - ((columns - 1) / 2, (rows - 1) / 2)) * (0.155, -0.155)
            path = squares(np.add(places, (x + _HALF - 0.55, y)), 0.155)
            self.ax.add_patch(PathPatch(path, facecolor=fill, edgecolor=GREY, linewidth=0.5, zorder=4))

    def layer(self, part: str, x: float, low: float, high: float) -> None:
        """A dashed frame around a layer, which is repeated."""
        look = self.look(part) | {"linestyle": (0, (3, 2)), "facecolor": "none"}
        edge, place = look.pop("color"), (x - _HALF - 0.45, low)
        self.ax.add_patch(Rectangle(place, 2 * _HALF + 0.9, high - low, edgecolor=edge, **look))

    def embed(self, part: str, x: float, tokens: str) -> None:
        """From tokens to vectors with their positions."""
        self.label(part, x, 0.1, tokens, "center", 11)
        self.arrow(part, (x, 0.4), (x, 0.85))
        self.plate(part, x, 1.2, 0.35, "embedding")
        self.arrow(part, (x, 1.55), (x, 1.98))
        self.circle(part, x, 2.25, "+")
        self.label(part, x + 0.5, 2.25, "position", "left", 11)

    def sublayer(self, part: str, x: float, start: float, fork: float, y: float, norm: float, text: str) -> None:
        """A box at height ``y`` and the sum and norm over it, with the line that leads around from height ``fork``."""
        half, side = 0.5 if part in _MASKS else 0.35, -1 if x < 5 else 1
        self.arrow(part, (x, start), (x, y - half))
        self.plate(part, x, y, half, text)
        self.line(part, (x, y + half), (x, norm - 0.27))
        self.plate(part, x, norm, 0.27, "add & norm")
        out = x + side * (_HALF + 0.28)
        self.arrow(part, (x, fork), (out, fork), (out, norm), (x + side * _HALF, norm))
