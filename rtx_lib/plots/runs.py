"""A run on the page over the recorded runs of the same kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from rtx_lib.plots.curves import Record, bands, evaluations
from rtx_lib.plots.style import CYCLE


def draw_runs(
    ax: Axes,
    live: Mapping[str, tuple[Any, Any]],
    records: Mapping[str, Sequence[Record]],
    metric: str,
    *,
    looks: Mapping[str, int] | None = None,
) -> None:
    """How a metric grew: recorded runs as a band, and over it the run on the page, thin and dotted.

    The bands bear the names, for :func:`~rtx_lib.plots.curves.label_lines` or a legend; a run without records bears
    its name itself.

    Args:
        ax: axes to draw in.
        live: by name the steps and values of the run on the page, such as ``history.curve("accuracy")``.
        records: by name the recorded runs, where there are any.
        metric: of their evaluations.
        looks: which colour, dashes and marker of the cycle a name has; in order by default.
    """
    for place, (name, (steps, values)) in enumerate(live.items()):
        look = place if looks is None else looks[name]
        recorded = records.get(name)
        if recorded:
            at, rows = evaluations(recorded, metric)
            bands(ax, rows, name, steps=at, index=look)
        ax.plot(steps, values, color=CYCLE[look % len(CYCLE)], linestyle=":", linewidth=1.2, marker=".",
                label="_live" if recorded else name)  # fmt: skip
