"""Neurons that hear themselves alone: their wiring, how long they remember, and how their steps are joined."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_lib.plots.curves import baseline
from rtx_lib.plots.style import CYCLE, DASHES, INK, MARKERS

Step = Callable[[Any], Any]
"""From the states before a step to those after it."""

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
    for ax, title, dense in zip(
        axes, ("RNN: $W_{hh}$, every pair", "IndRNN: $u$, each its own"), (True, False), strict=True
    ):
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


def draw_decay(u: float, held: Any, resting: Any) -> Figure:
    """What is left of a nudge after each step, of a neuron that a bias holds up and of one that rests at zero.

    The title says after how many steps half of ``u**k`` is left, or twice as much is there.

    Args:
        u: the neuron's recurrent weight.
        held, resting: (K + 1,), the shares that are left after k = 0..K steps.

    Raises:
        ValueError: if the shapes differ or there are no steps.
    """
    curves = [np.asarray(curve, dtype=float) for curve in (held, resting)]
    if curves[0].shape != curves[1].shape or curves[0].ndim != 1 or len(curves[0]) < 2:
        shapes = [curve.shape for curve in curves]
        raise ValueError(f"held and resting must be of one shape (K + 1,), were {shapes}")
    fig, ax = plt.subplots(figsize=(5.8, 3.6))
    for index, (curve, label) in enumerate(zip(curves, ("held up by a bias: $u^k$", "resting at zero"), strict=True)):
        ax.plot(
            curve,
            color=CYCLE[index],
            linestyle=DASHES[index],
            marker=MARKERS[index],
            markevery=(3 * index, 6),
            label=label,
        )
    baseline(ax, 0.5, "")
    if u == 0 or abs(u) == 1:
        change = "no loss" if u else "nothing left"
    else:
        word = "half" if abs(u) < 1 else "twice as much"
        change = f"{word} after {math.log(2) / abs(math.log(abs(u))):.1f} steps"
    ax.set(ylim=(-1.15, 2.3), xlim=(0, len(curves[0]) - 1), xlabel="steps k after a nudge", ylabel="what is left of it")
    ax.set_title(f"u = {u:g}: {change}")
    fig.legend(loc="outside lower center", ncols=2)
    return fig


def describe_decay(u: float) -> str:
    """What :func:`draw_decay` shows of an IndRNN's neuron, in words."""
    if u == 0:
        return "With u = 0 nothing is left after one step."
    size = "decays" if abs(u) < 1 else "keeps its size" if abs(u) == 1 else "grows"
    if u < 0:
        return f"With u = {u:g} the nudge {size}, with alternating sign, around a bias; at rest it is gone at once."
    return f"With u = {u:g} the nudge {size}, at rest and around a bias alike."


def draw_composition(x: Any, first: Step, second: Step, single: Mapping[str, Step], title: str, **axes: Any) -> Figure:
    """Left two functions; right the second applied to the first, and over it a single function that does the same.

    Args:
        x: (N,), old states.
        first, second: the functions of two steps, from old states to new ones of the same shape.
        single: by its name, the function that does both steps; it is drawn over the wide line of the two.
        title: of the right panel.
        axes: settings of both panels, such as ``ylim``.

    Raises:
        ValueError: if a function changes the shape.
    """
    parts = {"first, $f_1$": first(x), "second, $f_2$": second(x)}
    whole = {"$f_2(f_1(h))$": second(first(x))} | {name: step(x) for name, step in single.items()}
    places = np.asarray(x, dtype=float)
    panels = [{name: np.asarray(values, dtype=float) for name, values in panel.items()} for panel in (parts, whole)]
    if shapes := {values.shape for panel in panels for values in panel.values()} - {places.shape}:
        raise ValueError(f"all values must have the shape of x, {places.shape}, some had {sorted(shapes)}")
    fig, both = plt.subplots(1, 2, figsize=(7.0, 3.2), sharey=True)
    index = 0
    for ax, panel in zip(both, panels, strict=True):
        for name, values in panel.items():
            look: dict[str, Any] = {"color": CYCLE[index % len(CYCLE)], "linestyle": DASHES[index % len(DASHES)]}
            if panel is panels[1] and index == len(parts):
                look |= {"linestyle": "-", "linewidth": 5, "alpha": 0.4}
            ax.plot(places, values, label=name, **look)
            index += 1
        ax.set(xlabel="old state h", xlim=(places[0], places[-1]))
        ax.set(**axes)
        ax.legend(loc="upper left")
    both[0].set(ylabel="new state", title="two steps")
    both[1].set_title(title)
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
                raise ValueError(
                    f"panels must hold pairs of one shape (N,), one of {title!r} had {predicted.shape} "
                    f"and {measured.shape}"
                )
            if len(predicted) and not (
                min(predicted.min(), measured.min()) >= 1 and max(predicted.max(), measured.max()) <= longest
            ):
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
            ax.text(
                t,
                -row,
                text,
                ha="center",
                va="center",
                fontsize=11,
                bbox=look,
                fontweight="bold" if first == 1 else "normal",
            )
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
