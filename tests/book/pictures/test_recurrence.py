"""Images, beliefs, music, influence and attention by distance: what is given is what is drawn, in its place."""

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from support.drawn import opacity

from rtx_book.page.film import film
from rtx_book.pictures import recurrence

DRAW = np.random.default_rng(0)


def test_beliefs_stand_beside_their_image_and_the_dot_on_the_likeliest() -> None:
    images, beliefs = DRAW.random((2, 5, 3)), DRAW.random((2, 5, 10))
    axes = recurrence.draw_beliefs(images, beliefs, ["a 9", "a 4"]).axes
    for left, right, image, belief in zip(axes[::2], axes[1::2], images, beliefs, strict=True):
        assert np.array_equal(left.images[0].get_array(), image)
        assert np.array_equal(right.images[0].get_array(), belief)
        assert np.array_equal(right.get_lines()[0].get_xydata(), np.stack([belief.argmax(-1), np.arange(5)], 1))
    assert [ax.get_title() for ax in axes[::2]] == ["a 9", "a 4"]


def test_one_of_each_label_is_the_first_good_one_or_the_first() -> None:
    assert recurrence.one_of_each([1, 0, 1, 2, 0], [False, False, True, False, True]) == {0: 4, 1: 2, 2: 3}


def test_a_prediction_fills_the_outlines_of_the_notes(ax: Axes) -> None:
    notes = np.zeros((6, 88))
    notes[[0, 1, 2, 4], 39] = notes[2, 43] = 1  # middle C for three frames, a rest and once more; the E above
    chances = DRAW.uniform(0, 0.1, notes.shape)
    chances[3, 50] = 0.8  # a note that does not come
    recurrence.piano_roll(ax, notes, torch.from_numpy(chances))
    (patch,) = (patch for patch in ax.patches if isinstance(patch, PathPatch))
    boxes = patch.get_path().vertices.reshape(-1, 5, 2)[:, :4]
    found = [[*box[:2, 0].tolist(), round(box[:, 1].mean())] for box in boxes]
    assert found == [[-0.5, 2.5, 39], [3.5, 4.5, 39], [1.5, 2.5, 43]]
    np.testing.assert_allclose(opacity(ax), chances.T)
    assert dict(zip(ax.get_yticks(), (tick.get_text() for tick in ax.get_yticklabels()), strict=True))[39] == "C4"


# ---- influence


FIELD = np.array([0.0] * 5 + [1.0, 2.0, 5.0])  # the most recent input last


def test_a_curve_counts_back_from_the_output_and_sums_to_one() -> None:
    rising = np.array([1.0, 2.0, 3.0, 4.0])
    runs = np.stack([FIELD, FIELD * 100, FIELD[::-1] + 1])
    given = {"TCN": FIELD, "rising": rising, "RNN": 0.5 ** np.arange(40)[::-1], "runs": runs}
    (ax,) = recurrence.influence_curves(given).axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    np.testing.assert_allclose(lines["rising"].get_xydata(), [(1, 0.4), (2, 0.3), (3, 0.2), (4, 0.1)])
    np.testing.assert_allclose(lines["runs"].get_ydata()[:3], [0.625, 0.25, 0.125])
    assert len(lines["RNN"].get_xdata()) == 23, "it leaves where 2^-23 > 1e-7 > 2^-24"
    crosses = [line.get_xydata().tolist() for line in ax.get_lines() if line.get_marker() == "x"]
    assert crosses == [[[3, 0.125]]], "a curve that ends at zero ends in a cross, and no other"


def test_what_the_architecture_lets_through_is_marked() -> None:
    (ax,) = recurrence.influence_curves({"RNN": np.ones(9), "TCN": FIELD}, reaches={"TCN": 1234}).axes
    (line,) = (line for line in ax.get_lines() if line.get_label() == "_reach")
    assert list(line.get_xdata()) == [1234, 1234]
    assert "1,234 inputs" in [text.get_text() for text in ax.texts]


def test_a_bar_is_the_influence_and_a_cross_none() -> None:
    sizes = np.tril(np.arange(1.0, 17.0).reshape(4, 4))
    fig, frames = recurrence.influence_frames({"forwards": sizes, "both ways": sizes + 1})
    x, y = frames[1]["bars0"]  # output 2: inputs 1 and 2
    assert np.array_equal(x[~np.isnan(x)], [1, 1, 2, 2]) and np.array_equal(y[~np.isnan(y)], [1e-6, 5, 1e-6, 6])
    assert np.array_equal(frames[1]["none0"][0], [3, 4])
    assert not len(frames[1]["none1"][0]) and np.array_equal(frames[1]["at1"][0], [2, 2])
    assert "book-film" in film(fig, frames, "t", labels=list("1234"), alt="No future.").data


# ---- attention by distance


def test_every_head_is_a_line_and_the_likeness_stands_below() -> None:
    near, far = np.array([[0.5, 0.2, 0.1], [0.3, 0.3, 0.3]]), np.array([[0.1, 0.2, 0.7]])
    fig = recurrence.draw_weights_by_distance({"near": near, "far": far}, 0.25, [0.9, 0.4], unit="frame")
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["near", "far", "the data: likeness to the next frame"]
    *heads, mean = fig.axes[0].get_lines()
    np.testing.assert_array_equal([line.get_ydata() for line in heads], near)
    assert set(mean.get_ydata()) == {0.25}
    assert list(fig.axes[2].get_lines()[0].get_ydata()) == [0.9, 0.4]


def test_the_largest_bar_names_its_distance() -> None:
    fig = recurrence.draw_distance_bars({"at 64": [0.1, 0.1, 0.8], "at 256": [0.01, 0.0, 0.0, 0.03]}, 2, shown=4)
    assert [text.get_text() for ax in fig.axes for text in ax.texts] == ["2 steps", "3 steps"]
    heights = [segment[1][1] for segment in fig.axes[0].collections[0].get_segments()]
    np.testing.assert_allclose(heights, [0.1, 0.1, 0.8])
