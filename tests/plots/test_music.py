"""The piano roll: notes where they are, the model's probabilities beside them, and what is refused."""

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch
from support.drawn import check_follows_page, opacity

from rtx_lib.plots import CYCLE, INK, piano_roll


@pytest.fixture
def frames() -> np.ndarray:
    """Middle C for three frames, a rest and once more; the E above for one frame."""
    notes = np.zeros((6, 88))
    notes[[0, 1, 2, 4], 39] = 1
    notes[2, 43] = 1
    return notes


def notes(ax: Axes) -> tuple[PathPatch, list[list[float]]]:
    """The patch, and left, right and key of each note in it."""
    (patch,) = (patch for patch in ax.patches if isinstance(patch, PathPatch))
    boxes = patch.get_path().vertices.reshape(-1, 5, 2)
    return patch, [[box[:, 0].min(), box[:, 0].max(), box[:, 1].mean().round()] for box in boxes[:, :4]]


def test_a_note_lasts_as_long_as_it_sounds(ax: Axes, frames: np.ndarray) -> None:
    piano_roll(ax, torch.from_numpy(frames))
    patch, found = notes(ax)
    assert found == [[-0.5, 2.5, 39], [3.5, 4.5, 39], [1.5, 2.5, 43]]
    assert to_hex(patch.get_facecolor()) == CYCLE[0] and not ax.get_images()
    assert ax.get_xlim() == (-0.5, 5.5) and ax.get_ylim() == (37.5, 44.5)
    assert [(tick.get_text(), place) for tick, place in zip(ax.get_yticklabels(), ax.get_yticks(), strict=True)] == [
        ("C4", 39)
    ]


def test_a_prediction_fills_the_outlines(ax: Axes, frames: np.ndarray) -> None:
    chances = np.random.default_rng(0).uniform(0, 0.1, frames.shape)
    chances[3, 50], chances[0, 30] = 0.8, 0.05  # a note that does not come, and one too faint to widen the picture
    piano_roll(ax, frames, torch.from_numpy(chances))
    patch, found = notes(ax)
    assert len(found) == 3 and patch.get_facecolor()[3] == 0 and to_hex(patch.get_edgecolor()) == INK
    np.testing.assert_allclose(opacity(ax), chances.T)
    assert list(ax.get_images()[0].get_extent()) == [-0.5, 5.5, -0.5, 87.5]
    assert ax.get_ylim() == (37.5, 51.5)
    (bar,) = ax.child_axes
    assert bar.get_ylabel() == "probability" and list(bar.get_yticks()) == [0, 1]


def test_the_keys_have_their_names(ax: Axes) -> None:
    piano_roll(ax, np.ones((2, 88)))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [f"C{octave}" for octave in range(1, 9)]
    assert list(ax.get_yticks()) == [60 - 21 + 12 * octave for octave in range(-3, 5)]  # MIDI number less 21


def test_a_long_tune_stays_small_and_follows_the_page(ax: Axes) -> None:
    random = np.random.default_rng(0)
    piano_roll(ax, (random.random((200, 88)) < 0.05) * 1.0, random.random((200, 88)))
    check_follows_page(ax.figure, 250_000)
