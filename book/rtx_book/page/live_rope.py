"""What the rope of the first page needs: its models, and what they have right over the seeds, as a still picture.

One model of it alone stands for its kind where a memory is taken out and put into another text.
"""

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure

from rtx_book.page.live import Live, play
from rtx_book.page.runs import draw_strips
from rtx_lib.plots.curves import label_lines
from rtx_lib.plots.style import look

_MODELS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).parents[1].joinpath("runs/recipes/rope.json").read_text(encoding="utf-8")
)["models"]
LANES = {own["name"]: {"key": key, **own["page"]} for key, own in _MODELS.items()}
"""By name what the page is told of each model; ``key`` is the end of its recipe's name."""
SIGNS = "abcdefghijklmnopqrstuvwxyz~*+:=%^#>"
"""How the ids that the models read are written: letters, noise, and the sign that asks for the letters before it."""
_PANELS = {"pause": "symbols of noise after a word of six", "letters": "letters of the word, 30 symbols of noise"}


def draw_rope(records: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """The share of letters right by the pause, and by the length of the word: medians of the seeds, and their range."""
    fig, axes = plt.subplots(2, 1, figsize=(5.8, 5.6))
    for ax, (kind, said) in zip(axes, _PANELS.items(), strict=True):
        for name, lane in LANES.items():
            found = shares(records[f"rope-{lane['key']}"], kind)
            at, rows = list(found), np.array(list(found.values()))
            looks = look(lane["look"].removeprefix("live-")) | {"marker": "none"}
            ax.plot(at, np.median(rows, 1), label=name, **looks)
            ax.fill_between(at, rows.min(1), rows.max(1), color=looks["color"], alpha=0.15, linewidth=0)
        ax.set(xlabel=said, ylabel="share right", ylim=(0, 1.03), xlim=(0, None))
        label_lines(ax)
    return fig


def describe_rope(records: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """What :func:`draw_rope` shows, in words, with the numbers of the records."""
    said = []
    for name, lane in LANES.items():
        (pauses, words) = (shares(records[f"rope-{lane['key']}"], kind) for kind in _PANELS)
        ends = [f"{statistics.median(found[max(found)]):.0%}" for found in (pauses, words)]
        said.append(f"{name}: {ends[0]} with a pause of {max(pauses)}, {ends[1]} with {max(words)} letters")
    return f"Share of letters that models write back, in the median of the seeds. {'; '.join(said)}."


def shares(records: Sequence[Mapping[str, Any]], kind: str) -> dict[int, list[float]]:
    """By pause, or by letters, the share that each seed has right."""
    found = {name: [own["elsewhere"][name]["accuracy"] for own in records] for name in records[0]["elsewhere"]}
    return {int(name.split()[1]): rows for name, rows in found.items() if name.startswith(kind)}


@torch.no_grad()
def write_back(model: Any, before: str, after: str, change: Callable[[Any], Any] = lambda state: state) -> Any:
    """What it writes with the memory of ``before`` in front of ``after``, and its belief in each letter.

    It writes as many letters as both texts have; ``change`` makes another memory of that of ``before``.
    """
    ids = [torch.tensor([[SIGNS.index(sign) for sign in text]]) for text in (before, after)]
    logits, state = model(ids[1], change(model(ids[0])[1]))
    said, shares = "", list[float]()
    for _ in filter(str.isalpha, before + after):
        share, letter = logits[:, -1].softmax(-1).max(-1)
        said, shares = said + SIGNS[letter], [*shares, share.item()]
        logits, state = model(letter[None], state)
    return said, shares


def play_transplant(name: str, model: Any, cases: Mapping[str, tuple[str, str]], title: str, **told: Any) -> Live:
    """`play` of a transplant into this model of the rope.

    Parameters
    ----------
    name, model
        One of :data:`LANES`, and the model.
    cases
        By what the still picture calls them, the two texts of :func:`write_back`.
    title
        As in :func:`~rtx_book.page.live.play`; what is written in a case stands in braces, by its place.
    **told
        What else `play` and the widget take.
    """
    found = {case: write_back(model, *texts) for case, texts in cases.items()}
    rows = {f"{case}: {said}": shares for case, (said, shares) in found.items()}
    still = draw_strips(rows, "belief in each letter (share)", looks=dict.fromkeys(rows, name), digits=2)
    how: dict[str, Any] = {"signs": SIGNS, "cue": SIGNS[-1], "reads": {name: LANES[name]}, "layer": 0} | told
    texts = {"title": title.format(*(said for said, _ in found.values())), "alt": f"What it writes. {'; '.join(rows)}."}
    return play("transplant", {name: model}, still=still, form="int8", **texts, **how)
