"""A matrix as a memory, sentence by sentence; and who keeps track, how late, with which eigenvalues."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from matplotlib.figure import Figure

from rtx_book.page.arrays import several
from rtx_book.page.explorer import explorer
from rtx_book.page.film import at_frame
from rtx_lib.plots.curves import baseline, label_lines, name_at, smooth
from rtx_lib.plots.heatmaps import floats, paint, tint, word
from rtx_lib.plots.style import CYCLE, GREY, INK, literal, look

# ------------------------------------------------------------------------------------------------ states


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
    """
    tables = {name: floats(f"states[{name!r}]", S, len(keys), len(values)) for name, S in states.items()}
    fig, axes = plt.subplots(1, len(tables), figsize=(5.8, 1.3 + 0.36 * len(keys)), squeeze=False, sharey=True)
    for ax, (name, S) in zip(axes[0], tables.items(), strict=True):
        paint(ax, tint(np.clip(0.7 * S, -0.7, 0.7), (CYCLE[1], CYCLE[0])))
        for k, v in np.argwhere(np.abs(S) >= LEAST):
            word(ax, v, k, _short(S[k, v]), fontsize=11)
        ax.set_xticks(range(len(values)), map(literal, values), rotation=45, ha="right", rotation_mode="anchor")
        ax.set_title(name, fontsize=12)
    axes[0, 0].set_yticks(range(len(keys)), map(literal, keys))
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
            own = zip(values, row, strict=True)
            held = [f"{value} {_short(number)}" for value, number in own if abs(number) >= LEAST]
            rows += [f"{key} {' and '.join(held)}"] if held else []
        said.append(f"{name}: {', '.join(rows) or 'empty'}")
    return "; ".join(said) + "."


def states_explorer(
    sentences: Sequence[tuple[str, str]],
    states: Mapping[str, Any],
    keys: Sequence[str],
    values: Sequence[str],
    **how: Any,
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
    how
        As in :func:`rtx_book.page.explorer.explorer`, such as ``title``, ``caption`` and ``start``.
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
        **how,
    )


def draw_recall(shares: Mapping[str, Any], widths: Sequence[int], written: str) -> Figure:
    """The share of pairs that a matrix gives back, by the numbers that it holds: a line for each rule.

    Parameters
    ----------
    shares
        By the name of the rule, whose look it has, (W,) from 0 to 1.
    widths
        K of the W matrices, each (K, K).
    written
        What was written, such as "8 pairs".
    """
    rows = several("shares", shares, len(widths), low=0, high=1)
    fig, ax = plt.subplots(figsize=(5.8, 3.2))
    numbers = np.square(np.asarray(widths, dtype=float))
    for place, (name, row) in enumerate(rows.items()):
        ax.plot(numbers, row, label=name, **look(name, place))
    ax.set_xscale("log", base=2)
    marked = numbers[:: max(1, len(numbers) // 6)]
    ax.set_xticks(marked, [f"{n:,.0f}" for n in marked])
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
        end = f"a state of {widths[enough[0]] ** 2:,}" if len(enough) else f"more than {widths[-1] ** 2:,}"
        said.append(f"{name} needs {end} numbers")
    return f"Written: {written}. To give back 90 %, " + "; ".join(said) + "."


def _short(value: float) -> str:
    """Two decimals at most: "1", ".37", "−.5"."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return text.replace("0.", ".", 1).replace("-", "−") if "." in text else text.replace("-", "−")


# ------------------------------------------------------------------------------------------------ tracking


def draw_tracking(shares: Mapping[str, Any], trained: int) -> Figure:
    """The share of right answers at each step of a sequence, a line for each model; shaded: the steps of the training.

    A point is the mean of eight steps, its own and those before it; guessing gives one half.

    Parameters
    ----------
    shares
        By name of a model, whose look it has, (T,) from 0 to 1; all of one length.
    trained
        How many steps the sequences of the training had.
    """
    rows = several("shares", shares, "T", low=0, high=1)
    fig, ax = plt.subplots(figsize=(5.8, 3.1))
    length = len(next(iter(rows.values())))
    ax.axvspan(0, trained, color=GREY, alpha=0.15, linewidth=0)
    name_at(ax, "trained", (0, 0), (3, 3), ("data", "axes fraction"), va="bottom")
    for place, (name, row) in enumerate(rows.items()):
        every = {"markevery": (place * length // 40, max(1, length // 6))}
        ax.plot(np.arange(1, length + 1), smooth(row, 8), label=name, **look(name, place) | every)
    ax.set(xlim=(0, length), ylim=(0.35, 1.04), xlabel="step of the sequence", ylabel="right answers (share)")
    baseline(ax, 0.5, "guessing", at=0.42)
    label_lines(ax)
    return fig


def spectrum_frames(
    panels: Mapping[str, Sequence[Sequence[Any]]], steps: Sequence[int], told: Mapping[str, Sequence[str]]
) -> tuple[Figure, list[dict[str, Any]]]:
    """Eigenvalues of the step that each model makes at an input 0 and at an input 1, as training goes on.

    A panel is the complex plane with the unit circle. Rings: at a 0; crosses: at a 1. Values that agree to two decimals
    are one mark. The figure shows the last moment until a frame moves it.

    Parameters
    ----------
    panels
        By name, for each moment the eigenvalues at a 0 and those at a 1, complex.
    steps
        The moments, as steps of the training.
    told
        By name, a short text for each moment, written into the panel.

    Returns
    -------
    tuple[Figure, list[dict[str, Any]]]
        The figure, and a frame for each moment, for ``film`` or ``at_frame``.
    """
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    fig, axes = plt.subplots(rows, columns, figsize=(5.8, 0.35 + 2.15 * rows), squeeze=False)
    turn = np.linspace(0, 2 * np.pi, 60)
    frames: list[dict[str, Any]] = [{} for _ in steps]
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    for place, (ax, (name, moments)) in enumerate(zip(axes.flat, panels.items(), strict=False)):
        ax.plot(np.cos(turn), np.sin(turn), "-", color=GREY, linewidth=0.9)
        for at in (ax.axhline, ax.axvline):
            at(0, color=GREY, linewidth=0.6, alpha=0.6, linestyle="-")
        marks: tuple[dict[str, Any], ...] = (
            {"marker": "o", "color": CYCLE[0], "markersize": 8, "fillstyle": "none", "markeredgewidth": 1.6},
            {"marker": "x", "color": CYCLE[1], "markersize": 7, "markeredgewidth": 1.9},
        )
        for bit, mark in enumerate(marks):
            ax.plot([0], [0], linestyle="", gid=f"bit{bit}-{place}", **mark)
            for frame, pair in zip(frames, moments, strict=True):
                frame[f"bit{bit}-{place}"] = _places(name, pair[bit])
        ax.set_xlabel("-", gid=f"told-{place}", color=INK)
        for frame, text in zip(frames, told[name], strict=True):
            frame[f"told-{place}"] = text
        ax.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal", xticks=[-1, 0, 1], yticks=[])
        ax.set_title(name, fontsize=12)
        ax.grid(False)
        ax.spines[:].set_visible(False)
    return at_frame(fig, frames[-1]), frames


def _places(name: str, values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Real and imaginary parts of the different values, to two decimals."""
    array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values, dtype=complex).ravel()
    both = floats(f"eigenvalues of {name!r}", np.stack([array.real, array.imag], 1), "N", 2)
    rounded = np.unique(np.round(both, 2) + 0.0, axis=0)
    return rounded[:, 0], rounded[:, 1]


def describe_spectra(panels: Mapping[str, Sequence[Sequence[Any]]]) -> str:
    """What :func:`spectrum_frames` shows at the end, in words: the least and the greatest real part at a 1."""
    said = []
    for name, moments in panels.items():
        real, _ = _places(name, moments[-1][1])
        low, high = (f"{value:.2f}".replace("-", "−") for value in (real.min(), real.max()))
        said.append(f"{name} {low}" if low == high else f"{name} {low} to {high}")
    return "Eigenvalues of the step at a 1, real parts: " + "; ".join(said) + "."
