"""Pictures of scenes of digits and of what is said of them: words right by their place, and where a model looked."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_book.page.runs import draw_strip_panels
from rtx_lib.plots.heatmaps import floats, paint, tint
from rtx_lib.plots.style import CYCLE, GREY, INK

PLACES = ("a", "size", "digit", "where")
CHANCE = (1, 1 / 2, 1 / 10, 1 / 2)  # of the commonest word at each of these places


def draw_words_right(records: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """Words right in captions of three digits, a panel for each kind and a row for each model, a mark for each run.

    A bar leads to the median from the dashed line, which is always saying the commonest word.

    Parameters
    ----------
    records
        By the names of the models the records of recipes such as ``scenes-first``.
    """

    def right(runs: Sequence[Mapping[str, Any]], kind: int) -> Any:
        words = [f"word {t + 1}" for t in range(kind, 11, 4)]
        return [np.mean([run["elsewhere"]["3"][word] for word in words]) for run in runs]

    panels = {PLACES[kind]: {name: right(runs, kind) for name, runs in records.items()} for kind in (1, 2, 3)}
    fig = draw_strip_panels(panels, CHANCE[1:], "words right (share)")
    fig.axes[0].set(xlim=(0, 1.03), xticks=(0, 0.5, 1))
    return fig


def draw_scene(ax: Axes, picture: Any, looks: Any = None) -> None:
    """The ink of a picture (P, P), over weights (L,) of its cells, if there are any."""
    ink = floats("picture", picture, "P", "P")
    side = len(ink)
    if looks is not None:
        wide = round(len(looks) ** 0.5)
        shares = floats("looks", looks, wide * wide).reshape(wide, wide)
        paint(ax, tint(0.9 * shares / shares.max(), (CYCLE[1], CYCLE[1])), extent=(0, side, side, 0))
    paint(ax, tint(ink, (INK, INK)), aspect="equal", extent=(0, side, side, 0))
    ax.set(xticks=[], yticks=[], xlim=(0, side), ylim=(side, 0))


def draw_said(picture: Any, said: Mapping[str, Sequence[str]], right: Sequence[str]) -> Figure:
    """A scene, and beside it what models say, their wrong words in brackets."""
    fig, (ax, text) = plt.subplots(1, 2, figsize=(7.4, 3.0), width_ratios=(1, 1.7))
    draw_scene(ax, picture)
    text.axis("off")
    for row, (name, words) in enumerate(said.items()):
        marked = [w if [w] == list(right[t : t + 1]) else f"[{w}]" for t, w in enumerate(words)]
        lines = [" ".join(marked[t : t + 4]) for t in range(0, len(marked), 4)]
        top = 1 - row / len(said)
        text.text(0, top, name, color=GREY, va="top", transform=text.transAxes)
        text.text(0, top - 0.11, "\n".join(lines), va="top", transform=text.transAxes)
    return fig


def draw_looks(picture: Any, words: Sequence[str], weights: Any) -> Figure:
    """For each word (T) the weights (T, L) of the picture's cells, under its ink."""
    columns = 4
    fig, axes = plt.subplots(-(-len(words) // columns), columns, figsize=(7.4, 2.1 * -(-len(words) // columns)))
    for ax in axes.flat[len(words) :]:
        ax.axis("off")
    for ax, word, looks in zip(axes.flat, words, weights, strict=False):
        draw_scene(ax, picture, looks)
        ax.set_title(word)
    return fig


def panel(task: Any) -> dict[str, Any]:
    """What the live figure ``scene`` takes: the words, a hand for each digit in both sizes, and some scenes."""
    digits = range(10)
    scans = {}
    for size, side in zip(("small", "big"), task.sides, strict=True):
        ink = [task.scene([(digit, size, 0, 0)])[0][0][0, :side, :side] for digit in digits]
        scans[size] = [(255 * one).round().int().tolist() for one in ink]
    scenes = [
        [(3, "small", 2, 6), (7, "big", 14, 2), (2, "big", 15, 16)],
        [(3, "small", 2, 4), (7, "big", 15, 2)],
        [(0, "big", 1, 1), (4, "small", 4, 18), (9, "big", 16, 12)],
        [(5, "big", 16, 1), (8, "small", 6, 14)],
        [(6, "small", 1, 2), (1, "small", 10, 7), (5, "small", 19, 14)],
    ]
    return {"words": task.words, "side": task.input_size, "scans": scans, "scenes": scenes}
