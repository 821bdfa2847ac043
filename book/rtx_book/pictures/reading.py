"""Hops of a memory network, and receptive fields that grow with layers.

The reach of every layer is handed in as it was measured (:func:`rtx_lib.diagnostics.paths.effects`), reach[l, t, s]
(L, T, T) being True where output t of layer l + 1 reads output s of the layer below, input s for the first.
"""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rtx_book.page.arrays import several
from rtx_book.page.diagram import links
from rtx_book.page.explorer import MOVE, control, stack_frames
from rtx_book.page.figure import in_page, scroll_box
from rtx_book.page.grids import share_cells
from rtx_lib.plots.heatmaps import floats, word
from rtx_lib.plots.style import CYCLE, GREY, literal, look

# ------------------------------------------------------------------------------------------------ hops


EMPTY = "(empty slots)"


def draw_hops(
    sentences: Sequence[str],
    weights: Any,
    question: str,
    answer: str,
    *,
    right: str,
    supports: Sequence[int] = (),
    rows: int = 0,
) -> Figure:
    """The weights of every hop on every sentence, as cells; the sentences that hold the answer are framed.

    Parameters
    ----------
    sentences
        The N sentences, the oldest first.
    weights
        (K, M), at least 0, M at least N: what each of K hops reads. What lies on slots behind the story is added up
        in a row of its own.
    question, answer
        What is asked, and what the model says.
    right
        The right answer.
    supports
        The sentences that it follows from, counted from 0.
    rows
        The height is that of so many sentences at least, so that figures of several stories are of one size.
    """
    cells, labels = _cells(sentences, weights)
    count, hops = cells.shape
    fig, ax = plt.subplots(figsize=(5.8, 1.0 + 0.33 * max(rows + 1, count)))
    share_cells(ax, cells, [f"hop {k + 1}" for k in range(hops)], labels, 0.05, fontsize=11)
    for i in supports:
        frame: dict[str, Any] = {"fill": False, "edgecolor": CYCLE[1], "linewidth": 1.8, "gid": "support"}
        ax.add_patch(Rectangle((-0.47, i - 0.42), hops - 0.06, 0.84, **frame))
    ax.set_ylim(max(rows + 1, count) - 0.5, -0.5)
    for i in range(1, count):  # they lead the eye from a sentence to its cells
        ax.axhline(i - 0.5, color=GREY, alpha=0.4, linewidth=0.6, linestyle="-")
    fig.suptitle(literal(f"{question}? {_said(answer, right)}"), x=0.02, ha="left")
    return fig


def describe_hops(
    sentences: Sequence[str], weights: Any, question: str, answer: str, *, right: str, supports: Sequence[int] = ()
) -> str:
    """What :func:`draw_hops` draws, in words: where each hop reads most, and the answer.

    Parameters
    ----------
    sentences, weights, question, answer, right, supports
        As in :func:`draw_hops`.
    """
    cells, labels = _cells(sentences, weights)
    most = [f"hop {k + 1} reads “{labels[i]}” most ({cells[i, k]:.2f})" for k, i in enumerate(cells.argmax(axis=0))]
    holds = " and ".join(f"“{sentences[i]}”" for i in supports)
    why = f" The answer follows from {holds}." if holds else ""
    return f"{question}? {_said(answer, right)}. {'; '.join(most)}.{why}"


def _cells(sentences: Sequence[str], weights: Any) -> tuple[np.ndarray, list[str]]:
    """The weights as rows by sentence, (N, K) or with a row for what is empty, and the rows' names."""
    array = floats("weights", weights, "K", "M", low=0).T  # (M, K)
    count = len(sentences)
    if len(array) == count:
        return array, list(sentences)
    return np.vstack([array[:count], array[count:].sum(axis=0)]), [*sentences, EMPTY]


def _said(answer: str, right: str) -> str:
    return f"“{answer}”, right" if answer == right else f"“{answer}”, wrong: {right}"


# ------------------------------------------------------------------------------------------------ receptive


_SIZE = 8.5  # of a circle, in points


def seen(reach: Any, layers: int) -> np.ndarray:
    """What of the inputs, row 0, and of each layer has a way to the last output of so many: (layers + 1, T) bool.

    Parameters
    ----------
    reach
        Of every layer, (L, T, T) bool.
    layers
        How many of them stand on one another, from 1 to L.
    """
    reach = floats("reach", reach, "L", "T", "T", low=0, high=1) > 0
    lit = np.zeros((layers + 1, reach.shape[1]), dtype=bool)
    lit[layers, -1] = True
    for row in range(layers, 0, -1):
        lit[row - 1] = reach[row - 1][lit[row]].any(0)
    return lit


def draw_field(reach: Any, layers: int, name: str) -> Figure:
    """The inputs that the last output sees through the first ``layers`` layers, with every way that leads to it.

    Filled circles and coloured lines have a way to the last output, grey and empty ones have none; layers that are not
    there yet are dotted.

    Parameters
    ----------
    reach, layers
        As in :func:`seen`.
    name
        The model's, whose look it has.
    """
    lit = seen(reach, layers)
    (deepest, length, _), colour = np.shape(reach), look(name)["color"]
    fig, ax = plt.subplots(figsize=(5.8, 0.45 * deepest + 0.95))
    below = [(row, t, s) for row in range(1, layers + 1) for t, s in np.argwhere(reach[row - 1]).tolist()]
    ways = [(lit[row, t], ((t, row), (s, row - 1))) for row, t, s in below]
    links(ax, [ends for on, ends in ways if not on], color=GREY, linewidth=0.6, alpha=0.4, zorder=1)
    lit_ways = [ends for on, ends in ways if on]
    links(ax, lit_ways, color=colour, linewidth=1.5 if len(lit_ways) < 100 else 0.6, zorder=2)  # many run together
    for row in range(deepest + 1):
        there = lit[row] if row <= layers else np.zeros(length, dtype=bool)
        size = _SIZE if row <= layers else 2
        for places, edge, fill in ((~there, GREY, "none"), (there, colour, colour)):
            look_of: dict[str, Any] = {"markeredgecolor": edge, "markerfacecolor": fill, "markersize": size}
            ax.plot(np.flatnonzero(places), np.full(places.sum(), row), "o", zorder=3, **look_of)
        word(ax, -0.8, row, f"layer {row}" if row else "inputs", ha="right")
    for t in (0, length - 1):
        word(ax, t, -0.55, str(t + 1))
    ax.set_title(f"{name}, {_layers(layers)}: {lit[0].sum()} of {length} inputs")
    ax.set(xlim=(-3.4, length - 0.4), ylim=(-0.85, deepest + 0.4))
    ax.set_axis_off()
    return fig


def describe_field(reach: Any, layers: int, name: str) -> str:
    """What :func:`draw_field` shows for these arguments, in words."""
    (field, *_), length = seen(reach, layers), np.shape(reach)[1]
    furthest = int(field.argmax()) + 1
    where = f"all {length} inputs" if field.all() else f"{field.sum()} of {length} inputs, from input {furthest} on"
    return f"{name}, {_layers(layers)}: output {length} sees {where}."


def field_explorer(models: Mapping[str, Any], *, title: str, caption: str | None = None) -> HTML:
    """A choice of the model and a slider for its layers; works in Jupyter, in Colab and on a page without a kernel.

    Parameters
    ----------
    models
        By name, the reach of every layer, all of one shape (L, T, T), L at least 2. About 20 frames at most.
    title, caption
        Lines above and below, as HTML.
    """
    models = several("models", models, "L", "T", "T", low=0, high=1)
    depth, length, _ = next(iter(models.values())).shape
    frames = [(name, layers) for name in models for layers in range(1, depth + 1)]
    drawn = (draw_field(models[name], n, name) for name, n in frames)
    labels = [f"{_layers(n)}: {seen(models[name], n)[0].sum()} of {length}" for name, n in frames]
    texts = [describe_field(models[name], n, name) for name, n in frames]
    stacked, scrolls = stack_frames(drawn, labels, texts, 0, wide=False, said=False)
    options = "".join(f'<option value="{k * depth}">{html.escape(name)}</option>' for k, name in enumerate(models))
    choice = (
        '<div class="book-control" onkeydown="event.stopPropagation()"><label><span>model</span> '
        f'<select autocomplete="off" style="font:inherit;min-height:44px" onchange="{html.escape(MOVE)}">{options}'
        "</select></label></div>"
    )
    head = choice + control("layers", labels[:depth], 0, MOVE)
    return in_page(head + scroll_box(stacked, "layers", wide=scrolls), caption, "explorer", title=title)


def _layers(count: int) -> str:
    return f"{count} layer{'' if count == 1 else 's'}"
