"""What the tests of drawings read off a figure."""

from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.text import Text


def words(drawn: Figure | Axes) -> list[str]:
    """The texts that are not empty, of a figure with its axes' titles and ticks, of axes without."""
    texts = drawn.findobj(Text) if isinstance(drawn, Figure) else drawn.texts
    return [text.get_text() for text in texts if text.get_text()]


def check_inside(fig: Figure, *, apart: bool = True) -> None:
    """Texts, titles and legends lie inside the figure and whole in their boxes, and no two of them overlap."""
    fig.draw_without_rendering()
    for ax in fig.axes:
        texts = [text for text in (*ax.texts, ax.title) if text.get_text()]
        legend = [ax.get_legend()] if ax.get_legend() else []
        boxes = [artist.get_window_extent() for artist in (*texts, *legend)]
        for box in boxes:
            assert box.x0 >= 0 and box.x1 <= fig.bbox.width + 1 and box.y0 >= 0 and box.y1 <= fig.bbox.height
        for frame in [patch.get_window_extent() for patch in ax.patches if isinstance(patch, FancyBboxPatch)]:
            assert all(frame.containsx(box.x0) and frame.containsx(box.x1) for box in boxes if frame.overlaps(box))
        assert not apart or not any(one.overlaps(other) for one, other in combinations(boxes, 2))


def opacity(ax: Axes) -> np.ndarray:
    """Of each cell of the one image."""
    (image,) = ax.get_images()
    return np.asarray(image.get_array())[..., 3]


def centres(patch: PathPatch) -> list[tuple[float, float]]:
    """The middles of the boxes that a shape is made of."""
    middles = patch.get_path().vertices.reshape(-1, 5, 2)[:, :4].mean(1).round(3)
    return [(x, y) for x, y in middles.tolist()]


def hatched(ax: Axes) -> set[tuple[float, float]]:
    """(x, y) of every cell that is hatched."""
    shapes = [patch for patch in ax.patches if isinstance(patch, PathPatch) and patch.get_hatch()]
    return {place for shape in shapes for place in centres(shape)}
