"""Neurons that hear themselves alone: their wiring, how long they remember, and how their steps are joined."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_book.page.diagram import arrow
from rtx_lib.plots.curves import baseline
from rtx_lib.plots.heatmaps import floats, word
from rtx_lib.plots.style import CYCLE, GREY, INK, MARKERS, look

Step = Callable[[Any], Any]
"""From the states before a step to those after it."""


def draw_wiring() -> Figure:
    """Which states a neuron reads at the next step: in an RNN all of them, in an IndRNN its own."""
    size = 4
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.0))
    for ax, title, dense in zip(axes, ("RNN: $W_{hh}$, every pair", "IndRNN: $u$, each its own"), (1, 0), strict=True):
        for i in range(size):
            for j in range(size) if dense else (i,):
                colour, width = (CYCLE[0], 2.2) if i == j else (GREY, 0.8)
                arrow(ax, (0.1, i), (0.9, j), colour, width, zorder=3, arrowstyle="->", shrinkA=2, shrinkB=2)
            for x in (0, 1):
                ax.plot(x, i, "o", color=INK, markersize=11, fillstyle="none", markeredgewidth=1.4)
        ax.set(xlim=(-0.25, 1.25), ylim=(-0.6, size - 0.5), title=title, yticks=[])
        ax.set_xticks([0, 1], ["$h_{t-1}$", "$h_t$"])
        _bare(ax)
    return fig


def draw_decay(u: float, held: Any, resting: Any) -> Figure:
    """What is left of a nudge after each step, of a neuron that a bias holds up and of one that rests at zero.

    The title says after how many steps half of ``u**k`` is left, or twice as much is there.

    Parameters
    ----------
    u
        The neuron's recurrent weight.
    held, resting
        (K + 1,), the shares that are left after k = 0..K steps.
    """
    alive = floats("held", held, "K + 1", finite=False)
    dead = floats("resting", resting, len(alive), finite=False)
    curves = {"held up by a bias: $u^k$": alive, "resting at zero": dead}
    fig, ax = plt.subplots(figsize=(5.8, 3.6))
    for index, (label, curve) in enumerate(curves.items()):
        ax.plot(curve, markevery=(3 * index, 6), label=label, **look(index))
    baseline(ax, 0.5, "")
    if u == 0 or abs(u) == 1:
        change = "no loss" if u else "nothing left"
    else:
        word = "half" if abs(u) < 1 else "twice as much"
        change = f"{word} after {math.log(2) / abs(math.log(abs(u))):.1f} steps"
    ax.set(ylim=(-1.15, 2.3), xlim=(0, len(alive) - 1), xlabel="steps k after a nudge", ylabel="what is left of it")
    ax.set_title(f"u = {u:g}: {change}")
    fig.legend(loc="outside lower center", ncols=2)
    return fig


def draw_composition(x: Any, first: Step, second: Step, single: Mapping[str, Step], title: str, **axes: Any) -> Figure:
    """Left two functions; right the second applied to the first, and over it a single function that does the same.

    Parameters
    ----------
    x
        (N,), old states.
    first, second
        The functions of two steps, from old states to new ones of the same shape.
    single
        By its name, the function that does both steps; it is drawn over the wide line of the two.
    title
        Of the right panel.
    axes
        Settings of both panels, such as ``ylim``.
    """
    places = np.asarray(x, dtype=float)
    parts = {"first, $f_1$": first(x), "second, $f_2$": second(x)}
    whole = {"$f_2(f_1(h))$": second(first(x))} | {name: step(x) for name, step in single.items()}
    values = {name: floats(name, line, *places.shape, finite=False) for name, line in (parts | whole).items()}
    fig, both = plt.subplots(1, 2, figsize=(7.0, 3.2), sharey=True)
    for index, (name, line) in enumerate(values.items()):
        line_look = look(index) | {"marker": ""}
        if index == len(parts):  # what the single functions are drawn over
            line_look |= {"linestyle": "-", "linewidth": 5, "alpha": 0.4}
        both[int(index >= len(parts))].plot(places, line, label=name, **line_look)
    for ax in both:
        ax.set(**{"xlabel": "old state h", "xlim": (places[0], places[-1])} | axes)
        ax.legend(loc="upper left")
    both[0].set(ylabel="new state", title="two steps")
    both[1].set_title(title.replace("-", "−"))
    return fig


def draw_half_lives(panels: Mapping[str, Sequence[tuple[Any, Any]]], longest: int, *, seed: int = 0) -> Figure:
    """How long each neuron remembers, against how long its own weight says: one mark per neuron, equal on the diagonal.

    Show it with ``wide=True``.

    Parameters
    ----------
    panels
        By title, a pair for each layer: half-life predicted and half-life measured in steps, both (N,), from 1
        to ``longest``.
    longest
        The most that can be measured; it stands for itself and all that is longer.
    seed
        For small shifts of the marks, which would hide one another.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(0.2 + 3.3 * len(panels), 3.6), sharey=True, squeeze=False)
    shift = np.random.default_rng(seed)
    marks = [mark for mark in (1, 3, 10, 30, 100, 300, 1000) if mark < 0.7 * longest]
    ticks = [*marks, longest], [*map(str, marks), f"{longest}+"]
    for ax, (title, pairs) in zip(axes[0], panels.items(), strict=True):
        for index, sides in enumerate(pairs):
            x, y = (np.asarray(side) * shift.uniform(0.9, 1.1, len(side)) for side in sides)
            ax.plot(x, y, MARKERS[index], color=CYCLE[index], alpha=0.7, linestyle="", label=f"layer {index + 1}")
        ax.plot([1, longest], [1, longest], color=INK, linewidth=1, linestyle="--", label="_diagonal")
        ax.set(xscale="log", yscale="log", xlabel="half-life by u (steps)", title=title)
        ax.set_xticks(*ticks)
        ax.set_yticks(*ticks)
        ax.minorticks_off()
    axes[0][0].set_ylabel("half-life measured (steps)")
    axes[0][0].legend(loc="center left", bbox_to_anchor=(0.02, 0.62))
    return fig


def draw_scan() -> Figure:
    """The rounds of a prefix scan (Hillis and Steele 1986): each entry joins with the one d places before, d doubles.

    A box says which of eight steps it covers, and is filled when these are all up to its own.
    """
    steps, distances = 8, (0, 1, 2, 4)
    fig, ax = plt.subplots(figsize=(6.2, 3.6))
    bend: dict[str, Any] = {"zorder": 3, "arrowstyle": "->", "shrinkA": 2, "shrinkB": 2}
    for row, d in enumerate(distances):
        for t in range(1, steps + 1):
            first = max(1, t - max(1, 2 * d) + 1)
            if d and t > d:
                arrow(ax, (t - d, -row + 0.86), (t, -row + 0.16), CYCLE[1], **bend)
                arrow(ax, (t, -row + 0.86), (t, -row + 0.16), GREY, **bend)
            text, bold = f"{t}" if first == t else f"{first}–{t}", "bold" if first == 1 else "normal"
            fill = CYCLE[0] + ("40" if first == 1 else "00")
            rim = {"boxstyle": "round,pad=0.3", "edgecolor": INK, "facecolor": fill}
            word(ax, t, -row, text, zorder=3, fontsize=12, bbox=rim, fontweight=bold)
    ax.set(xlim=(0.4, steps + 0.6), ylim=(-3.4, 0.4), xticks=range(1, steps + 1), xlabel="step t")
    ax.set_yticks(range(0, -4, -1), ["the steps", *(f"round {k}" for k in (1, 2, 3))])
    _bare(ax)
    return fig


def _bare(ax: Axes) -> None:
    """No grid, frame or tick marks."""
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
