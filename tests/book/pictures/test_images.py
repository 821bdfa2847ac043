"""Images, beliefs and music: what is given is what is drawn, in its place."""

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import PathPatch
from support.drawn import check_follows_page, opacity

from rtx_book.pictures.recurrence import draw_beliefs, draw_image_rows, one_of_each, piano_roll
from rtx_lib.plots import INK

DRAW = np.random.default_rng(0)


def test_beliefs_stand_beside_their_image_and_the_dot_on_the_likeliest() -> None:
    images, beliefs = DRAW.random((2, 5, 3)), DRAW.random((2, 5, 10))
    axes = draw_beliefs(images, beliefs).axes
    assert len(axes) == 4
    for k in range(2):
        left, right = axes[2 * k : 2 * k + 2]
        assert np.array_equal(left.images[0].get_array(), images[k])
        assert np.array_equal(right.images[0].get_array(), beliefs[k])
        (dots,) = right.get_lines()
        assert np.array_equal(dots.get_xdata(), beliefs[k].argmax(-1))
        assert np.array_equal(dots.get_ydata(), np.arange(5))


def test_images_bear_the_names_that_they_are_given() -> None:
    images, beliefs = DRAW.random((2, 5, 3)), DRAW.random((2, 5, 10))
    assert [ax.get_title() for ax in draw_beliefs(images, beliefs, ["a 9", "a 4"]).axes[::2]] == ["a 9", "a 4"]
    with pytest.raises(ValueError, match=r"names must hold a text for each of 2 images, got \['a 9'\]"):
        draw_beliefs(images, beliefs, ["a 9"])


def test_one_of_each_label_is_the_first_good_one_or_the_first() -> None:
    assert one_of_each([1, 0, 1, 2, 0], [False, False, True, False, True]) == {0: 4, 1: 2, 2: 3}


def test_rows_of_images_bear_their_names_and_the_line_lies_between_two_rows_of_pixels() -> None:
    rows = {"truth": DRAW.random((3, 8, 6)), "drawn": DRAW.random((3, 8, 6))}
    axes = np.reshape(draw_image_rows(rows, line=4).axes, (2, 3))
    assert [band[0].get_ylabel() for band in axes] == ["truth", "drawn"]
    assert np.array_equal(axes[1, 2].images[0].get_array(), rows["drawn"][2])
    assert all(ax.get_lines()[0].get_ydata()[0] == 3.5 for ax in axes.flat)  # pixel rows 0 to 3 above it


# ---- music


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


def test_a_prediction_fills_the_outlines(ax: Axes, frames: np.ndarray) -> None:
    chances = np.random.default_rng(0).uniform(0, 0.1, frames.shape)
    chances[3, 50], chances[0, 30] = 0.8, 0.05  # a note that does not come, and one too faint to widen the picture
    piano_roll(ax, frames, torch.from_numpy(chances))
    patch, found = notes(ax)
    assert found == [[-0.5, 2.5, 39], [3.5, 4.5, 39], [1.5, 2.5, 43]]
    assert patch.get_facecolor()[3] == 0 and to_hex(patch.get_edgecolor()) == INK
    np.testing.assert_allclose(opacity(ax), chances.T)
    assert list(ax.get_images()[0].get_extent()) == [-0.5, 5.5, -0.5, 87.5]
    assert ax.get_xlim() == (-0.5, 5.5) and ax.get_ylim() == (37.5, 51.5)
    (bar,) = ax.child_axes
    assert bar.get_ylabel() == "probability" and list(bar.get_yticks()) == [0, 1]


def test_the_keys_have_their_names(ax: Axes) -> None:
    piano_roll(ax, np.ones((2, 88)), np.zeros((2, 88)))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [f"C{octave}" for octave in range(1, 9)]
    assert list(ax.get_yticks()) == [60 - 21 + 12 * octave for octave in range(-3, 5)]  # MIDI number less 21


def test_a_long_tune_stays_small_and_follows_the_page(ax: Axes) -> None:
    random = np.random.default_rng(0)
    piano_roll(ax, (random.random((200, 88)) < 0.05) * 1.0, random.random((200, 88)))
    check_follows_page(ax.figure, 250_000)
