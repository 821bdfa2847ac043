"""The image of a Neural GPU over its steps."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rtx_book.page.film import at_frame
from rtx_lib.plots.heatmaps import floats, paint, tint
from rtx_lib.plots.style import CYCLE, INK

LEVELS = 5
"""So many strengths of a colour does a moving cell have."""


def image_frames(images: Any, answers: Any, right: Any) -> tuple[Figure, list[dict[str, Any]]]:
    """A film of the image: above, all steps below each other; below, the image after one step and what it answers.

    The first symbol, the lowest digit of a number, stands at the right. The darker a cell, the further a step moved it:
    the root mean square over the channels, above over the columns too. A cross marks an answer that is not right at
    that step. The figure shows the last step until a frame moves it.

    Parameters
    ----------
    images
        (S, n, w, m), the image of n places, w columns and m channels before the first step and after each.
    answers
        (S, n), the digits that would be read from each image.
    right
        (n,), the digits that are right.

    Returns
    -------
    tuple[Figure, list[dict[str, Any]]]
        The figure, and a frame for each of the S images, for ``film`` or ``at_frame``.
    """
    sizes: dict[str, int] = {}
    values = floats("images", images, "S", "n", "w", "m", sizes=sizes)
    said, wanted = floats("answers", answers, "S", "n", sizes=sizes), floats("right", right, "n", sizes=sizes)
    S, n, w, _ = values.shape
    # How far each cell is from the image before, (S, n, w): the first is compared with an empty image.
    cells = np.sqrt((np.diff(values, axis=0, prepend=0) ** 2).mean(-1))
    lanes = np.sqrt((cells**2).mean(-1))  # (S, n)
    fig, (above, below) = plt.subplots(2, 1, figsize=(5.8, 5.4), height_ratios=[1.5, 1], sharex=True)
    paint(above, tint(_scaled(lanes)[:, ::-1], (CYCLE[1], CYCLE[1])))
    wrong = said != wanted
    steps, places = np.nonzero(wrong)
    above.plot(n - 1 - places, steps, "x", color=INK, markersize=min(5.0, 90 / n))
    above.axhline(S - 1, gid="cursor", color=INK, linestyle=":", linewidth=1.4)
    above.set_title("how far a step moved the image", loc="left", fontsize=12)
    above.set(ylabel="step", yticks=range(0, S, max(1, S // 8)))
    _prepare(below, n, w, wanted)
    frames = []
    for t, shades in enumerate(_scaled(cells)):
        frame: dict[str, Any] = {f"level{k}": bars for k, bars in enumerate(_bars(shades))}
        frame |= {f"digit{i}": f"{digit:.0f}" for i, digit in enumerate(said[t])}
        bad = np.flatnonzero(wrong[t])
        frame["wrong"] = n - 1 - bad, np.full(len(bad), w + 1)
        frames.append(frame | {"cursor": (np.array([0.0, 1.0]), np.array([t, t]))})
    return at_frame(fig, frames[-1]), frames


def _scaled(values: np.ndarray) -> np.ndarray:
    """By the largest of all steps; what only the input has may be larger, and is cut."""
    return np.clip(values / max(values[1:].max(initial=0), 1e-12), 0, 1)


def _prepare(ax: Axes, n: int, w: int, wanted: np.ndarray) -> None:
    """Axes of one image: a row for each of its columns, then what is said, what is wrong and what is right."""
    thick = 0.9 * ax.bbox.height * 72 / ax.figure.dpi / (w + 3)
    for k in range(LEVELS):
        shade: dict[str, Any] = {"color": CYCLE[1], "alpha": (k + 1) / LEVELS}
        ax.plot([0], [0], gid=f"level{k}", linestyle="-", linewidth=thick, solid_capstyle="butt", **shade)
    for i, digit in enumerate(wanted):
        at: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 11 if n < 20 else 9}
        ax.text(n - 1 - i, w, "0", gid=f"digit{i}", **at)
        ax.text(n - 1 - i, w + 2, f"{digit:.0f}", **at)
    ax.plot([0], [0], "x", gid="wrong", color=INK, markersize=5)
    ax.set(xlim=(-0.5, n - 0.5), ylim=(w + 2.5, -0.5), xlabel="place, counted from the right")
    ax.set_yticks([0, w, w + 1, w + 2], ["read", "it says", "wrong", "sum"])
    named = range(0, n, max(1, n // 8))
    ax.set_xticks([n - 1 - i for i in named], [str(i + 1) for i in named])
    ax.grid(False)
    ax.tick_params(length=0)


def _bars(shades: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Cells (n, w) as level bars by strength: a line across each cell, a gap after it."""
    bars = []
    for level in range(1, LEVELS + 1):
        i, j = np.nonzero(np.round(shades * LEVELS) == level)
        x, gap = len(shades) - 1.0 - i, np.full(len(i), np.nan)
        bars.append((np.stack([x - 0.45, x + 0.45, gap], 1).ravel(), np.stack([j, j, gap], 1).ravel()))
    return bars
