"""The piano roll: notes where they are, the model's probabilities beside them, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch

from rtx_lib.plots import CYCLE, INK, piano_roll, style, to_svg


@pytest.fixture(autouse=True)
def book_style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}), style():
        yield
    plt.close("all")


@pytest.fixture
def ax() -> Axes:
    return plt.subplots()[1]


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
    (image,) = ax.get_images()
    np.testing.assert_allclose(np.asarray(image.get_array())[..., 3], chances.T)
    assert image.get_extent() == (-0.5, 5.5, -0.5, 87.5) or list(image.get_extent()) == [-0.5, 5.5, -0.5, 87.5]
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
    picture = to_svg(ax.figure, "a tune")
    assert len(picture) < 250_000 and "currentColor" in picture and INK not in picture


@pytest.mark.parametrize(
    ("given", "prediction", "message"),
    [
        (np.ones((3, 87)), None, r"frames must be \(T, 88\), .* was \(3, 87\)"),
        (np.ones(88), None, r"frames must have shape \(T, 88\), was \(88,\)"),
        (np.ones((0, 88)), None, "frames must have shape"),
        (np.zeros((3, 88)), None, "and a note"),
        (-np.ones((3, 88)), None, "hold 0 and 1"),
        (np.full((3, 88), np.nan), None, "hold 0 and 1"),
        (np.ones((3, 88)), np.ones((2, 88)), r"prediction must be \(3, 88\), from 0 to 1, was \(2, 88\)"),
        (np.ones((3, 88)), np.full((3, 88), 1.5), "prediction must be .* from 0 to 1"),
        (np.ones((3, 88)), np.full((3, 88), np.nan), "prediction must be .* from 0 to 1"),
    ],
)
def test_bad_arguments(ax: Axes, given: np.ndarray, prediction: np.ndarray | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        piano_roll(ax, given, prediction)
    assert not ax.patches and not ax.get_images()
