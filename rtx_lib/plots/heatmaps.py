"""Attention weights as cells, one map or several, and as lines between words read and words written."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from rtx_lib.plots.curves import name_at
from rtx_lib.plots.style import CYCLE, GREY, INK, literal

Point = tuple[float, float]


Words = Sequence[str]
_NUMBERED = 12  # at most so many tokens: numbers fit in the cells
_SLANTED = 16  # at most so many columns: their tokens may lie at an angle without touching


def heatmap_size(rows: Words, columns: Words) -> Point:
    """The figure size, in inches, in which :func:`attention_heatmap` reads well, for example 6 x 6 for 40 x 40 tokens.

    Parameters
    ----------
    rows
        The T query tokens.
    columns
        The S key tokens.
    """
    most = max(len(rows), len(columns))
    cell = 0.38 if most <= _NUMBERED else 1.25 * _font_size(most) / 72
    letter = 0.6 * _font_size(most) / 72
    left = letter * max(map(len, rows)) + 0.4
    top = letter * max(map(len, columns)) * (0.75 if len(columns) <= _SLANTED else 1) + 0.4
    return max(2.5, left + cell * len(columns) + 0.3), max(2.0, top + cell * len(rows) + 0.3)


def _font_size(most: int) -> float:
    return min(11.0, max(7.5, 200 / most))


def attention_heatmap(
    ax: Axes, weights: Any, rows: Words, columns: Words, *, numbers: bool | None = None, note: bool = True
) -> None:
    """One head's weights as cells: the stronger, the more of one colour; with numbers where they fit.

    Parameters
    ----------
    ax
        Axes to draw in; for up to 40 x 40 tokens in a figure of :func:`heatmap_size`.
    weights
        (T, S), at least 0; row i is how query i spreads over the S keys.
    rows
        The T query tokens.
    columns
        The S key tokens.
    numbers
        Write each weight of 0.05 and more in its cell; by default where there are at most 12 x 12. Without
        them a thin line after every fifth token leads the eye.
    note
        Say below a map without numbers which weight the fullest colour stands for.
    """
    cells = floats("weights", weights, len(rows), len(columns), low=0)
    numbers = max(cells.shape) <= _NUMBERED if numbers is None else numbers
    strongest = float(cells.max())
    # No weight is the page's own background, light or dark. Below 0.75 the numbers keep their contrast.
    paint(ax, tint((0.75 if numbers else 1) * cells / max(strongest, 1e-12)), "equal")
    size = _font_size(max(cells.shape))
    angle: dict[str, Any] = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
    angle = angle if len(columns) <= _SLANTED else {"rotation": 90}
    ax.set_xticks(range(len(columns)), map(literal, columns), fontsize=size, **angle)
    ax.set_yticks(range(len(rows)), map(literal, rows), fontsize=size)
    name_above(ax, "attends to (key)", "query")
    if numbers:
        for i, j in zip(*np.nonzero(cells >= 0.05), strict=True):
            word(ax, j, i, f"{cells[i, j]:.2f}".lstrip("0"), fontsize=9)
        return
    for guide, count in ((ax.axhline, len(rows)), (ax.axvline, len(columns))):
        for after in range(5, count, 5):
            guide(after - 0.5, color=GREY, alpha=0.4, linewidth=0.6, linestyle="-")
    if note:
        text = f"fullest colour = {strongest:.2f}"
        name_at(ax, text, (1, 0), (0, -4), "axes fraction", ha="right", va="top", fontsize=12)


def attention_panels(
    maps: Mapping[str, tuple[Any, Words, Words]], *, xlabel: str, ylabel: str, figsize: Point = (7.4, 3.9)
) -> Figure:
    """Several maps side by side, in widths that follow their columns, without numbers.

    Parameters
    ----------
    maps
        By title: weights (T, S), the T queries and the S keys, as :func:`attention_heatmap` takes them. Where
        all have the same queries, these are named once.
    xlabel
        What the columns are.
    ylabel
        What the rows are.
    figsize
        In inches.
    """
    queries = [list(rows) for _, rows, _ in maps.values()]
    alike = all(rows == queries[0] for rows in queries)
    widths = [len(columns) for _, _, columns in maps.values()]
    fig, axes = plt.subplots(1, len(maps), figsize=figsize, width_ratios=widths, squeeze=False)
    for place, (ax, (title, (weights, rows, columns))) in enumerate(zip(axes[0], maps.items(), strict=True)):
        attention_heatmap(ax, weights, rows, columns, numbers=False, note=False)
        ax.set(xlabel=xlabel, ylabel="" if alike and place else ylabel)
        ax.set_title(title, pad=10)
        if max(map(len, columns)) <= 2:  # such names need no angle
            plt.setp(ax.get_xticklabels(), rotation=0, ha="center")
        if alike and place:
            ax.set_yticklabels([])
    return fig


def attention_stack(maps: Mapping[str, Any], rows: Words, columns: Words, *, border: int) -> Figure:
    """Several maps of the same tokens one below the other, each as large as :func:`heatmap_size` has it.

    Parameters
    ----------
    maps
        Weights (T, S) by title.
    rows
        The T query tokens.
    columns
        The S key tokens; their names stand upright.
    border
        M, where the first M keys are a memory and the others the segment: a line between them. A caption says
        which is which.
    """
    width, height = heatmap_size(rows, columns)
    fig, axes = plt.subplots(len(maps), 1, figsize=(width, len(maps) * height), squeeze=False)
    for ax, (title, weights) in zip(axes[:, 0], maps.items(), strict=True):
        attention_heatmap(ax, weights, rows, columns)
        ax.axvline(border - 0.5, color=INK, linewidth=1.6, linestyle="-", gid="border")
        ax.tick_params(axis="x", labelrotation=0)
        ax.set_title(title, loc="left")
    return fig


def describe_alignment(source: Words, target: Words, weights: Any) -> str:
    """What :func:`draw_alignment` draws, in words: where each looks most, "drei at three, und at fifty".

    Parameters
    ----------
    source
        The S words that were read.
    target
        The T words that were written.
    weights
        (T, S), what the row's word gives to each word of the source.
    """
    array = floats("weights", weights, len(target), len(source), low=0)
    return ", ".join(f"{text} at {source[s]}" for text, s in zip(target, array.argmax(axis=1), strict=True))


def draw_alignment(source: Words, target: Words, weights: Any, *, marked: Collection[int], rows: int) -> Figure:
    """Two columns of words, and a line from each written word to each word that it looked at, the thicker the more.

    Weights up to 0.15 are not drawn.

    Parameters
    ----------
    source
        The S words that were read, on the left.
    target
        The T words that were written, on the right.
    weights
        (T, S), what the row's word gives to each word of the source; at least 0.
    marked
        Rows whose lines have the second colour.
    rows
        The height is that of so many words at least, so that figures of several sentences are of one size.
    """
    array = floats("weights", weights, len(target), len(source), low=0)
    if not set(marked) <= set(range(len(target))):
        raise ValueError(f"marked must hold rows from 0 to {len(target) - 1}, got {sorted(marked)}")
    count = max(rows, *array.shape)
    fig, ax = plt.subplots(figsize=(5.4, 0.5 + 0.33 * count))
    ax.set_axis_off()
    ax.set(xlim=(-0.75, 1.75), ylim=(-count + 0.4, 1.3))
    columns = ((source, "read", "right"), (target, "written", "left"))
    heights = [(len(words) - count) / 2 - np.arange(len(words)) for words, _, _ in columns]
    for x, (words, title, side) in enumerate(columns):
        ax.text(x, 1.0, title, ha=side, style="italic")
        for text, height in zip(words, heights[x], strict=True):
            ax.text(x, height, literal(text), ha=side, va="center")
    for t, s in np.argwhere(array > 0.15):
        look = {"linewidth": 4 * array[t, s], "alpha": min(1, 0.25 + array[t, s]), "solid_capstyle": "butt"}
        ax.plot([0.03, 0.97], [heights[0][s], heights[1][t]], "-", color=CYCLE[1] if t in marked else CYCLE[0], **look)
    return fig


# ------------------------------------------------------------------------------------------------ cells and words


def tint(strength: np.ndarray, colours: tuple[str, str] = (CYCLE[0], CYCLE[0])) -> np.ndarray:
    """Cells as RGBA: the size of ``strength`` (at most 1) is the opacity, its sign chooses out of (minus, plus)."""
    image = np.empty((*strength.shape, 4))
    image[..., :3] = np.where(strength[..., None] > 0, to_rgb(colours[1]), to_rgb(colours[0]))
    image[..., 3] = np.abs(np.nan_to_num(strength))
    return image


def paint(ax: Axes, image: np.ndarray, aspect: Any = "auto", **place: Any) -> None:
    """The cells of :func:`tint` in a thin frame, without grid and tick marks."""
    ax.imshow(image, interpolation="none", aspect=aspect, **place)
    ax.grid(False)
    ax.tick_params(length=0)
    ax.spines[:].set(visible=True, color=GREY, linewidth=0.6)


def name_above(ax: Axes, xlabel: str, ylabel: str) -> None:
    """Name both axes, with columns named above the picture."""
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.set(xlabel=xlabel, ylabel=ylabel)


def word(ax: Axes, x: float, y: float, text: str, **font: Any) -> None:
    """A text in the middle of (x, y), over what is drawn there."""
    look: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 5}
    ax.text(x, y, text, **look | font)


def floats(
    name: str,
    values: Any,
    *sides: int | str,
    low: float = -np.inf,
    high: float = np.inf,
    finite: bool = True,
    sizes: dict[str, int] | None = None,
) -> np.ndarray:
    """``values``, an array, a tensor or nested lists, as floats of one shape, finite and from ``low`` to ``high``.

    Parameters
    ----------
    sides
        The shape: numbers, or names for any size from 1, the same where the name is. A first one in brackets, such as
        ``"[runs]"``, may be missing and is added.
    finite
        False where values are not looked at, such as where NaN says that something is missing.
    sizes
        Sizes of names that are known; those that are found are added.
    """
    array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values, dtype=float)
    sizes = {} if sizes is None else sizes
    shape = ", ".join(str(sizes.get(str(side), side)) for side in sides) + "," * (len(sides) == 1)
    given = array.shape
    if str(sides[0]).startswith("[") and array.ndim == len(sides) - 1:
        array = array[None]
    known = []
    for side, size in zip(sides, array.shape, strict=False):
        known.append(side if isinstance(side, int) else sizes.setdefault(side, size))
    if array.shape != tuple(known) or len(sides) != array.ndim or not array.size:
        raise ValueError(f"{name} must have shape ({shape}), got {given}")
    if finite and not (np.isfinite(array) & (low <= array) & (array <= high)).all():
        bounds = f" and from {low:g} to {high:g}" if high < np.inf else f" and at least {low:g}" * (low > -np.inf)
        raise ValueError(f"{name} must be finite{bounds}, got values from {array.min():g} to {array.max():g}")
    return array
