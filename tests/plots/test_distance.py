"""Attention by distance: every head is a line of its model's panel, the data's likeness stands below."""

import numpy as np

from rtx_lib.plots import CYCLE, draw_distance_bars, draw_weights_by_distance


def test_every_head_is_a_line_and_the_likeness_stands_below() -> None:
    near, far = np.array([[0.5, 0.2, 0.1], [0.3, 0.3, 0.3]]), np.array([[0.1, 0.2, 0.7]])
    fig = draw_weights_by_distance({"near": near, "far": far}, 0.25, [0.9, 0.4], unit="frame")
    first, second, data = fig.axes
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["near", "far", "the data: likeness to the next frame"]
    *heads, mean = first.get_lines()
    np.testing.assert_array_equal([line.get_ydata() for line in heads], near)
    assert {line.get_color() for line in heads} == {CYCLE[0]} and set(mean.get_ydata()) == {0.25}
    assert second.get_lines()[0].get_color() == CYCLE[1]
    assert list(data.get_lines()[0].get_ydata()) == [0.9, 0.4] and "frames" in data.get_xlabel()


def test_the_largest_bar_names_its_distance() -> None:
    fig = draw_distance_bars({"at 64": [0.1, 0.1, 0.8], "at 256": [0.01, 0.0, 0.0, 0.03]}, 2, shown=4)
    first, second = fig.axes
    assert [text.get_text() for text in (*first.texts, *second.texts)] == ["2 steps", "3 steps"]
    heights = [segment[1][1] for segment in first.collections[0].get_segments()]
    np.testing.assert_allclose(heights, [0.1, 0.1, 0.8])
    (shade,) = first.patches
    assert shade.get_x() == -0.5 and shade.get_width() == 2  # distances 0 and 1
    assert first.get_xlim()[1] == 4 and second.get_ylim()[1] == 0.05 and second.get_xlabel()
