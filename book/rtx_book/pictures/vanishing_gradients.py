"""Gradients as pictures: films of training runs, and errors against a sequence's length."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_book.page.arrays import several
from rtx_lib.plots.curves import bands, baseline, label_lines, name_at
from rtx_lib.plots.heatmaps import floats
from rtx_lib.plots.style import CYCLE, INK, MARKERS, look


def gradient_frames(
    norms: Any, eigenvalues: Any, titles: Sequence[str], *, curve: tuple[Sequence[float], Sequence[float]], line: float
) -> tuple[Figure, list[dict[str, Any]]]:
    """A training run: the error with a cursor, the gradient's norm at every step, the recurrent weights' eigenvalues.

    Parameters
    ----------
    norms
        (F, T), ||dL/dh_t|| for t = 1..T in each of F frames.
    eigenvalues
        (F, H), complex.
    titles
        F texts beside the cursor, such as the error at that moment.
    curve
        The F training steps and the F errors of the upper panel.
    line
        An error that is marked by a dashed line, such as that of an empty memory.

    Returns
    -------
    tuple[Figure, list[dict[str, Any]]]
        The figure, and a frame for each moment, for ``film`` or ``at_frame``. The spectral radius is written above
        the panel of the eigenvalues.
    """
    gradients, values = floats("norms", norms, len(titles), "T", finite=False), np.asarray(eigenvalues)
    T, steps, errors = gradients.shape[1], *(floats("curve", side, len(titles)) for side in curve)
    fig, axes = plt.subplot_mosaic([["top", "top"], ["left", "right"]], figsize=(5.2, 5.2), height_ratios=[1, 2])
    top, left, right = axes["top"], axes["left"], axes["right"]
    top.plot(steps, errors, color=CYCLE[2], linestyle="-")
    top.axvline(steps[0], gid="cursor", color=INK, linestyle=":", linewidth=1.4)
    top.plot(steps[:1], errors[:1], "o", gid="now", color=CYCLE[2], markersize=7)
    top.set(xlabel="training step", ylabel="error", ylim=(0, 1.15 * min(errors.max(), 2 * line)))
    baseline(top, line, "")
    top.set_title("-", gid="title")
    left.semilogy([1, T], [1, 1], gid="gradient", marker="o", color=CYCLE[0], linestyle="-", markersize=4)
    ticks = [1, *range(max(T // 4, 1), T + 1, max(T // 4, 1))]
    left.set(xlim=(0.5, T + 0.5), ylim=(1e-7, 3), xlabel="step t of the sequence", xticks=ticks)
    left.set_title("norm of $dL/dh_t$")
    turn = np.linspace(0, 2 * np.pi, 200)
    right.plot(np.cos(turn), np.sin(turn), color=INK, linestyle="--", linewidth=1)
    right.plot([0], [0], gid="eigenvalues", marker="o", color=CYCLE[1], linestyle="", markersize=4)
    right.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), xlabel="real part", ylabel="imaginary part", aspect="equal")
    right.set_title("-", gid="radius")
    frames = [
        {
            "gradient": (np.arange(1, T + 1), gradient),
            "eigenvalues": (spectrum.real, spectrum.imag),
            "title": title,
            "cursor": (np.array([step, step]), np.array([0.0, 1.0])),
            "now": (np.array([step]), np.array([error])),
            "radius": f"spectral radius {np.abs(spectrum).max():.2f}",
        }
        for gradient, spectrum, title, step, error in zip(gradients, values, titles, steps, errors, strict=True)
    ]
    return fig, frames


def gradient_panels(
    runs: Mapping[str, Mapping[str, Any]],
    titles: Mapping[str, Sequence[str]],
    *,
    errors: Mapping[str, Any],
    steps: Any,
    chance: float,
) -> tuple[Figure, list[dict[str, Any]]]:
    """Training runs side by side: a panel for each network, in it the gradient's norm by each of its states.

    Below them are the curves of the error, with an upright line at the moment that the panels show.

    Parameters
    ----------
    runs
        By network and by the letter of a state, (F, T): ||dL/dh_t|| for t = 1..T in each of F frames.
    titles
        By network, F texts above its panel, such as its name and the error at that moment.
    errors
        By network, (F,), positive.
    steps
        (F,), the training step of each frame.
    chance
        The error of a network that has learned nothing, dashed.

    Returns
    -------
    tuple[Figure, list[dict[str, Any]]]
        The figure, and a frame for each moment, for ``film`` or ``at_frame``.
    """
    given = {(kind, state): rows for kind, own in runs.items() for state, rows in own.items()}
    norms = several("runs", given, "F", "T", finite=False)
    count, T = next(iter(norms.values())).shape
    curves = {kind: floats(f"errors of {kind!r}", values, count, finite=False) for kind, values in errors.items()}
    at = floats("steps", steps, count)
    fig = plt.figure(figsize=(0.4 + 2.4 * len(runs), 5.4))
    grid = fig.add_gridspec(2, len(runs), height_ratios=(3, 2))
    axes = [fig.add_subplot(grid[0, k]) for k in range(len(runs))]
    below = fig.add_subplot(grid[1, :])
    for place, (ax, (kind, own)) in enumerate(zip(axes, runs.items(), strict=True)):
        for index, name in enumerate(own):
            line: dict[str, Any] = {"color": (look(kind, place)["color"], CYCLE[1])[index % 2], "markersize": 3}
            line |= {"linestyle": ("-", "--")[index % 2], "marker": MARKERS[index], "gid": f"{kind} {name}"}
            ax.semilogy([1, T], [1, 1], label=f"$dL/d{name}_t$", **line)
        ax.set(xlim=(0, T + 1), ylim=(1e-13, 10), xlabel="step t", xticks=[1, T // 2, T])
        ax.set_title("-", gid=f"{kind} title")
        ax.legend(loc="lower right")
        if place:
            ax.tick_params(labelleft=False)
        bands(below, curves[kind], kind, steps=at, markevery=max(1, count // 6), **look(kind, place))
    axes[0].set_ylabel("norm of the gradient")
    seen = np.concatenate([*curves.values(), [chance]])
    low, high = 0.5 * float(np.nanmin(seen)), 2 * float(np.nanmax(seen))
    below.set(yscale="log", xlim=(0, 1.02 * at[-1]), ylim=(low, high), xlabel="training step", ylabel="error (MSE)")
    baseline(below, chance, "")
    below.plot([at[0], at[0]], [low, high], color=INK, linewidth=1.5, gid="cursor")
    label_lines(below)
    places = np.arange(1, T + 1)
    return fig, [
        {f"{kind} {state}": (places, rows[i]) for (kind, state), rows in norms.items()}
        | {f"{kind} title": titles[kind][i] for kind in runs}
        | {"cursor": (np.array([at[i], at[i]]), np.array([low, high]))}
        for i in range(count)
    ]


def error_by_length(ax: Axes, errors: Mapping[str, Mapping[int, Sequence[float]]]) -> None:
    """The final error against the length of the sequence: median and band of the runs that did not diverge.

    Where runs diverged, their number stands at the length.

    Parameters
    ----------
    ax
        Axes to draw in; the lengths are on a logarithmic axis.
    errors
        From a model's name to its runs' errors at each length, NaN for a run that diverged.
    """
    lengths = sorted({length for own in errors.values() for length in own})
    for index, (name, own) in enumerate(errors.items()):
        runs = max(map(len, own.values()), default=0)
        rows = np.array([[*values, *[np.nan] * (runs - len(values))] for values in own.values()]).T
        bands(ax, rows, name, steps=list(own), markevery=1, **look(name, index))
        for length, values in own.items():
            if lost := int(np.isnan(values).sum()):
                place = (length, float(np.nanmean(values)) if lost < len(values) else 0.0)
                name_at(ax, f"{lost} of {len(values)}\ndiverged", place, (0, 12), ha="right", fontsize=12)
    ax.set(xscale="log", xlabel="length T of the sequence (steps)")
    ax.set_xticks(lengths, [f"{length:,}" for length in lengths])
    ax.margins(x=0.015)  # the names at the lines' ends stand clear of a baseline
    ax.minorticks_off()


def draw_layer_gradients(norms: Mapping[str, Any], title: str) -> Figure:
    """The norm of a gradient in each layer of a stack, one line a kind, of several runs with a band.

    Parameters
    ----------
    norms
        By name (L,) or (runs, L), from the layer at the input on.
    title
        What stands above.
    """
    rows = several("norms", norms, "[runs]", "L")
    depth = next(iter(rows.values())).shape[1]
    fig, ax = plt.subplots(figsize=(5.8, 3.3))
    for index, (name, row) in enumerate(rows.items()):
        bands(ax, row, name, index=index, markevery=max(1, depth // 6))
    ax.set(yscale="log", ylim=(2e-3, 6), xlabel="decoder layer, from the input", ylabel="gradient norm of $W_2$")
    ax.set(xlim=(0.5, depth + 0.5), title=title)
    label_lines(ax)
    return fig
