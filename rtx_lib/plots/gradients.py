"""Gradients as pictures: films of training runs, norms and what clips them, errors against a sequence's length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_lib.plots.curves import bands, baseline, label_lines, smooth
from rtx_lib.plots.style import CYCLE, INK, MARKERS, look


def gradient_frames(norms: Any, eigenvalues: Any, titles: Sequence[str]) -> tuple[Figure, list[dict[str, Any]]]:
    """A training run: left the gradient's norm at every step, right the eigenvalues of the recurrent weights.

    Args:
        norms: (F, T), ||dL/dh_t|| for t = 1..T in each of F frames.
        eigenvalues: (F, H), complex.
        titles: F texts above the left panel, such as the error at that moment.

    Returns:
        The figure, and a frame for each moment, for ``film`` or ``at_frame``. The spectral radius is written above
        the right panel.

    Raises:
        ValueError: if the shapes do not fit together or there is no frame.
    """
    gradients, values = np.asarray(norms, dtype=float), np.asarray(eigenvalues)
    if gradients.ndim != 2 or values.ndim != 2 or not len(gradients) == len(values) == len(titles) > 0:
        raise ValueError(
            f"norms (F, T), eigenvalues (F, H) and F titles must fit, were {gradients.shape}, {values.shape} and "
            f"{len(titles)}"
        )
    T = gradients.shape[1]
    fig, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.7))
    left.semilogy([1, T], [1, 1], gid="gradient", marker="o", color=CYCLE[0], linestyle="-", markersize=4)
    ticks = [1, *range(max(T // 4, 1), T + 1, max(T // 4, 1))]
    left.set(xlim=(0.5, T + 0.5), ylim=(1e-7, 3), xlabel="step t", ylabel="$||dL/dh_t||$", xticks=ticks)
    turn = np.linspace(0, 2 * np.pi, 200)
    right.plot(np.cos(turn), np.sin(turn), color=INK, linestyle="--", linewidth=1)
    right.plot([0], [0], gid="eigenvalues", marker="o", color=CYCLE[1], linestyle="", markersize=4)
    right.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), xlabel="real part", ylabel="imaginary part", aspect="equal")
    left.set_title("-", gid="title")
    right.set_title("-", gid="radius")
    frames = [
        {
            "gradient": (np.arange(1, T + 1), gradient),
            "eigenvalues": (spectrum.real, spectrum.imag),
            "title": title,
            "radius": f"spectral radius {np.abs(spectrum).max():.2f}",
        }
        for gradient, spectrum, title in zip(gradients, values, titles, strict=True)
    ]
    return fig, frames


def gradient_panels(
    runs: Mapping[str, Mapping[str, Any]], titles: Mapping[str, Sequence[str]]
) -> tuple[Figure, list[dict[str, Any]]]:
    """Training runs side by side: a panel for each network, in it the gradient's norm by each of its states.

    Args:
        runs: by network and by the letter of a state, (F, T): ||dL/dh_t|| for t = 1..T in each of F frames.
        titles: by network, F texts above its panel, such as the error at that moment.

    Returns:
        The figure, and a frame for each moment, for ``film`` or ``at_frame``.

    Raises:
        ValueError: if there is no network, or the shapes or the names do not fit together.
    """
    norms = {kind: {name: np.asarray(rows, dtype=float) for name, rows in own.items()} for kind, own in runs.items()}
    shapes = {rows.shape for own in norms.values() for rows in own.values()}
    if len(shapes) != 1 or len(min(shapes)) != 2 or set(titles) != set(runs):
        raise ValueError(
            f"runs must hold arrays of one shape (F, T) and titles name the same networks, were "
            f"{sorted(shapes)}, {sorted(runs)} and {sorted(titles)}"
        )
    count, T = min(shapes)
    if any(len(texts) != count for texts in titles.values()):
        raise ValueError(f"titles must hold {count} texts for each network, one a frame")
    fig, axes = plt.subplots(1, len(runs), figsize=(0.4 + 2.4 * len(runs), 3.3), sharey=True, squeeze=False)
    for ax, (kind, own) in zip(axes[0], norms.items(), strict=True):
        for index, name in enumerate(own):
            look: dict[str, Any] = {"color": CYCLE[index], "linestyle": ("-", "--")[index % 2], "markersize": 3}
            look |= {"marker": MARKERS[index], "label": f"$dL/d{name}_t$", "gid": f"{kind} {name}"}
            ax.semilogy([1, T], [1, 1], **look)
        ax.set(xlim=(0, T + 1), ylim=(1e-13, 10), xlabel="step t", xticks=[1, T // 2, T])
        ax.set_title("-", gid=f"{kind} title")
        ax.legend(loc="lower right", title=kind)
    axes[0][0].set_ylabel("norm of the gradient")
    steps = np.arange(1, T + 1)
    return fig, [
        {f"{kind} {name}": (steps, rows[i]) for kind, own in norms.items() for name, rows in own.items()}
        | {f"{kind} title": titles[kind][i] for kind in runs}
        for i in range(count)
    ]


def error_by_length(ax: Axes, errors: Mapping[str, Mapping[int, Sequence[float]]]) -> None:
    """The final error against the length of the sequence: median and band of the runs that did not diverge.

    Where runs diverged, their number stands at the length.

    Args:
        ax: axes to draw in; the lengths are on a logarithmic axis.
        errors: from a model's name to its runs' errors at each length, NaN for a run that diverged.

    Raises:
        ValueError: if a model has no finite error at any length.
    """
    lengths = sorted({length for own in errors.values() for length in own})
    for index, (name, own) in enumerate(errors.items()):
        runs = max(map(len, own.values()), default=0)
        rows = np.array([[*values, *[np.nan] * (runs - len(values))] for values in own.values()]).T
        bands(ax, rows, name, steps=list(own), markevery=1, **look(name, index))
        for length, values in own.items():
            if lost := int(np.isnan(values).sum()):
                place = (length, float(np.nanmean(values)) if lost < len(values) else 0.0)
                words = f"{lost} of {len(values)}\ndiverged"
                ax.annotate(words, place, (0, 12), textcoords="offset points", ha="right")
    ax.set(xscale="log", xlabel="length T of the sequence (steps)")
    ax.set_xticks(lengths, [f"{length:,}" for length in lengths])
    ax.margins(x=0.015)  # the names at the lines' ends stand clear of a baseline
    ax.minorticks_off()


def draw_gradient_norms(
    norms: Mapping[str, Any], clip: float, *, width: int = 20, looks: Mapping[str, str] | None = None
) -> Figure:
    """The gradient's norm at the steps of training runs, with a dashed line at the norm to which clipping cuts it.

    Args:
        norms: by name (N,), before clipping, one for each step.
        clip: the largest norm that clipping lets through.
        width: a point is the mean of so many steps.
        looks: the models whose looks the names have; else those of the names themselves, or of the cycle in order.

    Raises:
        ValueError: if there is no run, or one has no finite norm.
    """
    if not norms:
        raise ValueError("norms must hold at least one run, held none")
    fig, ax = plt.subplots(figsize=(5.8, 3.0))
    for place, (name, values) in enumerate(norms.items()):
        bands(ax, smooth(values, width), name, **look(looks.get(name, name) if looks else name, place))
    baseline(ax, clip, "")
    ax.set(yscale="log", xlabel="training step", ylabel="gradient norm")
    label_lines(ax, gap=1.2 * max(name.count("\n") + 1 for name in norms))
    return fig
