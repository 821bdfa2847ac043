"""Empirical receptive fields as pictures: influence over distance, and of every input on one output after another."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_lib.plots.arrays import several
from rtx_lib.plots.curves import bands, label_lines
from rtx_lib.plots.style import CYCLE, INK, look


def _check_floor(floor: float) -> None:
    if not 0 < floor < 1:
        raise ValueError(f"floor must be between 0 and 1, got {floor}")


def influence_curves(
    ax: Axes, curves: Mapping[str, Any], *, reaches: Mapping[str, int] | None = None, floor: float = 1e-6
) -> None:
    """How the influence of an input falls with its distance, one line for each model, both axes logarithmic.

    A line leaves the picture where the influence falls below the floor, and ends in a cross where it is exactly 0
    from there on.

    Parameters
    ----------
    ax
        Axes to draw in.
    curves
        From a name to (T,) or (runs, T), the most recent input last, as
        :func:`rtx_lib.diagnostics.receptive_field.input_influence` gives it for the last position. Each run is
        divided by its sum; of several runs the median is drawn, with a band from the least to the greatest.
    reaches
        From some of the names to the number of inputs that the architecture lets through, each marked by a
        vertical line with the number at its head.
    floor
        The smallest share that is drawn.

    Raises
    ------
    ValueError
        If there is no curve, one has another shape, is negative, not finite or has a run that is all 0, a
        reach belongs to no curve or is below 1, or the floor is not between 0 and 1 or above a whole curve.
    """
    _check_floor(floor)
    shares = {}
    for name, runs in several("curves", curves, "[runs]", "T", low=0).items():
        if not runs.any(axis=1).all():
            raise ValueError(f"curves must have no run that is all 0, got one in {name!r}")
        shares[name] = (runs / runs.sum(axis=1, keepdims=True))[:, ::-1]
        if (most := shares[name].max()) < floor:
            raise ValueError(f"floor must be at most {most:g}, or nothing of {name!r} is seen, got {floor}")
    fields = dict(reaches or {})
    for name, count in fields.items():
        if name not in curves or count < 1:
            raise ValueError(f"reaches must be at least 1 for names out of {list(curves)}, got {name!r}: {count}")
    ax.set(xscale="log", yscale="log", ylim=(floor / 3, 2 * max(share.max() for share in shares.values())))
    ax.set(xlabel="input, counted back from the output", ylabel="share of the influence")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    for index, (name, share) in enumerate(shares.items()):
        style = look(name, index)
        _curve(ax, style, name, share, floor)
        if name in fields:
            ax.axvline(fields[name], linewidth=1.2, label="_reach", color=style["color"], linestyle=style["linestyle"])
            place: dict[str, Any] = {"xytext": (4, -2), "textcoords": "offset points", "va": "top", "fontsize": 11}
            ax.annotate(f"{fields[name]:,} inputs", (fields[name], 1), xycoords=("data", "axes fraction"), **place)
    label_lines(ax)


def _curve(ax: Axes, style: dict[str, Any], name: str, share: np.ndarray, floor: float) -> None:
    """One model's line, shares (runs, T) with the most recent input first."""
    seen = np.where(share >= floor, share, np.nan)
    points = int(np.isfinite(seen).any(axis=0).sum())
    marks = np.unique(np.geomspace(1, points, 7).round().astype(int) - 1).tolist()  # equally far apart on the page
    line = bands(ax, seen, name, **style, markevery=marks)
    last = int(np.flatnonzero(share.any(axis=0))[-1])
    if last + 1 < share.shape[1] and np.isfinite(seen[:, last]).any():
        end, colour = np.nanmedian(seen[:, last]), line.get_color()
        ax.plot(last + 1, end, "x", color=colour, markersize=10, markeredgewidth=2.5, label="_end")
        ax.plot([last + 1] * 2, [end, floor / 3], color=colour, linestyle=":", linewidth=1.4, label="_end")


def influence_frames(sizes: Mapping[str, Any], *, floor: float = 1e-6) -> tuple[Figure, list[dict[str, Any]]]:
    """How strongly each input reaches one output, a bar each, one panel for each model; the output moves.

    A cross stands where the influence is exactly 0, the dotted line at the output.

    Parameters
    ----------
    sizes
        From a model's name to (T, T), row t the size of the derivative of output t by each input.
    floor
        The least size that is drawn, where the bars begin.

    Returns
    -------
    tuple[Figure, list[dict[str, Any]]]
        The figure, and a frame for each of the T outputs, for ``film`` or ``at_frame``.

    Raises
    ------
    ValueError
        If there is no model, a map is not (T, T) like the first, or the floor is not between 0 and 1.
    """
    _check_floor(floor)
    maps = several("sizes", sizes, "T", "T", same="T", low=0)
    T = len(next(iter(maps.values())))
    steps = np.arange(1, T + 1)
    fig, axes = plt.subplots(len(maps), 1, figsize=(5.8, 1.4 * len(maps)), sharex=True, sharey=True, squeeze=False)
    frames: list[dict[str, Any]] = [{} for _ in steps]
    for k, (ax, (name, values)) in enumerate(zip(axes.flat, maps.items(), strict=True)):
        look: dict[str, Any] = {"linewidth": 130 / T, "linestyle": "-", "solid_capstyle": "butt"}
        ax.plot([1], [1], color=CYCLE[k % len(CYCLE)], gid=f"bars{k}", **look)
        ax.plot([1], [1], "x", color=INK, markersize=6, gid=f"none{k}")
        ax.axvline(1, color=INK, linestyle=":", linewidth=1.4, gid=f"at{k}")
        ax.set(yscale="log", ylim=(floor, 20), xlim=(0.3, T + 0.7), xticks=steps, yticks=[1e-5, 1e-2, 1e1])
        ax.set_title(name, loc="left", fontsize=11.5)
        for t, frame in zip(steps, frames, strict=True):
            row = values[t - 1]
            seen, unseen = steps[row > 0], steps[row == 0]
            gap = np.full(len(seen), np.nan)  # ends each bar
            heights = np.stack([np.full(len(seen), floor), row[seen - 1], gap], axis=1)
            frame[f"bars{k}"] = np.stack([seen, seen, gap], axis=1).ravel(), heights.ravel()
            frame[f"none{k}"] = unseen, np.full(len(unseen), 3 * floor)
            frame[f"at{k}"] = np.array([t, t]), np.array([0.0, 1.0])
    axes[-1, 0].set_xlabel("input step s")
    fig.supylabel(r"size of $\partial y_t / \partial x_s$", fontsize=12)
    return fig, frames
