"""Neurons that hear themselves alone: their wiring, how long they remember, and the rounds of a scan over steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_lib.plots.style import CYCLE, INK, MARKERS

_GREY = "#808080"


def draw_wiring(size: int = 4) -> Figure:
    """Which states a neuron reads at the next step: in an RNN all of them, in an IndRNN its own.

    Args:
        size: number of neurons.

    Raises:
        ValueError: if ``size`` is below 2.
    """
    if size < 2:
        raise ValueError(f"size must be at least 2, was {size}")
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.0))
    for ax, title, dense in zip(axes, ("RNN: $W_{hh}$, every pair", "IndRNN: $u$, each its own"), (True, False),
                                strict=True):  # fmt: skip
        for i in range(size):
            for j in range(size) if dense else (i,):
                look: dict[str, Any] = {"color": CYCLE[0], "linewidth": 2.2} if i == j else {"color": _GREY, "lw": 0.8}
                ax.annotate("", (0.9, j), (0.1, i), arrowprops={"arrowstyle": "->"} | look)
            for x in (0, 1):
                ax.plot(x, i, "o", color=INK, markersize=11, fillstyle="none", markeredgewidth=1.4)
        ax.set(xlim=(-0.25, 1.25), ylim=(-0.6, size - 0.5), title=title, xticks=[0, 1], yticks=[])
        ax.set_xticklabels(["$h_{t-1}$", "$h_t$"])
        _bare(ax)
    return fig


def draw_half_lives(panels: Mapping[str, Sequence[tuple[Any, Any]]], longest: int, *, seed: int = 0) -> Figure:
    """How long each neuron remembers, against how long its own weight says: a mark a neuron, equal on the diagonal.

    Show it with ``wide=True``.

    Args:
        panels: by title, a pair for each layer: half-life predicted and half-life measured in steps, both (N,), from 1
            to ``longest``.
        longest: the most that can be measured; it stands for itself and all that is longer.
        seed: for small shifts of the marks, which would hide one another.

    Raises:
        ValueError: if there is no panel, the shapes of a pair differ, or a half-life lies outside 1 to ``longest``.
    """
    if not panels:
        raise ValueError("panels must hold at least one, held none")
    fig, axes = plt.subplots(1, len(panels), figsize=(0.2 + 3.3 * len(panels), 3.6), sharey=True, squeeze=False)
    shift = np.random.default_rng(seed)
    marks = [mark for mark in (1, 3, 10, 30, 100, 300, 1000) if mark < 0.7 * longest]
    ticks = [*marks, longest], [*map(str, marks), f"{longest}+"]
    for ax, (title, layers) in zip(axes[0], panels.items(), strict=True):
        for index, pair in enumerate(layers):
            predicted, measured = (np.asarray(side, dtype=float) for side in pair)
            if predicted.shape != measured.shape or predicted.ndim != 1:
                raise ValueError(f"panels must hold pairs of one shape (N,), one of {title!r} had {predicted.shape} "
                                 f"and {measured.shape}")  # fmt: skip
            if len(predicted) and not (min(predicted.min(), measured.min()) >= 1
                                       and max(predicted.max(), measured.max()) <= longest):  # fmt: skip
                raise ValueError(f"half-lives must lie between 1 and {longest}, some of {title!r} did not")
            x, y = (side * shift.uniform(0.9, 1.1, len(side)) for side in (predicted, measured))
            ax.plot(x, y, MARKERS[index], color=CYCLE[index], alpha=0.7, linestyle="", label=f"layer {index + 1}")
        ax.plot([1, longest], [1, longest], color=INK, linewidth=1, linestyle="--", label="_diagonal")
        ax.set(xscale="log", yscale="log", xlabel="half-life by u (steps)", title=title)
        ax.set_xticks(*ticks)
        ax.set_yticks(*ticks)
        ax.minorticks_off()
    axes[0][0].set_ylabel("half-life measured (steps)")
    axes[0][0].legend(loc="center left", bbox_to_anchor=(0.02, 0.62))
    return fig


def draw_scan(steps: int = 8) -> Figure:
    """The rounds of a prefix scan (Hillis and Steele 1986): each entry joins with the one d places before, d doubles.

    A box says which steps it covers, and is filled when these are all up to its own.

    Args:
        steps: T, at least 2.

    Raises:
        ValueError: if there are fewer steps.
    """
    if steps < 2:
        raise ValueError(f"steps must be at least 2, was {steps}")
    distances = [0, *(2**k for k in range((steps - 1).bit_length()))]
    fig, ax = plt.subplots(figsize=(6.2, 3.6))
    for row, d in enumerate(distances):
        for t in range(1, steps + 1):
            first = max(1, t - max(1, 2 * d) + 1)
            if d and t > d:
                for source, colour in ((t - d, CYCLE[1]), (t, _GREY)):
                    pen = {"arrowstyle": "->", "color": colour}
                    ax.annotate("", (t, -row + 0.16), (source, -row + 0.86), arrowprops=pen)
            look: dict[str, Any] = {"boxstyle": "round,pad=0.3", "edgecolor": INK}
            look["facecolor"] = CYCLE[0] + ("40" if first == 1 else "00")
            text = f"{t}" if first == t else f"{first}–{t}"
            ax.text(t, -row, text, ha="center", va="center", fontsize=11, bbox=look,
                    fontweight="bold" if first == 1 else "normal")  # fmt: skip
    rounds = len(distances) - 1
    ax.set(xlim=(0.4, steps + 0.6), ylim=(-rounds - 0.4, 0.4), xticks=range(1, steps + 1), xlabel="step t")
    ax.set_yticks(range(0, -rounds - 1, -1), ["the steps", *(f"round {k}" for k in range(1, rounds + 1))])
    _bare(ax)
    return fig


def _bare(ax: Axes) -> None:
    """No grid, frame or tick marks."""
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
