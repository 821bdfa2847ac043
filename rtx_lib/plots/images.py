"""What a network reads and expects: images row by row, and music as notes over time."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from rtx_lib.plots.arrays import floats, several, true_runs
from rtx_lib.plots.grids import scale_bar, tint
from rtx_lib.plots.style import CYCLE, INK

_GREY = {"cmap": "gray_r", "vmin": 0, "vmax": 1}


def one_of_each(labels: Any, good: Any) -> dict[int, int]:
    """By label, in order, the place of the first image that bears it: a good one, if there is one.

    Parameters
    ----------
    labels
        (N,) whole numbers.
    good
        (N,), true for the images to be preferred.
    """
    names, chosen = np.asarray(labels), np.asarray(good, dtype=bool)
    return {int(name): int(np.lexsort((~chosen, names != name))[0]) for name in np.unique(names)}


def draw_beliefs(images: Any, beliefs: Any, names: Sequence[str] = ()) -> Figure:
    """Each image beside the probabilities after each of its rows: darker is likelier, a dot marks the likeliest.

    Show it with ``wide=True``.

    Parameters
    ----------
    images
        (N, T, W) in [0, 1], read from the first of its T rows to the last.
    beliefs
        (N, T, C), the probabilities of C classes after each row.
    names
        N texts above the images, such as "a nine".

    Raises
    ------
    ValueError
        If the shapes do not fit together, there is no image, or there is another number of names.
    """
    sizes: dict[str, int] = {}
    pictures = floats("images", images, "N", "T", "W", sizes=sizes)
    shares = floats("beliefs", beliefs, "N", "T", "C", sizes=sizes)
    count, rows, classes = shares.shape
    if names and len(names) != count:
        raise ValueError(f"names must hold a text for each of {count} images, got {list(names)}")
    fig, axes = plt.subplots(1, 2 * count, figsize=(0.1 + 2.5 * count, 2.75), width_ratios=[1, 1.25] * count)
    for k, (left, right) in enumerate(zip(axes[::2], axes[1::2], strict=True)):
        left.imshow(pictures[k], aspect="auto", **_GREY)
        right.imshow(shares[k], cmap="Blues", vmin=0, vmax=1, aspect="auto")
        right.plot(shares[k].argmax(-1), range(rows), "o", color=CYCLE[1], markersize=6, linestyle="")
        left.set(xticks=[], yticks=range(rows), yticklabels=range(1, rows + 1) if k == 0 else [])
        left.set_title(names[k] if names else "input")
        right.set(xticks=range(0, classes, 3), yticks=[], title="belief")
        for ax in (left, right):
            ax.grid(False)
    axes[0].set_ylabel("row read (step t)")
    label = f"probability of each digit 0 to {classes - 1} (darker: larger); dot: the answer after this row"
    fig.supxlabel(label, fontsize=12)
    return fig


def draw_image_rows(rows: Mapping[str, Any], *, line: float) -> Figure:
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
            ax.axhline(line - 0.5, color=CYCLE[1], linewidth=1.5)
        band[0].set_ylabel(name, rotation=0, ha="right", va="center")
    return fig


def piano_roll(ax: Axes, frames: Any, prediction: Any, *, colour: str = CYCLE[1]) -> None:
    """Notes over time: what a model expected against what came.

    Notes are outlines and the fill is the probability: a filled outline is a note that was foreseen, an empty outline
    one that was not, a fill without outline a note that did not come.

    Parameters
    ----------
    ax
        Axes to draw in.
    frames
        (T, 88), 1 where one of the piano's 88 keys sounds, the lowest (A0) first; without padding.
    prediction
        (T, 88), the probability given to each note of ``frames`` before its frame was seen.
    colour
        Of the fill: that of the model which expects.

    Raises
    ------
    ValueError
        If a shape does not fit, a frame is not 0 or 1 or holds no note at all, or a probability is
        outside 0 to 1.
    """
    notes = floats("frames", frames, "T", 88, finite=False)
    if not np.isin(notes, (0, 1)).all() or not notes.any():
        raise ValueError(f"frames must hold 0 and 1, and a note, got {np.unique(notes)}")
    chances = floats("prediction", prediction, *notes.shape, low=0, high=1)
    fill, extent = (colour, colour), (-0.5, len(notes) - 0.5, -0.5, 87.5)
    ax.imshow(tint(chances.T, fill), interpolation="none", aspect="auto", origin="lower", extent=extent)
    bar = scale_bar(ax, tint(np.linspace(0, 1, 64), fill), 0, 1)
    bar.set_ylabel("probability", labelpad=-4)
    bar.yaxis.set_label_position("right")
    held = [(start, stop, key) for key, row in enumerate(notes.T > 0) for start, stop in true_runs(row)]
    bars = [[(x - 0.5, k + y) for x, y in ((a, -0.4), (b, -0.4), (b, 0.4), (a, 0.4))] for a, b, k in held]
    path = Path.make_compound_path_from_polys(np.array(bars))
    ax.add_patch(PathPatch(path, facecolor="none", edgecolor=INK, linewidth=1.2))
    used = np.flatnonzero(np.maximum(notes, chances > 0.1).any(axis=0))
    ax.set(xlim=(-0.5, len(notes) - 0.5), ylim=(used[0] - 1.5, used[-1] + 1.5), xlabel="frame", ylabel="note")
    octaves = [key for key in range(3, 88, 12) if used[0] - 1 <= key <= used[-1] + 1]
    ax.set_yticks(octaves, [f"C{(key + 9) // 12}" for key in octaves])
    ax.grid(axis="x", visible=False)
