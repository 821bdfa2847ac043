"""Pictures of attention: a query by hand, sentences right by their length, and scores on their way through a softmax.

What has no unit is drawn in the colours of :data:`~rtx_lib.plots.style.CYCLE`, in order.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rtx_book.paths import texts
from rtx_lib.plots.curves import bands, label_lines
from rtx_lib.plots.heatmaps import floats, word
from rtx_lib.plots.style import CYCLE, look

FOUR_WORDS: dict[str, dict[str, Any]] = texts("pictures/query.yml")
"""By chapter: a query of four words, as :func:`draw_query` and the live figure ``query`` take it."""


def draw_query(told: Mapping[str, Any]) -> Figure:
    """One query of two numbers beside the keys of some words, and the answer beside their values: arrows from 0.

    ``told`` is one of :data:`FOUR_WORDS`; where it has ``maps``, scores are divided by the root of 2 as in a head.
    """
    query, keys, values = (np.array(told[name], float) for name in ("query", "keys", "values"))
    weights = np.exp(keys @ query / (math.sqrt(2) if "maps" in told else 1))
    weights /= weights.sum()
    fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.9))
    sides = (("query", query, keys), ("answer", weights @ values, values))
    for ax, plane, (name, tip, tips) in zip(axes, told["planes"], sides, strict=True):
        ax.set(**plane, aspect="equal")
        for text, (x, y), weight in [*zip(told["words"], tips, weights, strict=True), (name, tip, 0.3)]:
            look = {"arrowstyle": "-|>", "color": CYCLE[text == name], "linewidth": 1 + 4 * weight, "shrinkA": 0}
            ax.annotate("", (x, y), (0, 0), arrowprops=look | {"shrinkB": 0}, zorder=3)
            word(ax, x + (0.2 if x >= 0 else -0.2), y + 0.2 * np.sign(y), text, ha="left" if x >= 0 else "right")
    return fig


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
        bands(ax, np.stack(list(found.values()), 1), name, steps=counts, **look(name, index) | {"markevery": 1})
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
    label_lines(axes[1])
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
    factors = {"without": math.sqrt(width), "with the scale": 1.0}
    for ax, (name, factor), colour in zip(axes, factors.items(), CYCLE, strict=False):
        weights = np.exp(factor * row - np.logaddexp.reduce(factor * row))
        ax.bar(range(1, len(row) + 1), weights, color=colour)
        ax.set(ylim=(0, 1), xlabel=f"key, K = {width}", title=f"{name}: max {weights.max():.2f}")
    axes[0].set_ylabel("weight")
    return fig
