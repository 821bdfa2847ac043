"""Influence over distance and as maps: what a point or a cell says, where a line ends, and what is refused."""

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from rtx_book.page.figure import to_svg
from rtx_book.page.film import film
from rtx_book.pictures.recurrence import (
    draw_distance_bars,
    draw_weights_by_distance,
    influence_curves,
    influence_frames,
)
from rtx_lib.plots import CYCLE, look


def named(ax: Axes, label: str) -> Line2D:
    (line,) = (line for line in ax.get_lines() if line.get_label() == label)
    return line


FALLING = 0.5 ** np.arange(40)[::-1]  # the most recent input last
FIELD = np.array([0.0] * 5 + [1.0, 2.0, 5.0])


# ---- curves


def test_a_curve_counts_back_from_the_output_and_sums_to_one() -> None:
    (ax,) = influence_curves({"level": torch.full((4,), 7.0), "rising": np.array([1.0, 2.0, 3.0, 4.0])}).axes
    np.testing.assert_allclose(named(ax, "level").get_xydata(), [(i, 0.25) for i in (1, 2, 3, 4)])
    np.testing.assert_allclose(named(ax, "rising").get_xydata(), [(1, 0.4), (2, 0.3), (3, 0.2), (4, 0.1)])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in ax.texts] == ["rising", "level"]  # at the lines, the lowest first


def test_a_curve_that_falls_below_the_floor_leaves_without_a_cross() -> None:
    (ax,) = influence_curves({"RNN": FALLING}).axes
    assert len(named(ax, "RNN").get_xdata()) == 23  # 2^-23 > 1e-7 > 2^-24
    assert [line.get_label() for line in ax.get_lines()] == ["RNN"]
    assert ax.get_ylim()[0] < 1e-7


def test_a_curve_that_ends_at_zero_ends_in_a_cross() -> None:
    (ax,) = influence_curves({"TCN": FIELD}).axes
    cross, drop = (line for line in ax.get_lines() if line.get_label() == "_end")
    assert cross.get_marker() == "x" and cross.get_xydata().tolist() == [[3, 0.125]]
    assert drop.get_xdata().tolist() == [3, 3] and drop.get_ydata()[1] == ax.get_ylim()[0]


def test_runs_make_a_median_and_a_band() -> None:
    runs = np.stack([FIELD, FIELD * 100, FIELD[::-1] + 1])
    (ax,) = influence_curves({"three": runs}).axes
    np.testing.assert_allclose(named(ax, "three").get_ydata()[:3], [0.625, 0.25, 0.125])
    assert len(ax.collections) == 1


def test_what_the_architecture_lets_through_is_marked() -> None:
    (ax,) = influence_curves({"RNN": FALLING, "TCN": FIELD}, reaches={"TCN": 1234}).axes
    line = named(ax, "_reach")
    assert list(line.get_xdata()) == [1234, 1234] and line.get_color() == look("tcn")["color"]
    assert "1,234 inputs" in [text.get_text() for text in ax.texts]


def test_lines_differ_without_colour_and_markers_are_sparse() -> None:
    lines = {name: np.arange(1.0, 2000.0) ** power for name, power in (("a", 1), ("b", 2), ("c", 3), ("d", 4))}
    (ax,) = influence_curves(lines).axes
    drawn = [named(ax, name) for name in lines]
    assert len({line.get_marker() for line in drawn}) == len({str(line._unscaled_dash_pattern) for line in drawn}) == 4
    marks = np.array(drawn[0].get_markevery())
    assert len(marks) <= 7 and marks[0] == 0
    steps = np.diff(np.log(marks + 1))
    assert steps.max() < 1.25 * steps.min()  # equally far apart on the page
    assert len(to_svg(ax.figure, "two curves")) < 200_000


# ---- one output


def test_a_bar_is_the_influence_and_a_cross_none() -> None:
    sizes = np.tril(np.arange(1.0, 17.0).reshape(4, 4))
    fig, frames = influence_frames({"forwards": sizes, "both ways": sizes + 1})
    assert len(frames) == 4 and [ax.get_title("left") for ax in fig.axes] == ["forwards", "both ways"]
    x, y = frames[1]["bars0"]  # output 2: inputs 1 and 2
    assert np.array_equal(x[~np.isnan(x)], [1, 1, 2, 2]) and np.array_equal(y[~np.isnan(y)], [1e-6, 5, 1e-6, 6])
    assert np.array_equal(frames[1]["none0"][0], [3, 4])
    assert not len(frames[1]["none1"][0]) and np.array_equal(frames[1]["at1"][0], [2, 2])
    assert "book-film" in film(fig, frames, "t", labels=list("1234"), alt="No future.").data


# ---- attention by distance


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
