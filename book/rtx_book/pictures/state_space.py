"""Figures of the chapter on state space models: what a leak keeps, what a summary blurs, and Mamba's block."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from rtx_book.page.diagram import Pen, blank
from rtx_book.paths import texts
from rtx_lib.plots.curves import name_at
from rtx_lib.plots.style import CYCLE, GREY, INK, MARKERS


def leak(u: Sequence[float], delta: Sequence[float]) -> np.ndarray:
    """The states of h' = u - h, by the exact rule with a step for each input, from h = 0."""
    h, states = 0.0, []
    for u_t, delta_t in zip(u, delta, strict=True):
        h = np.exp(-delta_t) * h - np.expm1(-delta_t) * u_t
        states.append(h)
    return np.array(states)


def draw_leak(u: Sequence[float], marks: Sequence[int]) -> Figure:
    """An input with marks in it, and a leaky state with the same step throughout and with one that opens at the marks.

    Parameters
    ----------
    u
        The inputs.
    marks
        Places whose inputs are to be kept.
    """
    t, chosen = np.arange(len(u)), np.full(len(u), 0.01)
    chosen[list(marks)] = 4
    fig, axes = plt.subplots(3, 1, figsize=(5.8, 3.7), sharex=True, height_ratios=[1, 1, 1])
    rows = (
        ("input", np.asarray(u), GREY),
        ("state, the same step throughout", leak(u, [0.25] * len(u)), CYCLE[1]),
        ("state, a large step at the marks alone", leak(u, chosen.tolist()), CYCLE[0]),
    )
    for ax, (name, line, colour) in zip(axes, rows, strict=True):
        ax.axhline(0, color=GREY, linewidth=0.6)
        ax.step(t, line, where="post", color=colour)
        ax.plot(list(marks), line[list(marks)], "o", color=INK, markersize=4)
        ax.set_title(name, loc="left")
        ax.set(yticks=[], ylim=(-2.1, 2.5))
    axes[-1].set_xlabel("step")
    return fig


def draw_readings(
    u: Sequence[float], gaps: Sequence[float], exact: tuple[np.ndarray, np.ndarray], rough: np.ndarray
) -> Figure:
    """A thermometer read at odd times: what was around it, its true course, and the two rules' steps of a gap each.

    Parameters
    ----------
    u, gaps
        The readings, and how long each holds.
    exact, rough
        The exact rule's states after each gap and after each hundredth of one; Euler's after each gap.
    """
    ends, few, many = np.cumsum(gaps), *exact
    fine = np.cumsum(np.repeat(np.asarray(gaps) / 100, 100))
    fig, ax = plt.subplots(figsize=(5.8, 3.0))
    ax.step([0, *ends], [u[0], *u], where="pre", color=GREY, linewidth=1, linestyle=":", label="input")
    ax.plot(fine, many, color=CYCLE[0])
    far = int(np.abs(rough - few).argmax())
    for index, (name, own) in enumerate({"exact step": few, "Euler's step": rough}.items()):
        ax.plot(ends, own, MARKERS[index], color=CYCLE[index])
        name_at(ax, name, (float(ends[far]), float(own[far])), (9, 14 * index - 14), va="center")
    ax.set(xlabel="time", ylabel="state", xlim=(0, ends[-1] + 0.4))
    return fig


def draw_past(past: np.ndarray, kept: Mapping[int, np.ndarray]) -> Figure:
    """What was read, and what summaries of several sizes give back of it.

    Parameters
    ----------
    past
        The readings (T,).
    kept
        By the number of coefficients, what they say of each reading (T,).
    """
    fig, axes = plt.subplots(len(kept), 1, figsize=(5.8, 1.15 * len(kept) + 0.5), sharex=True, sharey=True)
    for index, (ax, (count, told)) in enumerate(zip(axes, kept.items(), strict=True)):
        ax.plot(np.arange(1, len(past) + 1), past, color=GREY, linewidth=1)
        ax.plot(np.arange(1, len(past) + 1), told, color=CYCLE[index], linewidth=2)
        ax.set_title(f"{count} numbers", loc="left")
        ax.set_yticks([])
    axes[-1].set_xlabel("step")
    return fig


_STAGES: dict[str, dict[str, str]] = texts("pictures/stages.yml")["block"]
BLOCK_STAGES = tuple(_STAGES)
"""The stages of :func:`draw_block` in order."""

_MARKS = texts("pictures/marks.yml")["block"]


def describe_block(stage: str) -> str:
    """What :func:`draw_block` shows at this stage, in words."""
    return _STAGES[stage]["words"]


def draw_block(stage: str) -> Figure:
    """Mamba's block (Gu and Dao 2023, figure 3) up to this stage, the part that is new drawn thick and filled."""
    fig, ax = plt.subplots(figsize=(5.8, 4.8))
    blank(ax, (-0.2, 10), (-1.4, 8.6), title=_STAGES[stage]["title"])
    pen = Pen(ax, stage, 1.3, 2.8, 0.12)
    at = BLOCK_STAGES.index(stage)
    pen.draw((mark, part, *where) for first, part, mark, *where in _MARKS if first <= at)
    return fig


@torch.no_grad()
def steps_of(model: Any, x: Tensor) -> Tensor:
    """The step sizes (L, T, E) of all layers of a stack of Mamba's blocks that reads ids x (1, T)."""
    seen: list[Tensor] = []

    def watched(u: Tensor, choose: Any) -> Any:
        chosen = choose(u)
        seen.append(chosen[0].expand_as(u)[0])
        return chosen

    for mixer in model.mixers:
        mixer.selected = partial(watched, choose=mixer.selected)
    model(x)
    for mixer in model.mixers:
        del mixer.selected  # the method of the class is there again
    return torch.stack(seen)


def draw_steps(steps: Mapping[str, Tensor], text: str) -> Figure:
    """Each model's step sizes by place: of the channel whose largest step and median one are farthest apart.

    Parameters
    ----------
    steps
        By model, (L, T, E).
    text
        What is read, a sign a place; a dot is a blank.
    """
    fig, axes = plt.subplots(len(steps), squeeze=False, figsize=(5.8, 1.5 * len(steps) + 0.4), sharex=True, sharey=True)
    t, colours = np.arange(len(text)), [CYCLE[0] if sign == "." else CYCLE[1] for sign in text]
    for ax, (name, delta) in zip(axes.flat, steps.items(), strict=True):
        layer, channel = divmod(int((delta.amax(1) / delta.median(1).values).argmax()), delta.shape[-1])
        ax.bar(t, delta[layer, :, channel].numpy(), color=colours)
        ax.set_title(f"{name}: step size of layer {layer + 1}, channel {channel + 1}", loc="left")
    axes[-1, 0].set_xticks(t, list(text.replace(".", "·")))
    return fig
