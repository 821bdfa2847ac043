"""What diagrams are drawn with: boxes, circles, arrows and words, and lines by the hundred as one artist."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyBboxPatch

from rtx_lib.plots.heatmaps import Point, word
from rtx_lib.plots.style import CYCLE, GREY, INK


def blank(ax: Axes, xlim: Point, ylim: Point, **settings: Any) -> None:
    """Limits, and neither frame nor ticks; a unit is as wide as it is high."""
    ax.set(**{"xlim": xlim, "ylim": ylim, "aspect": "equal"} | settings)
    ax.set_axis_off()


def box(ax: Axes, x: float, y: float, wide: float, high: float, corner: float = 0.12, **look: Any) -> None:
    """A box with round corners around (x, y), from there ``wide`` to both sides and ``high`` up and down."""
    shape = f"round,pad=0,rounding_size={corner}"
    ax.add_patch(FancyBboxPatch((x - wide, y - high), 2 * wide, 2 * high, shape, **look))


def circle(ax: Axes, x: float, y: float, radius: float, **look: Any) -> None:
    """A circle around (x, y)."""
    ax.add_patch(Circle((x, y), radius, **look))


def arrow(
    ax: Axes, start: Point, end: Point, color: str = INK, width: float = 1, zorder: float = 2, **look: Any
) -> None:
    """An arrow from one point to another, as long as the way between them."""
    tip = {"arrowstyle": "-|>", "color": color, "linewidth": width, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=tip | look, zorder=zorder)


def links(ax: Axes, ends: Iterable[tuple[Point, Point]], **look: Any) -> Line2D | None:
    """Lines from point to point as one artist, which is returned; nothing where there are none."""
    pieces = [(start, end, (np.nan, np.nan)) for start, end in ends]
    if not pieces:
        return None
    (line,) = ax.plot(*np.reshape(pieces, (-1, 2)).T, **{"linestyle": "-", "solid_capstyle": "butt"} | look)
    return line


@dataclass
class Pen:
    """Draws one stage of a diagram: the part that is new at it is coloured and thick, what was there before is thin."""

    ax: Axes
    stage: str
    thin: float
    thick: float
    corner: float
    colour: str = CYCLE[0]

    def draw(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Marks as data: each row is a method of the pen and what it is called with."""
        for mark, *given in rows:
            getattr(self, mark)(*given)

    def look(self, part: str, colour: str | None = None) -> dict[str, Any]:
        """Colour, width and order of a line of this part; a colour of its own stands out at every stage."""
        colour = self.colour if part == self.stage else colour
        return {"color": colour or INK, "linewidth": self.thick if colour else self.thin, "zorder": 3 if colour else 2}

    def box(self, part: str, x: float, y: float, size: Point, text: str, colour: str | None = None, **font: Any) -> str:
        """A box of half the width and height ``size``, filled with a shade of its colour, which is returned."""
        look = self.look(part, colour)
        edge = look.pop("color")
        fill = (GREY if edge == INK else edge) + "40"
        box(self.ax, x, y, *size, self.corner, facecolor=fill, edgecolor=edge, **look)
        word(self.ax, x, y, text, **font)
        return edge

    def circle(self, part: str, x: float, y: float, sign: str) -> None:
        """A circle around a sign, for what acts by component."""
        look = self.look(part)
        # An opaque fill would have to know the page's background; so lines end at the rim instead.
        circle(self.ax, x, y, 0.27, facecolor="none", edgecolor=look.pop("color"), **look)
        word(self.ax, x, y, sign, va="center_baseline", fontsize=12)

    def line(self, part: str, *points: Point) -> None:
        self.ax.plot(*zip(*points, strict=True), linestyle="-", solid_capstyle="butt", **self.look(part))

    def arrow(self, part: str, *points: Point) -> None:
        """A line through the points with a head at its end."""
        self.line(part, *points)
        look = self.look(part)
        arrow(self.ax, points[-2], points[-1], look["color"], look["linewidth"], zorder=look["zorder"])

    def word(self, part: str, x: float, y: float, text: str, **font: Any) -> None:
        """A text, bold where its part is new."""
        word(self.ax, x, y, text, **{"fontweight": "bold" if part == self.stage else "normal"} | font)

    def label(self, part: str, x: float, y: float, text: str, side: str = "left", size: float = 11) -> None:
        """A text that is never bold."""
        self.word("", x, y, text, ha=side, fontsize=size)
