"""What several chapters draw from records and from runs on the page: bands over seeds, baselines, labels at lines."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Annotation

from rtx_lib.plots.style import HALO, INK, look

Record = Mapping[str, Any]
"""One run as ``rtx_book.runs`` writes it: recipe, seed, commit, device, seconds, curves, metrics and more."""


def evaluations(records: Sequence[Record], metric: str, *, at: str = "step") -> tuple[np.ndarray, np.ndarray]:
    """One metric of the evaluations of several records, on common steps.

    Parameters
    ----------
    records
        The runs, whose ``evaluations`` hold the step and, in some of them, ``metric``.
    metric
        For example ``"accuracy"``.
    at
        Whose steps; ``"reference_step"`` are those of the reference of a run that was trained beside another.

    Returns
    -------
    tuple[np.ndarray, np.ndarray]
        Steps (N,) in order, all at which some run has the metric, and values (runs, N), NaN where a run has none.
    """
    rows = [{row[at]: row[metric] for row in record["evaluations"] if metric in row} for record in records]
    steps = sorted(set().union(*rows))
    if not steps:
        raise ValueError(f"metric must be one that the evaluations of the records have, got {metric!r}")
    return np.array(steps), np.array([[row.get(step, np.nan) for step in steps] for row in rows], dtype=float)


def smooth(values: Any, width: int) -> np.ndarray:
    """Mean over the last ``width`` points (fewer at the start) that are not NaN, along the last axis."""
    array = np.asarray(values, dtype=float)
    first = np.full((*array.shape[:-1], width - 1), np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(np.concatenate([first, array], axis=-1), width, axis=-1)
    return np.ma.array(windows, mask=np.isnan(windows)).mean(axis=-1).filled(np.nan)


def bands(ax: Axes, curves: Any, label: str, *, steps: Any = None, index: int | None = None, **line: Any) -> Line2D:
    """Median over the runs as a line, from least to greatest as a band behind it.

    Parameters
    ----------
    ax
        Axes to draw in.
    curves
        (runs, N), NaN where a run has no value; one run may be (N,).
    label
        The line's name, for :func:`label_lines` or a legend.
    steps
        (N,) places on the x axis; 1 to N by default.
    index
        Which colour, dash pattern and marker of the cycle; the next by default.
    line
        Further settings of the line.

    Returns
    -------
    Line2D
        The median's line.
    """
    values = np.atleast_2d(np.asarray(curves, dtype=float))
    if values.ndim != 2 or not np.isfinite(values).any():
        raise ValueError(f"curves must be (runs, N) and hold a finite value, got shape {values.shape}")
    places = np.arange(1, values.shape[1] + 1) if steps is None else np.asarray(steps, dtype=float)
    known = np.isfinite(values).any(axis=0)
    places, values = places[known], values[:, known]
    if index is None:
        index = sum(drawn.get_gid() is None and not str(drawn.get_label()).startswith("_") for drawn in ax.get_lines())
    every = {"markevery": (index % 4, max(1, len(places) // 6))}
    (drawn,) = ax.plot(places, np.nanmedian(values, axis=0), label=label, **look(index) | every | line)
    if len(values) > 1:
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        ax.fill_between(places, low, high, color=drawn.get_color(), alpha=0.22, linewidth=0)
    return drawn


def record_bands(ax: Axes, records: Mapping[str, Sequence[Record]], metric: str, **line: Any) -> None:
    """A metric of the evaluations of recorded runs: :func:`bands` for each name that has records.

    Parameters
    ----------
    ax
        Axes to draw in.
    records
        By name the runs of one kind; a name without records is passed over.
    metric
        For example ``"accuracy"``.
    line
        Further settings of the lines.
    """
    for name, found in records.items():
        if found:
            steps, values = evaluations(found, metric)
            bands(ax, values, name, steps=steps, **line)


def baseline(ax: Axes, value: float, label: str, *, at: float = 0.01) -> Line2D:
    """A dashed level line across the axes, named at its left end, or where ``at``, from 0 to 1, says."""
    line = ax.axhline(value, color=INK, linestyle=(0, (4, 3)), linewidth=1.2, label="_baseline")
    name_at(ax, label, (at, value), (0, 3), ("axes fraction", "data"), va="bottom")
    return line


def name_at(
    ax: Axes, text: str, at: tuple[float, float], shift: tuple[float, float], coordinates: Any = "data", **font: Any
) -> Annotation:
    """A small text that stands ``shift`` points away from a place, whatever the axes' limits; no line crosses it."""
    looks: dict[str, Any] = {"fontsize": 12, "gid": HALO} | font
    return ax.annotate(text, at, shift, coordinates, "offset points", **looks)


def wrap(name: str, width: int = 20) -> str:
    """A name longer than ``width`` in two lines, broken at the space nearest to its middle."""
    if len(name) <= width or " " not in name:
        return name
    middle = min((i for i, letter in enumerate(name) if letter == " "), key=lambda i: abs(i - len(name) / 2))
    return f"{name[:middle]}\n{name[middle + 1 :]}"


def label_lines(ax: Axes, *, gap: float = 1.2, fontsize: float = 12) -> None:
    """Name each labelled line at its right end instead of in a legend; names are moved apart where they would overlap.

    Call it last: it needs the axes' final limits. Labels that start with an underscore are left out.

    Parameters
    ----------
    ax
        Axes with labelled lines.
    gap
        Least distance of two names, in units of the font size.
    fontsize
        In points.
    """
    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()  # settles the layout
    points = 72 / figure.dpi
    bottom, top = (ax.bbox.y0 * points, ax.bbox.y1 * points)
    ends = []
    for line in ax.get_lines():
        seen = np.asarray(line.get_xydata(), dtype=float)
        seen = seen[np.isfinite(seen).all(axis=1)]
        if len(seen) and not str(line.get_label()).startswith("_"):
            height = float(line.get_transform().transform(seen[-1])[1]) * points
            ends.append((min(max(height, bottom), top), tuple(seen[-1]), line))
    ends.sort(key=lambda item: item[0])
    places = spread([height for height, *_ in ends], gap * fontsize, bottom, top)
    shifts = [place - height for place, (height, *_) in zip(places, ends, strict=True)]
    crowded = any(abs(shift) > 0.4 * fontsize for shift in shifts)
    for shift, (_, end, line) in zip(shifts, ends, strict=True):
        leader = {"arrowstyle": "-", "color": line.get_color(), "shrinkA": 1, "shrinkB": 4, "relpos": (0, 0.5)}
        font: dict[str, Any] = {"va": "center", "fontsize": fontsize, "annotation_clip": False}
        away = (20 if crowded else 7, shift)
        name_at(ax, str(line.get_label()), end, away, arrowprops=leader if crowded else None, **font)


def error_axes(ax: Axes, *levels: float, **settings: Any) -> None:
    """Finish the axes of errors during training: a logarithmic axis, dashed levels, and names at the lines' ends.

    Call it last, as :func:`label_lines`.

    Parameters
    ----------
    ax
        Axes with labelled lines.
    levels
        Errors to compare with, such as that of an empty memory; the caption says what each is.
    settings
        Of the axes, such as ``xlim``; the labels of both axes may be given, too.
    """
    ax.set(**{"yscale": "log", "xlabel": "training step", "ylabel": "validation error (MSE)"} | settings)
    for level in levels:
        baseline(ax, level, "")
    label_lines(ax)


def spread(heights: Sequence[float], gap: float, bottom: float, top: float) -> list[float]:
    """Ascending heights moved as little as need be (least squares) to lie ``gap`` apart between bottom and top."""
    # With i * gap taken off, "at least gap apart" reads "not decreasing": isotonic regression by pooling neighbours.
    pools: list[tuple[float, int]] = []
    for i, height in enumerate(heights):
        mean, size = height - i * gap, 1
        while pools and pools[-1][0] > mean:
            other, count = pools.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        pools.append((mean, size))
    level = [mean for mean, size in pools for _ in range(size)]
    highest = max(bottom, top - (len(level) - 1) * gap)
    return [min(max(value, bottom), highest) + i * gap for i, value in enumerate(level)]


def provenance(records: Sequence[Record] | Mapping[Any, Sequence[Record]]) -> str:
    """How many runs and seeds a figure shows, as HTML for its caption; folded behind it machine, commits and recipes.

    A recipe is named in a ``<span data-recipe>``, which the book's site makes a link: elsewhere one would lead nowhere.

    Parameters
    ----------
    records
        The runs drawn, in one list or in a list for each name.
    """
    if isinstance(records, Mapping):
        records = [record for found in records.values() for record in found]
    if not records:
        raise ValueError("records must hold at least one record, got none")
    seeds = sorted({int(record["seed"]) for record in records})
    whole = len(seeds) > 5 and seeds[-1] - seeds[0] < len(seeds)
    which = f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))
    steps = sorted({int(record["configuration"]["steps"]) for record in records})
    devices = sorted({f"{r['device']['name']}, {_plural(r['device'].get('threads') or 1, 'thread')}" for r in records})
    commits = sorted({str(record["commit"])[:7] for record in records})
    seconds = sum(float(record["seconds"]) for record in records)
    took = f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
    made = f"{' and '.join(devices)}; commit{'s' * (len(commits) > 1)} {', '.join(commits)}; {took} in all"
    rates = " to ".join(dict.fromkeys(f"{pick(r['configuration']['lr'] for r in records):g}" for pick in (min, max)))
    recipes: dict[str, list[str]] = {}
    for record in records:
        recipes.setdefault(str(record["recipe"]), []).append(f"s{record['seed']}")
    told = ((html.escape(recipe), " ".join(own)) for recipe, own in recipes.items())
    named = "; ".join(f'<span data-recipe="{recipe}">{recipe}</span> {own}' for recipe, own in told)
    length = " to ".join(dict.fromkeys(f"{step:,}" for step in (steps[0], steps[-1])))
    least, most = (end(map(len, recipes.values())) for end in (min, max))
    each = (f"{least} to " if least < most else "") + _plural(most, "seed") + " each" * (len(recipes) > 1)
    where = "one processor" if len(devices) == 1 else f"{len(devices)} devices"
    return (
        f"{_plural(len(records), 'recorded run')} of {length} steps, {each} ({which}), {where}. "
        f"<details><summary>Where they come from</summary>{html.escape(made)}. "
        f"Learning rate {rates}, chosen as the page of records says. Records: {named}</details>"
    )


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
