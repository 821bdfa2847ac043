"""A matrix as a memory: what stands in it after each sentence, under several rules, and how much it gives back."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from matplotlib.figure import Figure

from rtx_lib.plots.arrays import floats, several
from rtx_lib.plots.curves import label_lines
from rtx_lib.plots.diagram import word
from rtx_lib.plots.explorer import explorer
from rtx_lib.plots.grids import paint, tint
from rtx_lib.plots.style import CYCLE, INK, look

LEAST = 0.05
"""Entries below it bear no number and are not named."""


def draw_states(
    states: Mapping[str, Any], keys: Sequence[str], values: Sequence[str], *, row: str = "", title: str = ""
) -> Figure:
    """The matrices of several rules side by side, a row for each key and a column for each value, with their numbers.

    Parameters
    ----------
    states
        By the name of the rule, (K, V).
    keys, values
        Names of the K rows and of the V columns.
    row
        The key that was just written: its name is bold.
    title
        Above all of them.

    Raises
    ------
    ValueError
        If there is no matrix, one has another shape, or ``row`` is no key.
    """
    tables = {name: floats(f"states[{name!r}]", S, len(keys), len(values)) for name, S in states.items()}
    if not tables:
        raise ValueError("states must hold at least one matrix, got none")
    if row and row not in keys:
        raise ValueError(f"row must be one of {list(keys)}, got {row!r}")
    fig, axes = plt.subplots(1, len(tables), figsize=(5.8, 1.3 + 0.36 * len(keys)), squeeze=False, sharey=True)
    for ax, (name, S) in zip(axes[0], tables.items(), strict=True):
        paint(ax, tint(np.clip(0.7 * S, -0.7, 0.7), (CYCLE[1], CYCLE[0])))
        for k, v in np.argwhere(np.abs(S) >= LEAST):
            word(ax, v, k, _short(S[k, v]), fontsize=11)
        ax.set_xticks(range(len(values)), values, rotation=45, ha="right", rotation_mode="anchor")
        ax.set_title(name, fontsize=12)
    axes[0, 0].set_yticks(range(len(keys)), keys)
    for text, key in zip(axes[0, 0].get_yticklabels(), keys, strict=True):
        text.set_fontweight("bold" if key == row else "normal")
    if title:
        fig.suptitle(title, x=0.02, ha="left")
    return fig


def describe_states(states: Mapping[str, Any], keys: Sequence[str], values: Sequence[str]) -> str:
    """What :func:`draw_states` shows, in words: what each matrix has for each key, "sum: Anna hall 1, kitchen 1"."""
    said = []
    for name, S in states.items():
        table = floats(f"states[{name!r}]", S, len(keys), len(values))
        rows = []
        for key, row in zip(keys, table, strict=True):
            held = [
                f"{value} {_short(number)}" for value, number in zip(values, row, strict=True) if abs(number) >= LEAST
            ]
            rows += [f"{key} {' and '.join(held)}"] if held else []
        said.append(f"{name}: {', '.join(rows) or 'empty'}")
    return "; ".join(said) + "."


def states_explorer(
    sentences: Sequence[tuple[str, str]],
    states: Mapping[str, Any],
    keys: Sequence[str],
    values: Sequence[str],
    *,
    title: str | None = None,
    caption: str | None = None,
    start: int = 0,
) -> HTML:
    """A slider over the sentences of a story, and what stands in each matrix after them; needs no kernel.

    Parameters
    ----------
    sentences
        T pairs: the sentence, and the key that it is about.
    states
        By the name of the rule, (T, K, V), after each sentence.
    keys, values
        Names of the rows and the columns.
    title, caption, start
        As in :func:`rtx_lib.plots.explorer.explorer`.

    Raises
    ------
    ValueError
        As in :func:`draw_states` and :func:`rtx_lib.plots.explorer.explorer`.
    """
    known = {"T": len(sentences), "K": len(keys), "V": len(values)}
    tables = {n: floats(f"states[{n!r}]", S, "T", "K", "V", sizes=dict(known)) for n, S in states.items()}

    def at(t: int) -> dict[str, np.ndarray]:
        return {name: S[t - 1] for name, S in tables.items()}

    return explorer(
        lambda t: draw_states(at(t), keys, values, row=sentences[t - 1][1], title=sentences[t - 1][0]),
        range(1, len(sentences) + 1),
        "sentences read",
        alt=lambda t: f"{sentences[t - 1][0]} {describe_states(at(t), keys, values)}",
        title=title and html.escape(title),
        caption=caption,
        start=start,
    )


def draw_recall(shares: Mapping[str, Any], widths: Sequence[int], written: str, *, line: float | None = None) -> Figure:
    """The share of pairs that a matrix gives back, by the numbers that it holds: a line for each rule.

    Parameters
    ----------
    shares
        By the name of the rule, whose look it has, (W,) from 0 to 1.
    widths
        K of the W matrices, each (K, K).
    written
        What was written, such as "8 pairs".
    line
        A number of entries to be marked, such as the least that could hold the pairs at all.

    Raises
    ------
    ValueError
        If there is nothing to draw, a row has another length, or a share is not one.
    """
    rows = several("shares", shares, len(widths), low=0, high=1)
    fig, ax = plt.subplots(figsize=(5.8, 3.2))
    numbers = np.square(np.asarray(widths, dtype=float))
    for place, (name, row) in enumerate(rows.items()):
        ax.plot(numbers, row, label=name, **look(name, place))
    if line:
        ax.axvline(line, color=INK, linestyle=(0, (4, 3)), linewidth=1.2, label="_line")
    ax.set_xscale("log", base=2)
    ax.set_xticks(numbers[:: max(1, len(numbers) // 6)], [f"{n:,.0f}" for n in numbers[:: max(1, len(numbers) // 6)]])
    ax.minorticks_off()
    ax.set(ylim=(-0.04, 1.05), xlabel="numbers in the state", ylabel="pairs given back (share)")
    ax.set_title(f"written: {written}", loc="left")
    label_lines(ax)
    return fig


def describe_recall(shares: Mapping[str, Any], widths: Sequence[int], written: str) -> str:
    """What :func:`draw_recall` shows, in words: how large a state each rule needs for nine pairs of ten."""
    said = []
    for name, row in several("shares", shares, len(widths), low=0, high=1).items():
        enough = np.flatnonzero(row >= 0.9)
        end = (
            f"a state of {widths[enough[0]] ** 2:,} numbers"
            if len(enough)
            else f"more than {widths[-1] ** 2:,} numbers"
        )
        said.append(f"{name} needs {end}")
    return f"Written: {written}. To give back 90 %, " + "; ".join(said) + "."


def _short(value: float) -> str:
    """Two decimals at most: "1", ".37", "−.5"."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return text.replace("0.", ".", 1).replace("-", "−") if "." in text else text.replace("-", "−")
