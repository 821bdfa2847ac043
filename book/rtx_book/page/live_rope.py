"""What the rope of the first page needs: its models, and what they have right over the seeds, as a still picture."""

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rtx_lib.plots.curves import label_lines
from rtx_lib.plots.style import look

_MODELS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).parents[1].joinpath("runs/recipes/rope.json").read_text(encoding="utf-8")
)["models"]
LANES = {own["name"]: {"key": key, **own["page"]} for key, own in _MODELS.items()}
"""By name what the page is told of each model; ``key`` is the end of its recipe's name."""
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
