"""Still pictures: of the trainer, recorded runs of its default setting and the gradient at their ends; of a text."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from rtx_lib.plots.curves import baseline, label_lines
from rtx_lib.plots.style import look

NAMES = {"rnn": "tanh RNN", "irnn": "IRNN", "lstm": "LSTM", "gru": "GRU", "indrnn": "IndRNN"}
"""What the trainer calls its cells."""

COUNTED = {"uniform": "all alike", "unigram": "characters counted", "bigram": "pairs counted", "": "LSTM"}


def draw_live_runs(record: Mapping[str, Any], gradients: bool = True) -> Figure:
    """One run of each cell: its error while it learns in a page, and the gradient at every step when it stopped.

    Small marks at the line of ``record["below"]["error"]`` are the steps at which each of all the runs passed it.

    Parameters
    ----------
    record
        What ``make live`` wrote: ``curves`` (by cell ``step`` and ``error``), ``norms``, ``below`` and ``setting``.
    gradients
        Whether the gradient is drawn below the error.
    """
    cells = _cells(record)
    size, heights = ((5.2, 4.8), [1.15, 1]) if gradients else ((5.8, 3.0), [1])
    fig, grid = plt.subplots(len(heights), 1, figsize=size, height_ratios=heights, squeeze=False)
    errors, norms = grid[0, 0], grid[-1, 0]
    line = record["below"]["error"]
    for place, kind in enumerate(cells):
        looks = look(kind) | {"marker": "none"}
        curve = record["curves"][kind]
        errors.plot(curve["step"], curve["error"], label=NAMES[kind], **looks)
        passed = [step for step in record["below"][kind] if step is not None]
        height = line * 1.13 ** (place - len(cells) / 2)
        errors.plot(passed, np.full(len(passed), height), "|", color=looks["color"], markersize=7, label="_passed")
        norm = [value or np.nan for value in record["norms"][kind]]  # on logarithms 0 leaves a gap, as None does
        if gradients:
            norms.plot(np.arange(1, len(norm) + 1), norm, **looks)
    errors.set(yscale="log", ylim=(0.002, 0.4), xlim=(0, None), xlabel="training step", ylabel="squared error")
    errors.set_yticks([0.01, 0.05, 1 / 6], ["0.01", "0.05", "1/6"])
    errors.minorticks_off()
    if gradients:
        norms.set(yscale="log", xlabel="step t of the sequence", ylabel=r"norm of $\partial L / \partial h_t$")
    baseline(errors, 1 / 6, "no memory: 1/6", at=0.3)
    label_lines(errors)
    return fig


def describe_live_runs(record: Mapping[str, Any]) -> str:
    """What :func:`draw_live_runs` shows, in words, with the numbers of the record."""
    line, said = record["below"]["error"], []
    for kind in _cells(record):
        most = record["setting"]["most"][kind]
        runs, passed = record["below"][kind], [step for step in record["below"][kind] if step is not None]
        if passed:
            middle = f", in the median after {np.median(passed):.0f}" if len(passed) == len(runs) else ""
            said.append(f"{NAMES[kind]}: {len(passed)} of {len(runs)} runs below {line}{middle}")
        else:
            said.append(f"{NAMES[kind]}: none of {len(runs)} runs below {line} in {most} steps")
    return f"Cells that learned the adding problem at T = {record['setting']['length']} in a page. {'; '.join(said)}."


def ghosts(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What the trainer draws pale before anything is trained: each cell's recorded curve and its last gradient."""
    return {kind: {**record["curves"][kind], "norms": record["norms"][kind]} for kind in _cells(record)}


def _cells(record: Mapping[str, Any]) -> Sequence[str]:
    """The record's cells in the trainer's order."""
    return [kind for kind in NAMES if kind in record["curves"]]


def own_text(path: Path) -> tuple[Any, str, dict[str, Any]]:
    """What counting and an LSTM come to on the text beside ``path``, of which the reader is given the first part."""
    found = re.findall(r"'(?:(\w+) (?:guess )?)?loss': ([\d.]+)", path.read_text(encoding="utf-8"))
    bits = {COUNTED[name]: float(nats) / math.log(2) for name, nats in found}
    fig, ax = plt.subplots(figsize=(5.8, 1.9))
    ax.bar_label(ax.barh([*bits], [*bits.values()]), fmt="%.2f", padding=3)
    ax.set(xlabel="bits per character of text not read", xlim=(0, 7), ylim=(3.5, -0.5))
    words = "; ".join(f"{name}: {own:.2f}" for name, own in bits.items())
    return fig, f"Bits: {words}.", {"text": path.with_name("mine.txt").read_text(encoding="utf-8")[:20_000]}
