"""Attention by distance: every head is a line of its model's panel, the data's likeness stands below."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from rtx_lib.plots import CYCLE, draw_distance_bars, draw_weights_by_distance, style


@pytest.fixture(autouse=True)
def book_style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}), style():
        yield
    plt.close("all")


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


@pytest.mark.parametrize(
    ("weights", "likeness", "word"),
    [
        ({}, [0.5], "at least one"),
        ({"a": [0.5, 0.5]}, [0.5], "shape"),
        ({"a": [[0.5, 0.5]]}, [0.5] * 3, "shape"),
        ({"a": [[0.5, -0.5]]}, [0.5], "at least 0"),
        ({"a": [[0.5, np.nan]]}, [0.5], "finite"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(weights: dict, likeness: list[float], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        draw_weights_by_distance(weights, 0.25, likeness, unit="frame")


def test_the_largest_bar_names_its_distance() -> None:
    fig = draw_distance_bars({"at 64": [0.1, 0.1, 0.8], "at 256": [0.01, 0.0, 0.0, 0.03]}, 2, shown=4)
    first, second = fig.axes
    assert [text.get_text() for text in (*first.texts, *second.texts)] == ["2 steps", "3 steps"]
    heights = [segment[1][1] for segment in first.collections[0].get_segments()]
    np.testing.assert_allclose(heights, [0.1, 0.1, 0.8])
    (shade,) = first.patches
    assert shade.get_x() == -0.5 and shade.get_width() == 2  # distances 0 and 1
    assert first.get_xlim()[1] == 4 and second.get_ylim()[1] == 0.05 and second.get_xlabel()


@pytest.mark.parametrize("weights", [{}, {"a": [[0.5]]}, {"a": []}, {"a": [-0.1]}, {"a": [np.nan]}])
def test_bars_of_what_is_no_weight_are_refused(weights: dict) -> None:
    with pytest.raises(ValueError, match="weights must"):
        draw_distance_bars(weights, 2, shown=4)
