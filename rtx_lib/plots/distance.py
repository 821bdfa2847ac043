"""How much attention goes how far back: a panel for each model, a line for each head."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rtx_lib.plots.arrays import floats, several
from rtx_lib.plots.style import CYCLE, GREY, INK


def draw_weights_by_distance(
    weights: Mapping[str, Any], mean: float, likeness: Any, *, unit: str, floor: float = 1e-3
) -> Figure:
    """The mean weight at each distance, one panel a model and one line a head; below, what the data look like there.

    Parameters
    ----------
    weights
        By the panel's title (heads, N): entry d is the mean weight d steps back, as
        :func:`rtx_lib.diagnostics.attention.weight_by_distance` gives it.
    mean
        The weight that each key would get from a head that averages, drawn as a dashed line.
    likeness
        (n,), n at most N: entry d is how like what stands d steps back is to what is to be predicted, from
        0 to 1.
    unit
        What a step is, such as ``"frame"``.
    floor
        The smallest weight that is drawn.

    Raises
    ------
    ValueError
        If there is no model, an array has another shape, or a weight is negative or not finite.
    """
    arrays = several("weights", weights, "heads", "N", low=0)
    data = floats("likeness", likeness, "n")
    if len(data) > (least := min(lines.shape[1] for lines in arrays.values())):
        raise ValueError(f"likeness must have at most as many entries as a head ({least}), got {len(data)}")
    fig, axes = plt.subplots(len(arrays) + 1, 1, figsize=(5.8, 0.6 + 1.9 * len(arrays) + 1.9), sharex=True)
    for index, (ax, (title, lines)) in enumerate(zip(axes, arrays.items(), strict=False)):
        for line in lines:
            ax.plot(line, "-", color=CYCLE[index % len(CYCLE)], linewidth=1, alpha=0.8)
        ax.axhline(mean, color=INK, linestyle=(0, (4, 3)), linewidth=1.2)
        ax.set(yscale="log", ylabel="weight", ylim=(floor, 0.6))
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

    Raises
    ------
    ValueError
        If there is no panel, or weights are not (N,), negative or not finite.
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
    axes[-1, 0].set_xlabel("distance to the key (steps); shaded: distances of the training")
    return fig
