"""Pictures of a translator with attention: sentences right by their length, and scores on their way through a softmax.

What has no unit is drawn in the colours of :data:`~rtx_lib.plots.style.CYCLE`, in order.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rtx_lib.plots.curves import bands
from rtx_lib.plots.heatmaps import floats
from rtx_lib.plots.style import CYCLE


def draw_exact(shares: Mapping[str, Mapping[Any, Any]], *, trained: int) -> Figure:
    """Share of sentences without an error against the number of numbers in them, a line and a band for each model.

    Parameters
    ----------
    shares
        From the names of the models to {numbers in a sentence: one share for each seed}.
    trained
        The most numbers in a sentence of the training; the ground up to it is shaded.
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.2))
    ax.axvspan(0.5, trained + 0.5, color="#808080", alpha=0.13, linewidth=0)
    ax.text((trained + 1) / 2, 1.07, "trained on", ha="center")
    for index, (name, found) in enumerate(shares.items()):
        counts = [int(n) for n in found]
        bands(ax, np.stack(list(found.values()), 1), name, steps=counts, index=index, markevery=1)
    ax.set(xlabel="numbers in the sentence", ylabel="sentences right (share)", ylim=(-0.03, 1.17))
    ax.set(xlim=(0.5, counts[-1] + 0.5), xticks=counts)
    ax.legend(loc="upper right", bbox_to_anchor=(1.0, 0.95))
    return fig


def draw_scaling(found: Mapping[bool, Any], widths: Sequence[int]) -> Figure:
    """Variance of the scores and gradient through the softmax against the width K, with the scale and without it.

    Parameters
    ----------
    found
        From whether the scale was used to a row (variance, gradient) for each width.
    widths
        K, in rising order.
    """
    fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.4))
    for index, (scaled, rows) in enumerate(found.items()):
        columns = floats("found", rows, len(widths), 2).T
        for ax, column in zip(axes, columns, strict=True):
            bands(ax, column, "with the scale" if scaled else "without", steps=list(widths), index=index, markevery=1)
    for ax, title in zip(axes, ("variance of the scores", "gradient through the softmax"), strict=True):
        ax.set(xscale="log", yscale="log", xlabel="width K of queries and keys", title=title)
        ax.set_xticks(widths[::2], [str(width) for width in widths[::2]])
        ax.minorticks_off()
    axes[0].set_ylabel("Var(q · k)")
    axes[1].set_ylabel(r"$||\partial a / \partial e||$, median")
    axes[0].legend(loc="upper left")
    return fig


def draw_softmax(scores: Any, width: int) -> Figure:
    """The weights of some scores as they are at width K: without the scale, and divided by the root of K.

    Parameters
    ----------
    scores
        (S,), of standard deviation near 1: what q . k is at K = 1.
    width
        K; at this width the scores are multiplied by its root.
    """
    row = floats("scores", scores, "S")
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 2.7), sharey=True)
    for ax, factor, name, colour in zip(
        axes, (math.sqrt(width), 1.0), ("without", "with the scale"), CYCLE, strict=False
    ):
        weights = np.exp(factor * (row - row.max()))
        weights /= weights.sum()
        ax.bar(range(1, len(row) + 1), weights, color=colour)
        ax.set(ylim=(0, 1), xlabel=f"key, K = {width}", title=f"{name}: max {weights.max():.2f}")
    axes[0].set_ylabel("weight")
    return fig
