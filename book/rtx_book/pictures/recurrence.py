"""What a network reads and expects, and how far back it looks: influence of inputs, weights by distance."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from rtx_book.page.arrays import several, true_runs
from rtx_book.page.grids import scale_bar
from rtx_lib.plots.curves import bands, label_lines, name_at
from rtx_lib.plots.heatmaps import floats, tint
from rtx_lib.plots.style import CYCLE, GREY, INK, look

# ------------------------------------------------------------------------------------------------ images


_GREY = {"cmap": "gray_r", "vmin": 0, "vmax": 1}


def one_of_each(labels: Any, good: Any) -> dict[int, int]:
    """By label, in order, the place of the first image that bears it: a good one, if there is one.

    Parameters
    ----------
    labels
        (N,) whole numbers.
    good
        (N,), true for the images to be preferred.
    """
    names, chosen = np.asarray(labels), np.asarray(good, dtype=bool)
    return {int(name): int(np.lexsort((~chosen, names != name))[0]) for name in np.unique(names)}


def draw_beliefs(images: Any, beliefs: Any, names: Sequence[str] = ()) -> Figure:
    """Each image beside the probabilities after each of its rows: darker is likelier, a dot marks the likeliest.

    Show it with ``wide=True``.

    Parameters
    ----------
    images
        (N, T, W) in [0, 1], read from the first of its T rows to the last.
    beliefs
        (N, T, C), the probabilities of C classes after each row.
    names
        N texts above the images, such as "a nine".
    """
    sizes: dict[str, int] = {}
    pictures = floats("images", images, "N", "T", "W", sizes=sizes)
    shares = floats("beliefs", beliefs, "N", "T", "C", sizes=sizes)
    count, rows, classes = shares.shape
    fig, axes = plt.subplots(1, 2 * count, figsize=(0.1 + 2.5 * count, 2.75), width_ratios=[1, 1.25] * count)
    for k, (left, right) in enumerate(zip(axes[::2], axes[1::2], strict=True)):
        left.imshow(pictures[k], aspect="auto", **_GREY)
        right.imshow(shares[k], cmap="Blues", vmin=0, vmax=1, aspect="auto")
        right.plot(shares[k].argmax(-1), range(rows), "o", color=CYCLE[1], markersize=6, linestyle="")
        left.set(xticks=[], yticks=range(rows), yticklabels=range(1, rows + 1) if k == 0 else [])
        left.set_title(names[k] if names else "input")
        right.set(xticks=range(0, classes, 3), yticks=[], title="belief")
        for ax in (left, right):
            ax.grid(False)
    axes[0].set_ylabel("row read (step t)")
    label = f"probability of each digit 0 to {classes - 1} (darker: larger); dot: the answer after this row"
    fig.supxlabel(label, fontsize=12)
    return fig


def draw_image_rows(rows: Mapping[str, Any], *, line: float) -> Figure:
    """The same images in several versions: a row of pictures for each, named at its left.

    Parameters
    ----------
    rows
        From a name to (N, H, W) in [0, 1], all of one shape.
    line
        A level line through every picture, below so many of its rows of pixels.
    """
    pictures = several("rows", rows, "N", "H", "W")
    count = len(next(iter(pictures.values())))
    fig, axes = plt.subplots(len(rows), count, figsize=(1.5 + 0.7 * count, 0.15 + 0.85 * len(rows)), squeeze=False)
    for band, (name, images) in zip(axes, pictures.items(), strict=True):
        for ax, image in zip(band, images, strict=True):
            ax.imshow(image, **_GREY)
            ax.set(xticks=[], yticks=[])
            ax.axhline(line - 0.5, color=CYCLE[1], linewidth=1.5)
        band[0].set_ylabel(name, rotation=0, ha="right", va="center")
    return fig


def piano_roll(ax: Axes, frames: Any, prediction: Any, *, colour: str = CYCLE[1]) -> None:
    """Notes over time: what a model expected against what came.

    Notes are outlines and the fill is the probability: a filled outline is a note that was foreseen, an empty outline
    one that was not, a fill without outline a note that did not come.

    Parameters
    ----------
    ax
        Axes to draw in.
    frames
        (T, 88), 1 where one of the piano's 88 keys sounds, the lowest (A0) first; without padding.
    prediction
        (T, 88), the probability given to each note of ``frames`` before its frame was seen.
    colour
        Of the fill: that of the model which expects.
    """
    notes = floats("frames", frames, "T", 88, finite=False)
    chances = floats("prediction", prediction, *notes.shape, low=0, high=1)
    fill, extent = (colour, colour), (-0.5, len(notes) - 0.5, -0.5, 87.5)
    ax.imshow(tint(chances.T, fill), interpolation="none", aspect="auto", origin="lower", extent=extent)
    bar = scale_bar(ax, tint(np.linspace(0, 1, 64), fill), 0, 1)
    bar.set_ylabel("probability", labelpad=-4)
    bar.yaxis.set_label_position("right")
    held = [(start, stop, key) for key, row in enumerate(notes.T > 0) for start, stop in true_runs(row)]
    bars = [[(x - 0.5, k + y) for x, y in ((a, -0.4), (b, -0.4), (b, 0.4), (a, 0.4))] for a, b, k in held]
    path = Path.make_compound_path_from_polys(np.array(bars))
    ax.add_patch(PathPatch(path, facecolor="none", edgecolor=INK, linewidth=1.2))
    used = np.flatnonzero(np.maximum(notes, chances > 0.1).any(axis=0))
    ax.set(xlim=(-0.5, len(notes) - 0.5), ylim=(used[0] - 1.5, used[-1] + 1.5), xlabel="frame", ylabel="note")
    octaves = [key for key in range(3, 88, 12) if used[0] - 1 <= key <= used[-1] + 1]
    ax.set_yticks(octaves, [f"C{(key + 9) // 12}" for key in octaves])
    ax.grid(axis="x", visible=False)


# ------------------------------------------------------------------------------------------------ influence


_FLOOR = 1e-7  # the smallest share of the influence that is drawn


def influence_curves(curves: Mapping[str, Any], *, reaches: Mapping[str, int] | None = None) -> Figure:
    """How the influence of an input falls with its distance, one line for each model, both axes logarithmic.

    A line leaves the picture where the influence falls below 1e-7 of the whole, and ends in a cross where it is
    exactly 0 from there on.

    Parameters
    ----------
    curves
        From a name to (T,) or (runs, T), the most recent input last, as
        :func:`rtx_lib.diagnostics.receptive_field.input_influence` gives it for the last position. Each run is
        divided by its sum; of several runs the median is drawn, with a band from the least to the greatest.
    reaches
        From some of the names to the number of inputs that the architecture lets through, each marked by a
        vertical line with the number at its head.
    """
    drawn = several("curves", curves, "[runs]", "T", low=0)
    shares = {name: (runs / runs.sum(axis=1, keepdims=True))[:, ::-1] for name, runs in drawn.items()}
    fields = reaches or {}
    fig, ax = plt.subplots(figsize=(5.8, 3.7))
    ax.set(xscale="log", yscale="log", ylim=(_FLOOR / 3, 2 * max(share.max() for share in shares.values())))
    ax.set(xlabel="input, counted back from the output", ylabel="share of the influence")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    for index, (name, share) in enumerate(shares.items()):
        style = look(name, index)
        _curve(ax, style, name, share)
        if name in fields:
            ax.axvline(fields[name], linewidth=1.2, label="_reach", color=style["color"], linestyle=style["linestyle"])
            name_at(ax, f"{fields[name]:,} inputs", (fields[name], 1), (4, -2), ("data", "axes fraction"), va="top")
    label_lines(ax)
    return fig


def _curve(ax: Axes, style: dict[str, Any], name: str, share: np.ndarray) -> None:
    """One model's line, shares (runs, T) with the most recent input first."""
    seen = np.where(share >= _FLOOR, share, np.nan)
    points = int(np.isfinite(seen).any(axis=0).sum())
    marks = np.unique(np.geomspace(1, points, 7).round().astype(int) - 1).tolist()  # equally far apart on the page
    line = bands(ax, seen, name, **style, markevery=marks)
    last = int(np.flatnonzero(share.any(axis=0))[-1])
    if last + 1 < share.shape[1] and np.isfinite(seen[:, last]).any():
        end, colour = np.nanmedian(seen[:, last]), line.get_color()
        ax.plot(last + 1, end, "x", color=colour, markersize=10, markeredgewidth=2.5, label="_end")
        ax.plot([last + 1] * 2, [end, _FLOOR / 3], color=colour, linestyle=":", linewidth=1.4, label="_end")


def influence_frames(sizes: Mapping[str, Any]) -> tuple[Figure, list[dict[str, Any]]]:
    """How strongly each input reaches one output, a bar each, one panel for each model; the output moves.

    A cross stands where the influence is exactly 0, the dotted line at the output.

    Parameters
    ----------
    sizes
        From a model's name to (T, T), row t the size of the derivative of output t by each input.

    Returns
    -------
    tuple[Figure, list[dict[str, Any]]]
        The figure, and a frame for each of the T outputs, for ``film`` or ``at_frame``.
    """
    maps = several("sizes", sizes, "T", "T", low=0)
    T, floor = len(next(iter(maps.values()))), 1e-6  # where the bars begin
    steps = np.arange(1, T + 1)
    fig, axes = plt.subplots(len(maps), 1, figsize=(5.8, 1.4 * len(maps)), sharex=True, sharey=True, squeeze=False)
    frames: list[dict[str, Any]] = [{} for _ in steps]
    for k, (ax, (name, values)) in enumerate(zip(axes.flat, maps.items(), strict=True)):
        bar: dict[str, Any] = {"linewidth": 130 / T, "linestyle": "-", "solid_capstyle": "butt"}
        ax.plot([1], [1], color=CYCLE[k % len(CYCLE)], gid=f"bars{k}", **bar)
        ax.plot([1], [1], "x", color=INK, markersize=6, gid=f"none{k}")
        ax.axvline(1, color=INK, linestyle=":", linewidth=1.4, gid=f"at{k}")
        ax.set(yscale="log", ylim=(floor, 20), xlim=(0.3, T + 0.7), xticks=steps, yticks=[1e-5, 1e-2, 1e1])
        ax.set_title(name, loc="left", fontsize=12)
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


def draw_weights_by_distance(weights: Mapping[str, Any], mean: float, likeness: Any, *, unit: str) -> Figure:
    """The mean weight at each distance, one panel a model and one line a head; below, what the data look like there.

    Parameters
    ----------
    weights
        By the panel's title, which begins with the model's name, (heads, N): entry d is the mean weight d steps back,
        as :func:`rtx_lib.diagnostics.attention.weight_by_distance` gives it.
    mean
        The weight that each key would get from a head that averages, drawn as a dashed line.
    likeness
        (n,), n at most N: entry d is how like what stands d steps back is to what is to be predicted, from
        0 to 1.
    unit
        What a step is, such as ``"frame"``.
    """
    arrays = several("weights", weights, "heads", "N", low=0)
    data = floats("likeness", likeness, "n")
    fig, axes = plt.subplots(len(arrays) + 1, 1, figsize=(5.8, 0.6 + 1.4 * (len(arrays) + 1)), sharex=True)
    for index, (ax, (title, lines)) in enumerate(zip(axes, arrays.items(), strict=False)):
        for line in lines:
            ax.plot(line, "-", color=look(title, index)["color"], linewidth=1, alpha=0.8)
        ax.axhline(mean, color=INK, linestyle=(0, (4, 3)), linewidth=1.2)
        ax.set(yscale="log", ylabel="weight", ylim=(1e-3, 0.6))
        ax.set_title(title, loc="left")
    axes[-1].plot(data, "-", color=INK)
    axes[-1].set(xlabel=f"distance back ({unit}s)", ylabel="likeness", ylim=(0, 1))
    axes[-1].set_title(f"the data: likeness to the next {unit}", loc="left")
    return fig


def draw_distance_bars(weights: Mapping[str, Any], trained: int, *, shown: int) -> Figure:
    """The mean weight at each distance as bars, one panel for each test; the largest names its distance.

    Parameters
    ----------
    weights
        By the panel's title (N,): entry d is the mean weight d steps back.
    trained
        The distances below this one, which occurred in training, are shaded.
    shown
        How many distances the axis holds.
    """
    arrays = several("weights", weights, "N", low=0)
    fig, axes = plt.subplots(len(arrays), 1, figsize=(5.8, 2.4 * len(arrays)), sharex=True, squeeze=False)
    for index, (ax, (title, line)) in enumerate(zip(axes[:, 0], arrays.items(), strict=True)):
        ax.vlines(np.arange(len(line)), 0, line, color=CYCLE[index % len(CYCLE)], linewidth=1.6)
        ax.axvspan(-0.5, trained - 0.5, color=GREY, alpha=0.15, linewidth=0)
        best = int(line.argmax())
        ax.annotate(f"{best} steps", (best, line[best]), (best + 4, line[best]), va="top")
        ax.set(ylabel="mean weight", xlim=(-1, shown), ylim=(0, max(0.05, 1.1 * float(line.max()))))
        ax.set_title(title, loc="left")
    axes[-1, 0].set_xlabel("distance to the key (steps); shaded: seen in training")
    return fig
