"""What a recurrence keeps track of: who is right how late, and the eigenvalues of its steps during training."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rtx_lib.plots.arrays import floats, several
from rtx_lib.plots.curves import baseline, label_lines, name_at, smooth
from rtx_lib.plots.film import at_frame
from rtx_lib.plots.style import CYCLE, GREY, INK, look


def draw_tracking(
    shares: Mapping[str, Any],
    trained: int,
    *,
    chance: float = 0.5,
    width: int = 8,
    figsize: tuple[float, float] = (5.8, 3.1),
) -> Figure:
    """The share of right answers at each step of a sequence, a line for each model; shaded: the steps of the training.

    Parameters
    ----------
    shares
        By name of a model, whose look it has, (T,) from 0 to 1; all of one length.
    trained
        How many steps the sequences of the training had.
    chance
        What guessing gives, a dashed line.
    width
        A point is the mean of so many steps, its own and those before it.
    figsize
        In inches.

    Raises
    ------
    ValueError
        If there is nothing to draw, lengths differ, or a share is not one.
    """
    rows = several("shares", shares, "T", same="T", low=0, high=1)
    fig, ax = plt.subplots(figsize=figsize)
    length = len(next(iter(rows.values())))
    ax.axvspan(0, trained, color=GREY, alpha=0.15, linewidth=0)
    name_at(ax, "trained", (0, 0), (3, 3), ("data", "axes fraction"), va="bottom")
    for place, (name, row) in enumerate(rows.items()):
        every = {"markevery": (place * length // 40, max(1, length // 6))}
        ax.plot(np.arange(1, length + 1), smooth(row, width), label=name, **look(name, place) | every)
    ax.set(xlim=(0, length), ylim=(0.35, 1.04), xlabel="step of the sequence", ylabel="right answers (share)")
    baseline(ax, chance, "guessing" if chance >= 0.5 else "", at=0.42)
    label_lines(ax)
    return fig


def spectrum_frames(
    panels: Mapping[str, Sequence[Sequence[Any]]], steps: Sequence[int], told: Mapping[str, Sequence[str]] | None = None
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

    Raises
    ------
    ValueError
        If there is no panel, a panel does not have two sets for each moment, or a value is not finite.
    """
    if not panels:
        raise ValueError("panels must hold at least one, got none")
    for name, moments in panels.items():
        if len(moments) != len(steps) or any(len(pair) != 2 for pair in moments):
            raise ValueError(f"panels[{name!r}] must hold two sets for each of {len(steps)} moments")
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
        if told:
            ax.text(0.5, 0.02, "-", ha="center", va="bottom", transform=ax.transAxes, gid=f"told-{place}", color=INK)
            for frame, text in zip(frames, told[name], strict=True):
                frame[f"told-{place}"] = text
        ax.set(xlim=(-1.25, 1.25), ylim=(-1.6 if told else -1.25, 1.25), aspect="equal", xticks=[-1, 0, 1], yticks=[])
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


def describe_spectra(panels: Mapping[str, Sequence[Sequence[Any]]], moment: int = -1) -> str:
    """What :func:`spectrum_frames` shows at a moment, in words: the least and the greatest real part at a 1.

    Parameters
    ----------
    panels
        As there.
    moment
        Which one, from 0, or from the end.
    """
    said = []
    for name, moments in panels.items():
        real, _ = _places(name, moments[moment][1])
        low, high = (f"{value:.2f}".replace("-", "−") for value in (real.min(), real.max()))
        said.append(f"{name} {low}" if low == high else f"{name} {low} to {high}")
    return "Eigenvalues of the step at a 1, real parts: " + "; ".join(said) + "."
