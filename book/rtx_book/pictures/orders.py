"""Orders of prediction: who sees whom in both streams of XLNet, as a picture, and for any sentence the reader types."""

import html
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_book.page.figure import boxed, in_page, scripted, svg_tree
from rtx_book.page.grids import HATCHED, fill, fill_cells
from rtx_book.words import listed
from rtx_lib.plots.heatmaps import name_above, word
from rtx_lib.plots.style import CYCLE, GREY, INK, literal

MOST_WORDS = 8


def streams(order: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Who sees whom (count, count) in the query stream and in the content stream, as bools.

    Words in ``order`` are predicted, one after the other; the others are context, which all see, and which sees no
    word that is predicted. A word of the context has no query: its row of the first matrix is empty.

    Parameters
    ----------
    order
        Places of words, counted from 0, each at most once; at least one.
    count
        How many words there are.
    """
    order = [int(place) for place in order]
    if not order or sorted(set(order)) != sorted(order) or not set(order) <= set(range(count)):
        raise ValueError(f"order must hold different places from 0 to {count - 1}, got {order}")
    rank = np.full(count, -1)
    rank[order] = np.arange(len(order))
    query = (rank[None] < rank[:, None]) & (rank[:, None] >= 0)
    content = query | (rank[None] < 0) | np.eye(count, dtype=bool)
    return query, content


def draw_order(words: Sequence[str], order: Sequence[int]) -> Figure:
    """Both masks of an order: a word's row has a filled cell where it may look.

    The left one is the query stream's, which has to name the word and does not see it; the right one the content
    stream's, which sees it. Rows of words that are not predicted have no query and are hatched.

    Parameters
    ----------
    words
        Of the sentence, two at least and 8 at most.
    order
        As in :func:`streams`.
    """
    query, content = streams(order, len(words))
    rank = {place: number for number, place in enumerate(order, start=1)}
    labels = [f"{literal(w)}  {rank.get(place, '·')}" for place, w in enumerate(words)]
    fig, axes = plt.subplots(1, 2, figsize=(5.8, 1.5 + 0.3 * len(words)), sharey=True)
    for ax, seen, name, colour in zip(axes, (query, content), ("query", "content"), CYCLE, strict=False):
        _cells(ax, seen, colour)
        ax.set_xticks(range(len(words)), map(literal, words), rotation=60, ha="left", rotation_mode="anchor")
        name_above(ax, "", "")
        ax.set_xlabel(f"{name} stream")
        ax.xaxis.set_label_position("bottom")
    without = [place for place in range(len(words)) if place not in rank]
    fill(axes[0], [(x, y) for y in without for x in range(len(words))], **HATCHED)
    axes[0].set_yticks(range(len(words)), labels)
    return fig


def describe_order(words: Sequence[str], order: Sequence[int]) -> str:
    """What :func:`draw_order` shows, in words: the order, and whom each query sees."""
    query, _ = streams(order, len(words))
    told = []
    for place in order:
        seen = [w for w, sees in zip(words, query[place], strict=True) if sees]
        told.append(f"{words[place]} is predicted from {listed(seen) if seen else 'nothing'}")
    return f"{'; '.join(told)}. In the content stream each word sees itself besides."


def order_explorer(text: str, order: Sequence[int], *, title: str | None = None) -> HTML:
    """A sentence that the reader types and an order that he presses word by word; needs no kernel.

    Shown are the question that each prediction answers, and both masks as tables. Words that are not pressed are
    context. Where no script runs, the first order stands as a picture.

    Parameters
    ----------
    text
        The sentence at first, of 2 to 8 words.
    order
        The order at first, as in :func:`streams`.
    title
        A line above, as HTML.
    """
    words = text.split()
    chosen = [int(place) for place in order]
    ways = {"first": "left to right", "last": "right to left", "random": "at random", "clear": "choose anew"}
    buttons = "".join(f'<button type="button" data-way="{way}">{said}</button>' for way, said in ways.items())
    first = boxed(svg_tree(draw_order(words, chosen)), describe_order(words, chosen))
    content = (
        f'<div class="order-still">{first}</div><div class="order-box" onkeydown="event.stopPropagation()" hidden>'
        "<p>Press the words in the order of their prediction; the others are context.</p>"
        '<div class="words" role="group" aria-label="words of the sentence"></div>'
        '<p class="said" role="status"></p><div class="masks"></div><ol class="asked"></ol>'
        f'<div class="given"><label><span>sentence</span> <input type="text" value="{html.escape(text)}" '
        'maxlength="70" autocomplete="off" spellcheck="false"></label>'
        f'<div class="ways" role="group" aria-label="orders">{buttons}</div></div></div>'
    )
    script = scripted("orders", "figure", "order_masks")
    return in_page(content + script, None, "orders", title=title, order=chosen, most=MOST_WORDS)


def _cells(ax: Axes, seen: np.ndarray, colour: str) -> None:
    """A grid with the cells that are seen filled, and a dot in each of them for those who see no colour."""
    count = len(seen)
    ax.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), aspect="equal")
    ax.grid(False)
    ax.tick_params(length=0)
    ax.spines[:].set(visible=True, color=GREY, linewidth=0.6)
    for edge in np.arange(0.5, count - 1):
        ax.axhline(edge, color=GREY, linewidth=0.6, linestyle="-", alpha=0.5)
        ax.axvline(edge, color=GREY, linewidth=0.6, linestyle="-", alpha=0.5)
    fill_cells(ax, seen, facecolor=colour, alpha=0.45, linewidth=0)
    for row, column in np.argwhere(seen):
        word(ax, column, row, "•", color=INK)
