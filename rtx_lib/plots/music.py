"""Music as notes over time, with what a model expected."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from rtx_lib.plots.arrays import floats, true_runs
from rtx_lib.plots.grids import scale_bar, tint
from rtx_lib.plots.style import CYCLE, INK

_FILL = (CYCLE[1], CYCLE[1])


def piano_roll(ax: Axes, frames: Any, prediction: Any = None) -> None:
    """Notes over time; with a prediction, what a model expected against what came.

    Without a prediction notes are filled. With one, notes are outlines and the fill is the probability: a filled
    outline is a note that was foreseen, an empty outline one that was not, a fill without outline a note that did not
    come.

    Parameters
    ----------
    ax
        Axes to draw in.
    frames
        (T, 88), 1 where one of the piano's 88 keys sounds, the lowest (A0) first; without padding.
    prediction
        (T, 88), the probability given to each note of ``frames`` before its frame was seen.

    Raises
    ------
    ValueError
        If a shape does not fit, a frame is not 0 or 1 or holds no note at all, or a probability is
        outside 0 to 1.
    """
    notes = floats("frames", frames, "T", 88, finite=False)
    if not np.isin(notes, (0, 1)).all() or not notes.any():
        raise ValueError(f"frames must hold 0 and 1, and a note, got {np.unique(notes)}")
    chances = None
    if prediction is not None:
        chances = floats("prediction", prediction, *notes.shape, low=0, high=1)
        extent = (-0.5, len(notes) - 0.5, -0.5, 87.5)
        ax.imshow(tint(chances.T, _FILL), interpolation="none", aspect="auto", origin="lower", extent=extent)
        bar = scale_bar(ax, tint(np.linspace(0, 1, 64), _FILL), 0, 1)
        bar.set_ylabel("probability", labelpad=-4)
        bar.yaxis.set_label_position("right")
    held = [(start, stop, key) for key, row in enumerate(notes.T > 0) for start, stop in true_runs(row)]
    bars = [[(x - 0.5, k + y) for x, y in ((a, -0.4), (b, -0.4), (b, 0.4), (a, 0.4))] for a, b, k in held]
    path = Path.make_compound_path_from_polys(np.array(bars))
    fill, edge = (CYCLE[0], CYCLE[0]) if chances is None else ("none", INK)
    ax.add_patch(PathPatch(path, facecolor=fill, edgecolor=edge, linewidth=1.2))
    used = np.flatnonzero((notes if chances is None else np.maximum(notes, chances > 0.1)).any(axis=0))
    ax.set(xlim=(-0.5, len(notes) - 0.5), ylim=(used[0] - 1.5, used[-1] + 1.5), xlabel="frame", ylabel="note")
    octaves = [key for key in range(3, 88, 12) if used[0] - 1 <= key <= used[-1] + 1]
    ax.set_yticks(octaves, [f"C{(key + 9) // 12}" for key in octaves])
    ax.grid(axis="x", visible=False)
