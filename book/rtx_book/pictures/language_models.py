"""What the chapter on language models draws: a distribution and its cuts, ways of writing, what letters cost."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator, PercentFormatter

from rtx_book.page.grids import HATCHED
from rtx_book.page.runs import mark_runs
from rtx_lib.plots.heatmaps import floats, word
from rtx_lib.plots.style import CYCLE, INK, MARKERS, literal

_SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥"}


def draw_cuts(whole: Any, cuts: Mapping[str, Any], characters: str) -> Figure:
    """Distributions as lines of length 1, the most probable character first; hatched is what a rule cuts off.

    ``whole`` (V,) are the model's probabilities by id, ``cuts`` what each rule leaves of them (V,); a kept character
    is drawn where it stood, as wide as it was.
    """
    p = floats("whole", whole, len(characters), low=0)
    order = np.argsort(-p, kind="stable")
    ends = np.cumsum(p[order])
    fig, ax = plt.subplots(figsize=(5.8, 0.55 * len(cuts) + 1.0))
    for row, left in enumerate(cuts.values()):
        kept = int((floats("cuts", left, len(characters), low=0) > 0).sum())
        for place, end in enumerate(ends[:kept]):
            start = end - p[order[place]]
            ax.barh(row, end - start, left=start, color=CYCLE[0], alpha=0.25 + 0.35 * (place % 2 == 0), height=0.7)
            if end - start > 0.03:
                name = characters[order[place]]
                word(ax, (start + end) / 2, row, literal(_SIGNS.get(name, name)), family="DejaVu Sans Mono")
        ax.barh(row, 1 - ends[kept - 1], left=ends[kept - 1], height=0.7, **HATCHED)
        ax.plot(2 * [ends[kept - 1]], [row - 0.42, row + 0.42], color=CYCLE[1], linewidth=3, linestyle="-")
    ax.set_yticks(range(len(cuts)), list(cuts))
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.set(xlim=(0, 1.005), xlabel="probability, side by side")
    return fig


def draw_ways(found: Mapping[str, tuple[float, float]], person: str) -> Figure:
    """By way of writing the bits of a character and the share of repeated strings; dashed: those of ``person``."""
    fig, axes = plt.subplots(1, 2, figsize=(5.8, 0.4 * len(found) + 1.2), sharey=True)
    for k, (ax, name) in enumerate(zip(axes, ("bits per character", "strings repeated"), strict=True)):
        ax.axvline(found[person][k], color=INK, linewidth=1.3, linestyle="--")
        for row, (way, own) in enumerate(found.items()):
            look = {"color": INK if way == person else CYCLE[0], "marker": MARKERS[way == person], "clip_on": False}
            mark_runs(ax, row, [own[k]], look, found[person][k])
        ax.set(xlabel=name)
    axes[0].set_xlim(left=0)
    axes[0].xaxis.set_major_locator(MultipleLocator(1))
    axes[0].set_yticks(range(len(found)), list(found))
    axes[0].invert_yaxis()
    axes[1].set_xscale("symlog", linthresh=0.01, linscale=0.6)
    axes[1].set(xlim=(0, 1), xticks=[0, 0.01, 0.1, 1])
    axes[1].xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    return fig


def draw_passage(text: str, bits: Any) -> Figure:
    """What each character of a passage cost a model, as bars above the characters."""
    costs = floats("bits", bits, len(text), low=0)
    fig, ax = plt.subplots(figsize=(5.8, 2.6))
    ax.bar(range(len(text)), costs, color=CYCLE[0])
    ax.set_xticks(range(len(text)), [literal(_SIGNS.get(c, c)) for c in text], family="DejaVu Sans Mono")
    ax.tick_params(axis="x", length=0)
    ax.grid(axis="x", visible=False)
    ax.set(xlim=(-0.7, len(text) - 0.3), ylabel="bits")
    return fig
