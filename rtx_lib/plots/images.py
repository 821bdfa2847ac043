"""Images that a network reads or draws row by row: what it believes after each row, and what it drew."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from rtx_lib.plots.arrays import floats, several
from rtx_lib.plots.style import CYCLE

_GREY = {"cmap": "gray_r", "vmin": 0, "vmax": 1}


def draw_beliefs(images: Any, beliefs: Any) -> Figure:
    """Each image beside the probabilities after each of its rows: darker is likelier, a dot marks the likeliest.

    Show it with ``wide=True``.

    Parameters
    ----------
    images
        (N, T, W) in [0, 1], read from the first of its T rows to the last.
    beliefs
        (N, T, C), the probabilities of C classes after each row.

    Raises
    ------
    ValueError
        If the shapes do not fit together or there is no image.
    """
    sizes: dict[str, int] = {}
    pictures = floats("images", images, "N", "T", "W", sizes=sizes)
    shares = floats("beliefs", beliefs, "N", "T", "C", sizes=sizes)
    count, rows, classes = shares.shape
    fig, axes = plt.subplots(1, 2 * count, figsize=(0.1 + 2.5 * count, 2.75), width_ratios=[1, 1.25] * count)
    for k, (left, right) in enumerate(zip(axes[::2], axes[1::2], strict=True)):
        left.imshow(pictures[k], aspect="auto", **_GREY)
        right.imshow(shares[k], cmap="Blues", vmin=0, vmax=1, aspect="auto")
        right.plot(shares[k].argmax(-1), range(rows), "o", color=CYCLE[1], markersize=6, linestyle="")
        left.set(xticks=[], yticks=range(rows), yticklabels=range(1, rows + 1) if k == 0 else [], title="input")
        right.set(xticks=range(0, classes, 3), yticks=[], title="belief")
        for ax in (left, right):
            ax.grid(False)
    axes[0].set_ylabel("row read (step t)")
    label = f"probability of each digit 0 to {classes - 1} (darker: larger); dot: the answer after this row"
    fig.supxlabel(label, fontsize=11)
    return fig


def draw_image_rows(rows: Mapping[str, Any], *, line: float | None = None) -> Figure:
    """The same images in several versions: a row of pictures for each, named at its left.

    Parameters
    ----------
    rows
        From a name to (N, H, W) in [0, 1], all of one shape.
    line
        A level line through every picture, below so many of its rows of pixels.

    Raises
    ------
    ValueError
        If there is no row, no picture or the shapes differ.
    """
    pictures = several("rows", rows, "N", "H", "W", same="NHW")
    count = len(next(iter(pictures.values())))
    size = (1.5 + 0.7 * count, 0.15 + 0.85 * len(rows))
    fig, axes = plt.subplots(len(rows), count, figsize=size, squeeze=False)
    for band, (name, images) in zip(axes, pictures.items(), strict=True):
        for ax, image in zip(band, images, strict=True):
            ax.imshow(image, **_GREY)
            ax.set(xticks=[], yticks=[])
            if line is not None:
                ax.axhline(line - 0.5, color=CYCLE[1], linewidth=1.5)
        band[0].set_ylabel(name, rotation=0, ha="right", va="center")
    return fig
