"""Pictures made of cells: a value is opacity over the page, light or dark, and a bar says which value looks how."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from rtx_lib.plots.heatmaps import name_above, paint, tint, word
from rtx_lib.plots.style import GREY, literal

HATCHED: dict[str, Any] = {"facecolor": "none", "edgecolor": GREY, "linewidth": 0, "hatch": "////", "alpha": 0.5}
"""How cells look that are masked or not defined."""


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


def share_cells(
    ax: Axes, shares: np.ndarray, columns: Sequence[str], rows: Sequence[str], least: float, **font: Any
) -> None:
    """Shares as cells, with the numbers from ``least`` on; the columns are named above, the rows at the left."""
    paint(ax, tint(0.75 * shares.clip(max=1)))
    for i, k in np.argwhere(shares >= least):
        word(ax, k, i, f"{shares[i, k]:.2f}".removeprefix("0"), **font)
    ax.set_xticks(range(len(columns)), map(literal, columns))
    ax.set_yticks(range(len(rows)), map(literal, rows))
    name_above(ax, "", "")
    ax.spines[:].set_visible(False)


def scale_bar(ax: Axes, image: np.ndarray, low: float, high: float) -> Axes:
    """A bar to the right that says which value looks how, from ``low`` at its foot to ``high``."""
    bar = ax.inset_axes((1.03, 0, 0.035, 1))
    paint(bar, image[:, None], extent=(0, 1, low, high), origin="lower")
    bar.set_xticks([])
    bar.yaxis.tick_right()
    bar.set_yticks(sorted({low, high} | ({0} if low < 0 < high else set())))
    bar.yaxis.set_major_formatter("{x:.3g}")
    return bar
