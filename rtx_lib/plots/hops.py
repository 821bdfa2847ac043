"""What the hops of a memory network read: a story as rows, a hop as a column, one story or several with a slider."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rtx_lib.plots.arrays import floats
from rtx_lib.plots.diagram import word
from rtx_lib.plots.explorer import explorer
from rtx_lib.plots.grids import name_above, paint, tint
from rtx_lib.plots.style import CYCLE, GREY

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

    Raises
    ------
    ValueError
        If there is no sentence, the weights do not fit, or there is no such sentence to frame.
    """
    cells, labels = _cells(sentences, weights)
    if not set(supports) <= set(range(len(sentences))):
        raise ValueError(f"supports must hold sentences from 0 to {len(sentences) - 1}, got {list(supports)}")
    count, hops = cells.shape
    fig, ax = plt.subplots(figsize=(5.8, 1.0 + 0.33 * max(rows + 1, count)))
    paint(ax, tint(0.75 * cells.clip(max=1)))
    for i, k in np.argwhere(cells >= 0.05):
        word(ax, k, i, f"{cells[i, k]:.2f}".removeprefix("0"), fontsize=11)
    for i in supports:
        frame: dict[str, Any] = {"fill": False, "edgecolor": CYCLE[1], "linewidth": 1.8, "gid": "support"}
        ax.add_patch(Rectangle((-0.47, i - 0.42), hops - 0.06, 0.84, **frame))
    ax.set_ylim(max(rows + 1, count) - 0.5, -0.5)
    ax.set_xticks(range(hops), [f"hop {k + 1}" for k in range(hops)])
    ax.set_yticks(range(count), labels)
    name_above(ax, "", "")
    ax.spines[:].set_visible(False)
    for i in range(1, count):  # they lead the eye from a sentence to its cells
        ax.axhline(i - 0.5, color=GREY, alpha=0.4, linewidth=0.6, linestyle="-")
    fig.suptitle(f"{question}? {_said(answer, right)}", x=0.02, ha="left")
    return fig


def describe_hops(
    sentences: Sequence[str], weights: Any, question: str, answer: str, *, right: str, supports: Sequence[int] = ()
) -> str:
    """What :func:`draw_hops` draws, in words: where each hop reads most, and the answer.

    Parameters
    ----------
    sentences, weights, question, answer, right, supports
        As in :func:`draw_hops`.

    Raises
    ------
    ValueError
        If there is no sentence or the weights do not fit.
    """
    cells, labels = _cells(sentences, weights)
    most = [f"hop {k + 1} reads “{labels[i]}” most ({cells[i, k]:.2f})" for k, i in enumerate(cells.argmax(axis=0))]
    holds = " and ".join(f"“{sentences[i]}”" for i in supports)
    why = f" The answer follows from {holds}." if holds else ""
    return f"{question}? {_said(answer, right)}. {'; '.join(most)}.{why}"


def hops_explorer(
    stories: Sequence[Mapping[str, Any]], *, title: str | None = None, caption: str | None = None, start: int = 0
) -> HTML:
    """A slider over several stories, without a kernel.

    Parameters
    ----------
    stories
        The arguments of :func:`draw_hops` for each story but ``rows``; two at least.
    title, caption, start
        As in :func:`rtx_lib.plots.explorer.explorer`.

    Raises
    ------
    ValueError
        As in :func:`draw_hops` and :func:`rtx_lib.plots.explorer.explorer`.
    """
    rows = max((len(story["sentences"]) for story in stories), default=0)
    return explorer(
        lambda number: draw_hops(**stories[number - 1], rows=rows),
        range(1, len(stories) + 1),
        "story",
        alt=lambda number: describe_hops(**stories[number - 1]),
        title=title,
        caption=caption,
        start=start,
    )


def _cells(sentences: Sequence[str], weights: Any) -> tuple[np.ndarray, list[str]]:
    """The weights as rows by sentence, (N, K) or with a row for what is empty, and the rows' names."""
    if not sentences:
        raise ValueError("sentences must hold at least one sentence, got none")
    array = floats("weights", weights, "K", "M", low=0).T  # (M, K)
    count = len(sentences)
    if len(array) < count:
        raise ValueError(f"weights must have shape (K, M), M at least {count}, got {array.T.shape}")
    if len(array) == count:
        return array, list(sentences)
    return np.vstack([array[:count], array[count:].sum(axis=0)]), [*sentences, EMPTY]


def _said(answer: str, right: str) -> str:
    return f"“{answer}”, right" if answer == right else f"“{answer}”, wrong: {right}"
