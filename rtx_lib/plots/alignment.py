"""Where a decoder looks: words read and words written in two columns, and the weights between them as lines."""

from collections.abc import Collection, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rtx_lib.plots.arrays import floats
from rtx_lib.plots.style import CYCLE


def describe_alignment(source: Sequence[str], target: Sequence[str], weights: Any) -> str:
    """What :func:`draw_alignment` draws, in words: where each looks most, "drei at three, und at fifty".

    Parameters
    ----------
    source
        The S words that were read.
    target
        The T words that were written.
    weights
        (T, S), what the row's word gives to each word of the source.

    Raises
    ------
    ValueError
        If the weights have another shape.
    """
    array = floats("weights", weights, len(target), len(source), low=0)
    return ", ".join(f"{word} at {source[s]}" for word, s in zip(target, array.argmax(axis=1), strict=True))


def draw_alignment(
    source: Sequence[str],
    target: Sequence[str],
    weights: Any,
    *,
    marked: Collection[int] = (),
    least: float = 0.15,
    rows: int = 0,
) -> Figure:
    """Two columns of words, and a line from each written word to each word that it looked at, the thicker the more.

    Parameters
    ----------
    source
        The S words that were read, on the left.
    target
        The T words that were written, on the right.
    weights
        (T, S), what the row's word gives to each word of the source; at least 0.
    marked
        Rows whose lines have the second colour.
    least
        Weights up to this one are not drawn.
    rows
        The height is that of so many words at least, so that figures of several sentences are of one size.

    Raises
    ------
    ValueError
        If the weights have another shape, are negative or not finite, or there is no such row to mark.
    """
    array = floats("weights", weights, len(target), len(source), low=0)
    if not set(marked) <= set(range(len(target))):
        raise ValueError(f"marked must hold rows from 0 to {len(target) - 1}, got {sorted(marked)}")
    count = max(rows, *array.shape)
    fig, ax = plt.subplots(figsize=(5.4, 1.1 + 0.36 * count))
    ax.set_axis_off()
    ax.set(xlim=(-0.75, 1.75), ylim=(-count + 0.4, 1.3))
    columns = ((source, "read", "right"), (target, "written", "left"))
    heights = [(len(words) - count) / 2 - np.arange(len(words)) for words, _, _ in columns]
    for x, (words, title, side) in enumerate(columns):
        ax.text(x, 1.0, title, ha=side, style="italic")
        for word, height in zip(words, heights[x], strict=True):
            ax.text(x, height, word, ha=side, va="center")
    for t, s in np.argwhere(array > least):
        look = {"linewidth": 4 * array[t, s], "alpha": min(1, 0.25 + array[t, s]), "solid_capstyle": "butt"}
        ax.plot([0.03, 0.97], [heights[0][s], heights[1][t]], "-", color=CYCLE[t in marked], **look)
    return fig
