"""Receptive fields that grow as layers are added: which inputs the last output can see, for several models.

The reach of every layer is handed in as it was measured (:func:`rtx_lib.diagnostics.paths.effects`), reach[l, t, s]
(L, T, T) being True where output t of layer l + 1 reads output s of the layer below, input s for the first.
"""

import html
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from matplotlib.figure import Figure

from rtx_lib.plots.arrays import floats, several
from rtx_lib.plots.diagram import links, word
from rtx_lib.plots.explorer import MOVE, control, stack_frames
from rtx_lib.plots.figure import in_page, scroll_box
from rtx_lib.plots.style import GREY, look
from rtx_lib.plots.words import listed

_SIZE = 8.5  # of a circle, in points


def seen(reach: Any, layers: int, *, chained: bool = False) -> np.ndarray:
    """What of the inputs, row 0, and of each layer has a way to the last output of so many: (layers + 1, T) bool.

    Parameters
    ----------
    reach
        Of every layer, (L, T, T) bool.
    layers
        How many of them stand on one another, from 1 to L.
    chained
        Whether each output of a layer also reads the output before it in the same layer, as a recurrent state does.

    Raises
    ------
    ValueError
        For another shape, or ``layers`` out of its range.
    """
    reach = floats("reach", reach, "L", "T", "T", low=0, high=1) > 0
    if not 1 <= layers <= len(reach):
        raise ValueError(f"layers must be from 1 to {len(reach)}, got {layers}")
    lit = np.zeros((layers + 1, reach.shape[1]), dtype=bool)
    lit[layers, -1] = True
    for row in range(layers, 0, -1):
        if chained:  # all that come before one that is read
            lit[row] = np.logical_or.accumulate(lit[row, ::-1])[::-1]
        lit[row - 1] = reach[row - 1][lit[row]].any(0)
    return lit


def draw_field(reach: Any, layers: int, name: str, *, chained: bool = False, place: int = 0) -> Figure:
    """The inputs that the last output sees through the first ``layers`` layers, with every way that leads to it.

    Filled circles and coloured lines have a way to the last output, grey and empty ones have none; layers that are not
    there yet are dotted.

    Parameters
    ----------
    reach, layers, chained
        As in :func:`seen`.
    name
        The model's, whose look it has.
    place
        Which colour of the cycle to take where the name is no model's.
    """
    lit = seen(reach, layers, chained=chained)
    (deepest, length, _), colour = np.shape(reach), look(name, place)["color"]
    fig, ax = plt.subplots(figsize=(5.8, 0.75 * deepest + 0.95))
    below = [(row, t, s) for row in range(1, layers + 1) for t, s in np.argwhere(reach[row - 1]).tolist()]
    ways = [(lit[row, t], ((t, row), (s, row - 1))) for row, t, s in below]
    if chained:
        ways += [(lit[row, t], ((t, row), (t - 1, row))) for row in range(1, layers + 1) for t in range(1, length)]
    links(ax, [ends for on, ends in ways if not on], color=GREY, linewidth=0.6, alpha=0.4, zorder=1)
    lit_ways = [ends for on, ends in ways if on]
    links(ax, lit_ways, color=colour, linewidth=1.5 if len(lit_ways) < 100 else 0.6, zorder=2)  # many run together
    for row in range(deepest + 1):
        there = lit[row] if row <= layers else np.zeros(length, dtype=bool)
        size = _SIZE if row <= layers else 2
        for places, edge, fill in ((~there, GREY, "none"), (there, colour, colour)):
            look_of: dict[str, Any] = {"markeredgecolor": edge, "markerfacecolor": fill, "markersize": size}
            ax.plot(np.flatnonzero(places), np.full(places.sum(), row), "o", zorder=3, **look_of)
        word(ax, -0.8, row, f"layer {row}" if row else "inputs", ha="right")
    for t in (0, length - 1):
        word(ax, t, -0.55, str(t + 1))
    ax.set_title(f"{name}, {_layers(layers)}: {lit[0].sum()} of {length} inputs")
    ax.set(xlim=(-3.4, length - 0.4), ylim=(-0.85, deepest + 0.4))
    ax.set_axis_off()
    return fig


def describe_field(reach: Any, layers: int, name: str, *, chained: bool = False) -> str:
    """What :func:`draw_field` shows for these arguments, in words."""
    (field, *_), length = seen(reach, layers, chained=chained), np.shape(reach)[1]
    if not field.any():
        return f"{name}, {_layers(layers)}: output {length} sees no input."
    furthest = int(field.argmax()) + 1
    where = f"all {length} inputs" if field.all() else f"{field.sum()} of {length} inputs, from input {furthest} on"
    return f"{name}, {_layers(layers)}: output {length} sees {where}."


def field_explorer(models: Mapping[str, Any], *, chained: Collection[str] = (), caption: str | None = None) -> HTML:
    """A choice of the model and a slider for its layers; works in Jupyter, in Colab and on a page without a kernel.

    The line above says which of them see all inputs after one layer, and how many the others see with all theirs.

    Parameters
    ----------
    models
        By name, the reach of every layer, all of one shape (L, T, T), L at least 2. About 20 frames at most.
    chained
        Names of those whose layers have a state that goes from output to output; their reach is without it.
    caption
        Line below, as HTML.

    Raises
    ------
    ValueError
        If there is no model, shapes differ, a name in ``chained`` is none of theirs, or the explorer exceeds 600 kB.
    """
    models = several("models", models, "L", "T", "T", same="LT", low=0, high=1)
    depth, length, _ = next(iter(models.values())).shape
    if depth < 2:
        raise ValueError(f"models must have at least 2 layers, got {depth}")
    if unknown := set(chained) - set(models):
        raise ValueError(f"chained must be of the models {list(models)}, got {sorted(unknown)}")
    places = {name: place for place, name in enumerate(models)}
    frames = [(name, layers) for name in models for layers in range(1, depth + 1)]
    fields = {(name, n): seen(models[name], n, chained=name in chained)[0].sum() for name, n in frames}
    drawn = (draw_field(models[name], n, name, chained=name in chained, place=places[name]) for name, n in frames)
    labels = [f"{_layers(n)}: {fields[name, n]} of {length}" for name, n in frames]
    texts = [describe_field(models[name], n, name, chained=name in chained) for name, n in frames]
    stacked, scrolls = stack_frames(drawn, labels, texts, 0)
    options = "".join(f'<option value="{k * depth}">{html.escape(name)}</option>' for name, k in places.items())
    choice = (
        '<div class="book-control" onkeydown="event.stopPropagation()"><label><span>model</span> '
        f'<select autocomplete="off" style="font:inherit;min-height:44px" onchange="{html.escape(MOVE)}">{options}'
        "</select></label></div>"
    )
    head = choice + control("layers", labels[:depth], 0, MOVE)
    at_once = [name for name in models if fields[name, 1] == length]
    title = _finding(at_once, {name: fields[name, depth] for name in models if name not in at_once}, depth, length)
    return in_page(head + scroll_box(stacked, "layers", wide=scrolls), caption, "explorer", title=html.escape(title))


def _finding(at_once: Sequence[str], others: Mapping[str, int], depth: int, length: int) -> str:
    """Who sees everything after one layer, and what the others see after all of theirs."""
    deep = f"after {depth} layers {listed(f'{name} {count}' for name, count in others.items())}"
    if not at_once:
        return f"Of {length} inputs the last output sees {deep}"
    first = f"After one layer {listed(at_once)} {'see' if at_once[1:] else 'sees'} all {length} inputs"
    return f"{first}; {deep}" if others else first


def _layers(count: int) -> str:
    return f"{count} layer{'' if count == 1 else 's'}"
