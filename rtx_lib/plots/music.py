"""Music as notes over time, with what a model expected."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from rtx_lib.plots.positions import _array, _key, _runs, _tint
from rtx_lib.plots.style import CYCLE, INK

_FILL = (CYCLE[1], CYCLE[1])


def piano_roll(ax: Axes, frames: Any, prediction: Any = None) -> None:
    """Notes over time; with a prediction, what a model expected against what came.

    Without a prediction notes are filled. With one, notes are outlines and the fill is the probability: a filled
    outline is a note that was foreseen, an empty outline one that was not, a fill without outline a note that did not
    come.

    Args:
        ax: axes to draw in.
        frames: (T, 88), 1 where one of the piano's 88 keys sounds, the lowest (A0) first; without padding.
        prediction: (T, 88), the probability given to each note of ``frames`` before its frame was seen.

    Raises:
        ValueError: if a shape does not fit, a frame is not 0 or 1 or holds no note at all, or a probability is
            outside 0 to 1.
    """
    notes = _array("frames", frames, "(T, 88)", 2)
    if notes.shape[1] != 88 or not np.isin(notes, (0, 1)).all() or not notes.any():
        raise ValueError(f"frames must be (T, 88), hold 0 and 1, and a note, was {notes.shape}")
    chances = None
    if prediction is not None:
        chances = _array("prediction", prediction, f"{notes.shape}", 2)
        if chances.shape != notes.shape or not ((chances >= 0) & (chances <= 1)).all():
            raise ValueError(f"prediction must be {notes.shape}, from 0 to 1, was {chances.shape}")
        extent = (-0.5, len(notes) - 0.5, -0.5, 87.5)
        ax.imshow(_tint(chances.T, _FILL), interpolation="none", aspect="auto", origin="lower", extent=extent)
        bar = _key(ax, _tint(np.linspace(0, 1, 64), _FILL), 0, 1)
        bar.set_ylabel("probability", labelpad=-4)
        bar.yaxis.set_label_position("right")
    bars = [(start, stop, key) for key, row in enumerate(notes.T > 0) for start, stop in _runs(row)]
    corners = [
        [(a - 0.5, key - 0.4), (b - 0.5, key - 0.4), (b - 0.5, key + 0.4), (a - 0.5, key + 0.4), (a - 0.5, key - 0.4)]
        for a, b, key in bars
    ]
    codes = np.tile([Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY], len(bars))
    fill, edge = (CYCLE[0], CYCLE[0]) if chances is None else ("none", INK)
    ax.add_patch(PathPatch(Path(np.reshape(corners, (-1, 2)), codes), facecolor=fill, edgecolor=edge, linewidth=1.2))
    used = np.flatnonzero((notes if chances is None else np.maximum(notes, chances > 0.1)).any(axis=0))
    ax.set(xlim=(-0.5, len(notes) - 0.5), ylim=(used[0] - 1.5, used[-1] + 1.5), xlabel="frame", ylabel="note")
    octaves = [key for key in range(3, 88, 12) if used[0] - 1 <= key <= used[-1] + 1]
    ax.set_yticks(octaves, [f"C{(key + 9) // 12}" for key in octaves])
    ax.grid(axis="x", visible=False)
