"""Runs over each other: one on the page over the recorded ones of its kind, and two that were trained in turns."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from rtx_lib.plots.curves import Record, bands, evaluations
from rtx_lib.plots.style import look


def draw_runs(
    ax: Axes,
    live: Mapping[str, tuple[Any, Any]],
    records: Mapping[str, Sequence[Record]],
    metric: str,
    *,
    looks: Mapping[str, str | int] | None = None,
) -> None:
    """How a metric grew: recorded runs as a band, and over it the run on the page, thin and dotted.

    The bands bear the names, for :func:`~rtx_lib.plots.curves.label_lines` or a legend; a run without records bears
    its name itself.

    Parameters
    ----------
    ax
        Axes to draw in.
    live
        By name the steps and values of the run on the page, such as ``history.curve("accuracy")``.
    records
        By name the recorded runs, where there are any.
    metric
        Of their evaluations.
    looks
        The models whose looks the names have; else those of the names themselves, or of the cycle in order.
    """
    for place, (name, (steps, values)) in enumerate(live.items()):
        style, recorded = look(looks.get(name, name) if looks else name, place), records.get(name)
        if recorded:
            at, rows = evaluations(recorded, metric)
            bands(ax, rows, name, steps=at, **style)
        line: dict[str, Any] = {"color": style["color"], "linestyle": ":", "linewidth": 1.2, "marker": "."}
        ax.plot(steps, values, label="_live" if recorded else name, **line)


def draw_side_by_side(ax: Axes, records: Sequence[Record], names: tuple[str, str], metric: str = "loss") -> None:
    """A metric of two models that were trained in turns for the same time, each of them a line with a band.

    In that time they make unequal numbers of steps. Both are drawn over the steps of the reference, so that points at
    one place took the same time.

    Parameters
    ----------
    ax
        Axes to draw in.
    records
        Runs of a recipe with a reference, one a seed.
    names
        Of the model and of the reference, for :func:`~rtx_lib.plots.curves.label_lines` or a legend.
    metric
        Of their evaluations.

    Raises
    ------
    ValueError
        If no evaluation has the metric of both.
    """
    for name, key in zip(names, (metric, f"reference_{metric}"), strict=True):
        steps, values = evaluations(records, key, at="reference_step")
        bands(ax, values, name, steps=steps)
