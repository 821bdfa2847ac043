"""What a memory gains and saves: losses along a segment, against memory and against context, and a token's cost."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from rtx_lib.plots.arrays import check_least, floats, several
from rtx_lib.plots.curves import bands, baseline, label_lines, name_at
from rtx_lib.plots.style import INK, look

_LOSS = "loss (nats a character)"


def memory_look(name: str, index: int) -> dict[str, Any]:
    """Like :func:`~rtx_lib.plots.style.look`: "memory 64" is a Transformer-XL, "no memory" stands apart from it."""
    kinds: dict[str, str | int] = {"memory": "transformer-xl", "no memory": 1}
    return look(next((model for start, model in kinds.items() if name.startswith(start)), name), index)


def _level(ax: Axes, value: float, name: str) -> None:
    """A dashed line across the axes that bears its name at the right, as the curves do: on it they would cross it."""
    ax.plot(ax.get_xlim(), [value, value], color=INK, linestyle=(0, (4, 3)), linewidth=1.2, label=name)


def draw_position_losses(
    losses: Mapping[str, Any], *, repeats: int, line: tuple[float, str] | None = None, height: float = 3.6
) -> Figure:
    """Mean loss at each position of a segment: without memory it is high behind every border.

    Parameters
    ----------
    losses
        By name, (T,) or (seeds, T), in one unit; of seeds the median as a line and the range as a band.
    repeats
        How often the segment is drawn, one behind the other, so that borders stand inside the picture.
    line
        A loss to compare with, as a dashed line, and its name.
    height
        Of the figure, in inches.

    Raises
    ------
    ValueError
        If nothing is given, the shapes do not fit, a loss is not finite, or ``repeats`` is below 1.
    """
    check_least(1, repeats=repeats)
    curves = several("losses", losses, "[seeds]", "T", same="T")
    length = next(iter(curves.values())).shape[1]
    fig, ax = plt.subplots(figsize=(5.8, height))
    for index, (name, curve) in enumerate(curves.items()):
        for r in range(repeats):  # one line for each segment: it breaks at the border
            label = name if r == repeats - 1 else f"_{name}"
            bands(ax, curve, label, steps=np.arange(1, length + 1) + r * length, **memory_look(name, index))
    for border in range(length, repeats * length, length):
        ax.axvline(border + 0.5, color=INK, linewidth=1.3, linestyle=(0, (2, 2)), label="_border")
        name_at(ax, "border", (border + 0.5, 1), (0, 3), ("data", "axes fraction"), ha="center")
    marks = (1, *(round(length * part / 4) for part in (1, 2, 3)))
    places = {r * length + mark: str(mark) for r in range(repeats) for mark in marks} | {repeats * length: str(length)}
    ax.set_xticks(list(places), list(places.values()))
    ax.set(xlim=(0.5, repeats * length + 0.5), xlabel="position in the segment", ylabel=_LOSS)
    if line:
        _level(ax, *line)
    label_lines(ax)
    return fig


def draw_costs(lengths: Sequence[int], ratios: Mapping[str, Any], published: Mapping[int, float]) -> Figure:
    """How many times longer a sliding window takes for a token than a memory does, on two logarithmic axes.

    Parameters
    ----------
    lengths
        Attention lengths in tokens, rising.
    ratios
        By name of what was timed, (lengths,) or (runs, lengths): time for a token with a sliding window over
        time with a memory.
    published
        Ratios by attention length from Dai et al. 2019, drawn as hollow diamonds, the outermost with their numbers.

    Raises
    ------
    ValueError
        If nothing is given, the shapes do not fit, the lengths do not rise, or a value is not above 0.
    """
    if not len(lengths) or list(lengths) != sorted(set(lengths)) or lengths[0] <= 0:
        raise ValueError(f"lengths must be above 0 and rise, got {list(lengths)}")
    curves = several("ratios", ratios, "[runs]", len(lengths))
    if (
        not published
        or min(*published, *published.values()) <= 0
        or any((curve <= 0).any() for curve in curves.values())
    ):
        raise ValueError(f"ratios and published must hold values above 0, got {dict(ratios)} and {published}")
    fig, ax = plt.subplots(figsize=(5.8, 4.2))
    ax.set(xscale="log", yscale="log")
    ax.margins(x=0.08)
    for index, (name, curve) in enumerate(curves.items()):
        bands(ax, curve, name, steps=lengths, index=index, markevery=1)
    beyond = max(published) > lengths[-1]  # points stand where names at the ends of the lines would
    ring: dict[str, Any] = {"linestyle": "none", "marker": "D", "markersize": 7, "markerfacecolor": "none"}
    ring |= {"color": INK, "markeredgewidth": 1.6}
    (points,) = ax.plot(list(published), list(published.values()), label="_published", **ring)
    line = np.median(next(iter(curves.values())), axis=0)
    for length in sorted({min(published), max(published)}):  # numbers at all of them would touch
        above = published[length] > np.interp(length, lengths, line)  # away from the first curve
        shift, ha, va = ((-7, 2), "right", "bottom") if above else ((7, -2), "left", "top")
        name_at(ax, f"{published[length]:,.4g}", (length, published[length]), shift, ha=ha, va=va)
    named = dict(zip(curves, ax.get_lines(), strict=False)) if beyond else {}
    ax.legend([*named.values(), points], [*named, "Dai et al. 2019"], loc="upper left")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
        axis.set_minor_formatter(NullFormatter())
    ax.set(xlabel="attention length (tokens)", ylabel="sliding window / memory,\ntime per token (ratio)")
    if not beyond:
        label_lines(ax)
    return fig


def draw_test_memory(
    losses: Mapping[str, Any], memories: Sequence[int], *, trained: Mapping[str, int], line: Any = None
) -> Figure:
    """Loss against the memory that a model is tested with; the memory of its training is ringed.

    Parameters
    ----------
    losses
        By name, (memories,) or (seeds, memories); of seeds the median as a line and the range as a band.
    memories
        Lengths in positions, drawn at equal distances whatever they are.
    trained
        For each name, with which of the memories it was trained.
    line
        A loss to compare with, as a dashed line, and its name.

    Raises
    ------
    ValueError
        If nothing is given, the shapes do not fit, a loss is not finite, or a name of ``losses`` has no
        memory of its training among ``memories``.
    """
    places = list(memories)
    for name in losses:
        if trained.get(name) not in places:
            raise ValueError(f"trained must be one of {places} for {name!r}, got {trained.get(name)}")
    curves = several("losses", losses, "[seeds]", len(places))
    fig, ax = plt.subplots(figsize=(5.8, 4.4 if line else 3.9))
    for index, (name, curve) in enumerate(curves.items()):
        at = places.index(trained[name])
        drawn = bands(ax, curve, name, steps=range(len(places)), **memory_look(name, index) | {"markevery": 1})
        ring: dict[str, Any] = {"markersize": 14, "markerfacecolor": "none", "markeredgewidth": 1.6}
        ax.plot(at, np.median(curve, axis=0)[at], "o", color=drawn.get_color(), label="_trained", **ring)
    ax.set_xticks(range(len(places)), [f"{memory:,}" for memory in places])
    ax.set(xlabel="memory in the test (positions)", ylabel=f"test {_LOSS}", xlim=(-0.3, len(places) - 0.7))
    if line:
        _level(ax, *line)
    label_lines(ax)
    return fig


def draw_context_use(
    effects: Mapping[str, tuple[Any, Any]],
    losses: Mapping[str, Any],
    contexts: Sequence[int],
    reach: Mapping[str, int],
    *,
    line: tuple[float, str] | None = None,
) -> Figure:
    """How far back one character has an effect, above how far back more context lowers the loss.

    Parameters
    ----------
    effects
        By name, how many characters back and how much changing that one changes the prediction, both (N,).
        An effect of 0 is left out, as the axis is logarithmic.
    losses
        By name, the mean loss with each context, (C,).
    contexts
        The C lengths, rising.
    reach
        By name, how many characters the architecture can see; drawn as a vertical line.
    line
        A loss to compare with, as a dashed line below, and its name.

    Raises
    ------
    ValueError
        If nothing is given, the shapes do not fit, a value is not finite, or a reach is of no name above.
    """
    curves = several("losses", losses, "[seeds]", len(contexts))
    names = list(dict.fromkeys([*effects, *curves]))
    if unknown := sorted(set(reach) - set(names)):
        raise ValueError(f"reach must name only {names}, got {unknown}")
    pairs = {}
    for name, given in effects.items():
        sizes: dict[str, int] = {}
        pairs[name] = [floats(f"effects[{name!r}]", side, "N", sizes=sizes) for side in given]
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(5.8, 6.0), sharex=True)
    for name, (distances, effect) in pairs.items():
        (colour, dash, _), seen = memory_look(name, names.index(name)).values(), effect > 0
        top.plot(distances[seen], effect[seen], color=colour, linestyle=dash, label=name)
    for name, curve in curves.items():
        bands(bottom, curve, name, steps=contexts, **memory_look(name, names.index(name)), markevery=1)
    for axes in (top, bottom):
        for name, length in reach.items():
            colour, dash, _ = memory_look(name, names.index(name)).values()
            axes.axvline(length, color=colour, linestyle=dash, linewidth=1.4, label="_reach")
    top.set(yscale="log", ylabel="effect of one character\n(largest change of a logit)")
    bottom.set(xlim=(0, max([contexts[-1], *reach.values()]) + 8), ylabel=_LOSS)
    bottom.set_xlabel("characters back (above); context given (below)")
    if line:
        baseline(bottom, *line, at=0.35)  # between the vertical lines
    top.legend(loc="upper center")  # at the ends of its lines the names would stand on the others
    label_lines(bottom)
    return fig
