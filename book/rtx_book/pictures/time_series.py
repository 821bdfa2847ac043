"""Figures of the chapter on time series: a series and its season, forecasts that go on, and who errs how much."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rtx_book.page.runs import draw_strip_panels, draw_strips
from rtx_lib.plots.curves import label_lines, name_at, wrap
from rtx_lib.plots.style import CYCLE, GREY, INK, look, model_of


def draw_season(time: Any, values: Sequence[float], correlations: Sequence[float], season: int, unit: str) -> Figure:
    """A series over time, and below it how much it is like itself some steps earlier, its season marked.

    Parameters
    ----------
    time, values
        When and what was measured, not finite where nothing was.
    correlations
        Of the series with itself at lags 0, 1, 2, ...
    season
        The lag to be marked.
    unit
        Of the values.
    """
    fig, (above, below) = plt.subplots(2, 1, figsize=(5.8, 4.4))
    above.plot(time, values, color=CYCLE[0], linewidth=1)
    above.set(ylabel=unit)
    below.axhline(0, color=GREY, linewidth=0.8)
    below.vlines(np.arange(len(correlations)), 0, correlations, color=CYCLE[0], linewidth=1)
    below.plot([season], [correlations[season]], "o", color=CYCLE[1])
    name_at(below, f"{season} steps", (season, correlations[season]), (6, 4))
    below.set(xlabel="lag (steps)", ylabel="correlation", xlim=(-1, len(correlations)))
    return fig


def draw_forecasts(
    past: Sequence[float], truth: Sequence[float], forecasts: Mapping[str, Sequence[float]], unit: str
) -> Figure:
    """The end of a window, what followed it, and what each forecaster expected.

    Parameters
    ----------
    past, truth
        The window (L,), of which the last 104 values are drawn, and the values behind it.
    forecasts
        By name, one value for each of ``truth``.
    unit
        Of the values.
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.4))
    before, after = np.arange(-min(104, len(past)) + 1, 1), np.arange(1, len(truth) + 1)
    ax.plot([*before, *after], [*past[-len(before) :], *truth], color=INK, linewidth=1, linestyle="-", label="_true")
    ax.axvline(0, color=GREY, linewidth=0.8)
    others = [name for name in forecasts if not model_of(name)[0]]
    for name, row in forecasts.items():
        style = look(name, otherwise=(1, 4, 0)[others.index(name)] if name in others else None) | {"marker": ""}
        ax.plot(after, row, label=wrap(name, 12), **style)
    ax.set(xlabel="steps from the last one that was read", ylabel=unit)
    label_lines(ax, gap=2.5)
    return fig


def draw_lanes(errors: Mapping[str, Sequence[float]], lines: Mapping[str, float], metric: str) -> Figure:
    """A row for each model, the least error first, its runs as marks; a bar leads to them from what is to be beaten.

    Parameters
    ----------
    errors
        By model, one error for each run.
    lines
        What needs no training, or what was published, by name; the first is drawn.
    metric
        What the axis is called.
    """
    ordered = dict(sorted(errors.items(), key=lambda row: float(np.median(row[1]))))
    looks = {name: name if model_of(name)[0] else 1 for name in ordered}
    return draw_strips(ordered, metric, looks=looks, line=next((value, name) for name, value in lines.items()))


def draw_shares(shares: Mapping[str, Mapping[str, Sequence[float]]]) -> Figure:
    """A row for each model, a panel for each series: its errors as parts of that of a season ago.

    A dashed line stands at 1, a thin one at the least median.

    Parameters
    ----------
    shares
        By series and model, one share for each run.
    """
    fig = draw_strip_panels(shares, [1] * len(shares), "squared error, a season ago = 1")
    fig.axes[0].set_xscale("log")
    fig.axes[0].set_xticks([0.1, 1], ["0.1", "1"])
    fig.axes[0].minorticks_off()
    for ax, own in zip(fig.axes, shares.values(), strict=True):
        ax.axvline(min(np.median(row) for row in own.values()), color=INK, linewidth=0.8, label="_best")
    return fig


def describe_lanes(errors: Mapping[str, Sequence[float]], lines: Mapping[str, float]) -> str:
    """What :func:`draw_lanes` shows, in words: medians."""
    medians = {name: float(np.median(own)) for name, own in errors.items()} | dict(lines)
    return ", ".join(f"{name} {value:.3f}" for name, value in sorted(medians.items(), key=lambda row: row[1])) + "."


def draw_fan(past: Sequence[float], truth: Sequence[float], quantiles: np.ndarray, unit: str) -> Figure:
    """A forecast as its median and the interval around it, with what was read and what came.

    Parameters
    ----------
    past, truth
        As in :func:`draw_forecasts`.
    quantiles
        The low one, the median and the high one for each value of ``truth``, (F, 3).
    """
    fig, ax = plt.subplots(figsize=(5.8, 3.2))
    before, after = np.arange(-min(104, len(past)) + 1, 1), np.arange(1, len(truth) + 1)
    low, middle, high = np.asarray(quantiles).T
    ax.fill_between(after, low, high, color=CYCLE[0], alpha=0.25, label="_interval")
    ax.plot(after, middle, color=CYCLE[0], label="median")
    ax.plot(before, past[-len(before) :], color=INK, linewidth=1, linestyle="-", label="_past")
    ax.plot(after, truth, color=INK, linewidth=1, linestyle=":", label="what came")
    ax.set(xlabel="steps from the last one that was read", ylabel=unit)
    label_lines(ax)
    return fig
