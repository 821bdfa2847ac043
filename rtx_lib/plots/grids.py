"""Pictures made of cells: a value is opacity over the page, light or dark, and a bar says which value looks how."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from rtx_lib.plots.style import CYCLE, GREY

HATCHED: dict[str, Any] = {"facecolor": "none", "edgecolor": GREY, "linewidth": 0, "hatch": "////", "alpha": 0.5}
"""How cells look that are masked or not defined."""


def tint(strength: np.ndarray, colours: tuple[str, str] = (CYCLE[0], CYCLE[0])) -> np.ndarray:
    """Cells as RGBA: the size of ``strength`` (at most 1) is the opacity, its sign chooses out of (minus, plus)."""
    image = np.empty((*strength.shape, 4))
    image[..., :3] = np.where(strength[..., None] > 0, to_rgb(colours[1]), to_rgb(colours[0]))
    image[..., 3] = np.abs(np.nan_to_num(strength))
    return image


def paint(ax: Axes, image: np.ndarray, aspect: Any = "auto", **place: Any) -> None:
    """The cells of :func:`tint` in a thin frame, without grid and tick marks."""
    ax.imshow(image, interpolation="none", aspect=aspect, **place)
    ax.grid(False)
    ax.tick_params(length=0)
    ax.spines[:].set(visible=True, color=GREY, linewidth=0.6)


def name_above(ax: Axes, xlabel: str, ylabel: str) -> None:
    """Name both axes, with columns named above the picture."""
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set(xlabel=xlabel, ylabel=ylabel)


def squares(places: Any, side: float = 1.0) -> Path:
    """Squares around the places (N, 2) as one path."""
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)]) * side
    return Path.make_compound_path_from_polys(np.reshape(places, (-1, 1, 2)) + corners)


def fill(ax: Axes, places: Any, **look: Any) -> None:
    """Unit squares around the places as one shape; nothing where there are none."""
    if len(places):
        ax.add_patch(PathPatch(squares(places), **look))


def fill_cells(ax: Axes, cells: np.ndarray, **look: Any) -> None:
    """The cells (rows, columns) that are True as one shape, from the top."""
    fill(ax, np.argwhere(cells)[:, ::-1], **look)


def scale_bar(ax: Axes, image: np.ndarray, low: float, high: float) -> Axes:
    """A bar to the right that says which value looks how, from ``low`` at its foot to ``high``."""
    bar = ax.inset_axes((1.03, 0, 0.035, 1))
    paint(bar, image[:, None], extent=(0, 1, low, high), origin="lower")
    bar.set_xticks([])
    bar.yaxis.tick_right()
    bar.set_yticks(sorted({low, high} | ({0} if low < 0 < high else set())))
    bar.yaxis.set_major_formatter("{x:.3g}")
    return bar
