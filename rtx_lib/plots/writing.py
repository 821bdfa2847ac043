"""What a model of characters expects and what it costs: the pictures behind the figure in which a reader writes."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from rtx_lib.plots.arrays import check_least, floats, several
from rtx_lib.plots.curves import label_lines
from rtx_lib.plots.heatmaps import attention_heatmap
from rtx_lib.plots.memory import memory_look
from rtx_lib.plots.style import CYCLE, INK

_SIGNS = {" ": "␣", "\n": "⏎"}
_NAMES = {" ": "a space", "\n": "a new line"}
_MOST = 8

TEXTS = {"shakespeare": "tinyshakespeare", "pydoc": "Python's own documentation"}
"""What a page calls the texts of characters, by their source."""


def draw_expected(text: str, looks: Sequence[Any], characters: str, chances: Any) -> dict[str, Any]:
    """What a model of characters looks at when it has read a text, and what it then expects.

    It is what :func:`~rtx_lib.plots.live.play` takes beside the model.

    Parameters
    ----------
    text
        The T characters that were read.
    looks
        Of each layer the weights (H, T) that the last character gives to all.
    characters
        The V characters that the model knows, in the order of their ids.
    chances
        (V,), the probability of each to come next.

    Returns
    -------
    dict
        ``still``, the figure; ``alt`` and ``title``, what it shows; ``characters`` and ``text``, for the widget.

    Raises
    ------
    ValueError
        If a shape does not fit or a value is below 0.
    """
    p = floats("chances", chances, len(characters), low=0)
    layers = [floats("looks", weights, "H", len(text), low=0) for weights in looks]
    if not layers:
        raise ValueError("looks must hold the weights of one layer at least, got none")
    rows = np.concatenate(layers)
    names = [f"layer {n}, head {h}" for n, own in enumerate(layers, start=1) for h in range(1, len(own) + 1)]
    signs = [_SIGNS.get(c, c) for c in text]
    best = np.argsort(-p, kind="stable")[:_MOST]
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(5.8, 0.3 * (len(rows) + len(best)) + 2.2), height_ratios=(3, 2))
    attention_heatmap(top, rows, names, signs, numbers=False)
    top.set(xlabel="", ylabel="", title=f"where the last “{signs[-1]}” looks")
    bottom.barh(range(len(best)), p[best], color=CYCLE[0])
    bottom.set_yticks(range(len(best)), [_SIGNS.get(characters[i], characters[i]) for i in best])
    bottom.invert_yaxis()
    bottom.grid(axis="y", visible=False)
    bottom.set(xlim=(0, 1), xlabel="probability that it comes next")
    first = _NAMES.get(characters[best[0]], f"“{characters[best[0]]}”")
    read = text.replace("\n", " / ")
    title = f"After “{read}” the model expects {first}, with a probability of {100 * p[best[0]]:.0f} %"
    head = int(rows.max(axis=1).argmax())
    seen = signs[int(rows[head].argmax())]
    alt = f"{title}. The sharpest look is that of {names[head]}, with {100 * rows[head].max():.0f} % on “{seen}”."
    return {"still": fig, "alt": alt, "title": f"{title}.", "characters": characters, "text": text}


def draw_saved(text: str, losses: Mapping[str, Any], segment: int, characters: str) -> dict[str, Any]:
    """What models have saved on a passage up to each character, against a first one.

    It is what :func:`~rtx_lib.plots.live.play` takes beside the models.

    Parameters
    ----------
    text
        The T characters of the passage.
    losses
        By name what each cost in nats, (T,); the first name is what the others are compared with.
    segment
        Length of a segment: a line stands before the first character of each.
    characters
        The characters that the models know, in the order of their ids.

    Returns
    -------
    dict
        As :func:`draw_expected`.

    Raises
    ------
    ValueError
        If there are not two models, the shapes do not fit, or the segment is shorter than 1.
    """
    check_least(1, segment=segment)
    costs = {name: nats / np.log(2) for name, nats in several("losses", losses, len(text)).items()}
    if len(costs) < 2:
        raise ValueError(f"losses must hold two models at least, got {list(costs)}")
    (base, plain), *others = costs.items()
    places = np.arange(1, len(text) + 1)
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    ax.axhline(0, color=INK, linewidth=1.2, label="_zero")
    for index, (name, own) in enumerate(others):
        style = memory_look(name, index)
        ax.plot(places, np.cumsum(plain - own), color=style["color"], linestyle=style["linestyle"], label=name)
    for border in range(segment, len(text), segment):
        ax.axvline(border + 0.5, color=INK, linewidth=1.1, linestyle=(0, (2, 2)), label="_border")
    ax.set(xlim=(0.5, len(text) + 0.5), xlabel="character of the passage (dashed: borders of segments)")
    ax.set_ylabel(f"bits saved against\n{base}")
    label_lines(ax)
    told = " and ".join(f"{np.sum(plain - own):.0f} fewer with {name}" for name, own in others)
    title = f"{len(text)} characters cost {plain.sum():.0f} bits with {base}, {told}"
    saved = plain - others[0][1]
    behind = sum(saved[edge : edge + 4].sum() for edge in range(segment, len(text), segment))
    alt = f"{title}. {others[0][0]} saves {behind:.0f} bits at the four characters behind each border."
    return {"still": fig, "alt": alt, "title": f"{title}.", "characters": characters, "text": text}
