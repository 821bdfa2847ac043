"""What several models put into the gap of a sentence, and what comes of training parts of one."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rtx_book.page.grids import share_cells
from rtx_lib.plots.heatmaps import floats
from rtx_lib.plots.style import literal, look

GAP = "____"


def draw_fillings(
    sentence: Sequence[str], place: int, words: Sequence[str], shares: Mapping[str, Any], *, rows: int = 7
) -> Figure:
    """How probable each model takes each word for, as cells with their numbers; the sentence stands above.

    Parameters
    ----------
    sentence, place
        The words, and which of them is hidden, counted from 0.
    words
        The V words that may stand there.
    shares
        For each model its probabilities (V,), by the model's name. A name may have several lines.
    rows
        How many words are shown: those to which some model gives most, in the order of ``words``.
    """
    table = np.stack([floats(f"shares[{name!r}]", own, len(words), low=0, high=1) for name, own in shares.items()], 1)
    shown = sorted(np.argsort(-table.max(axis=1), kind="stable")[:rows].tolist())
    fig, ax = plt.subplots(figsize=(5.8, 1.35 + 0.33 * rows))
    share_cells(ax, table[shown], list(shares), [words[i] for i in shown], 0.005)
    ax.set_ylim(rows - 0.5, -0.5)
    fig.suptitle(literal(_gapped(sentence, place)), x=0.02, ha="left")
    return fig


def describe_fillings(
    sentence: Sequence[str], place: int, words: Sequence[str], shares: Mapping[str, Any], *, rows: int = 7
) -> str:
    """What :func:`draw_fillings` draws, in words: the hidden word, and what each model puts there.

    Parameters
    ----------
    sentence, place, words, shares, rows
        As in :func:`draw_fillings`.
    """
    told = []
    for name, own in shares.items():
        best = int(np.argmax(own))
        right = words.index(sentence[place]) if sentence[place] in words else best
        other = "" if best == right else f", “{sentence[place]}” {own[right]:.2f}"
        told.append(f"{' '.join(name.split())}: “{words[best]}” {own[best]:.2f}{other}")
    return f"{_gapped(sentence, place)}. Hidden: “{sentence[place]}”. {'; '.join(told)}."


def draw_changes(changed: Mapping[str, tuple[Sequence[float], Sequence[Any]]], ylabel: str) -> Figure:
    """Results by how many numbers were trained: for each way these numbers, and at each of them a value a seed.

    A way with several numbers has a line through its medians. Names stand below what they name, or above such a line.
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.6))
    for place, (name, (sizes, rows)) in enumerate(changed.items()):
        own, values, line = look(place), np.concatenate([*rows]), len(sizes) > 1
        ax.plot(np.repeat(sizes, [*map(len, rows)]), values, own["marker"], color=own["color"], alpha=0.6, ms=4)
        ax.plot(sizes, [np.median(row) for row in rows], **own | {"marker": ""})
        side = "center" if line else "left" if sizes[0] < 1_000 else "right"
        height = values.max() + 0.003 if line else values.min() - 0.004
        ax.text(sizes[len(sizes) // 2], height, name, color=own["color"], ha=side, va="bottom" if line else "top")
    ax.set(xscale="log", xlabel="trained numbers", ylabel=ylabel, ymargin=0.12)
    return fig


def _gapped(sentence: Sequence[str], place: int) -> str:
    return " ".join([*sentence[:place], GAP, *sentence[place + 1 :]])
