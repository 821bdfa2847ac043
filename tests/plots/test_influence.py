"""Influence over distance and as maps: what a point or a cell says, where a line ends, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch

from rtx_lib.plots import film, influence_curves, influence_frames, influence_maps, look, style, to_svg


@pytest.fixture(autouse=True)
def book_style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}), style():
        yield
    plt.close("all")


@pytest.fixture
def ax() -> Axes:
    return plt.subplots()[1]


def named(ax: Axes, label: str) -> Line2D:
    (line,) = (line for line in ax.get_lines() if line.get_label() == label)
    return line


FALLING = 0.5 ** np.arange(40)[::-1]  # the most recent input last
FIELD = np.array([0.0] * 5 + [1.0, 2.0, 5.0])


# ---- curves


def test_a_curve_counts_back_from_the_output_and_sums_to_one(ax: Axes) -> None:
    influence_curves(ax, {"level": torch.full((4,), 7.0), "rising": np.array([1.0, 2.0, 3.0, 4.0])})
    np.testing.assert_allclose(named(ax, "level").get_xydata(), [(i, 0.25) for i in (1, 2, 3, 4)])
    np.testing.assert_allclose(named(ax, "rising").get_xydata(), [(1, 0.4), (2, 0.3), (3, 0.2), (4, 0.1)])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [text.get_text() for text in ax.texts] == ["rising", "level"]  # at the lines, the lowest first


def test_a_curve_that_falls_below_the_floor_leaves_without_a_cross(ax: Axes) -> None:
    influence_curves(ax, {"RNN": FALLING}, floor=1e-3)
    assert len(named(ax, "RNN").get_xdata()) == 9  # 2^-9 > 0.001 > 2^-10
    assert [line.get_label() for line in ax.get_lines()] == ["RNN"]
    assert ax.get_ylim()[0] < 1e-3


def test_a_curve_that_ends_at_zero_ends_in_a_cross(ax: Axes) -> None:
    influence_curves(ax, {"TCN": FIELD})
    cross, drop = (line for line in ax.get_lines() if line.get_label() == "_end")
    assert cross.get_marker() == "x" and cross.get_xydata().tolist() == [[3, 0.125]]
    assert drop.get_xdata().tolist() == [3, 3] and drop.get_ydata()[1] == ax.get_ylim()[0]


def test_runs_make_a_median_and_a_band(ax: Axes) -> None:
    runs = np.stack([FIELD, FIELD * 100, FIELD[::-1] + 1])
    influence_curves(ax, {"three": runs})
    np.testing.assert_allclose(named(ax, "three").get_ydata()[:3], [0.625, 0.25, 0.125])
    assert len(ax.collections) == 1


def test_what_the_architecture_lets_through_is_marked(ax: Axes) -> None:
    influence_curves(ax, {"RNN": FALLING, "TCN": FIELD}, reaches={"TCN": 1234})
    line = named(ax, "_reach")
    assert list(line.get_xdata()) == [1234, 1234] and line.get_color() == look("tcn")["color"]
    assert "1,234 inputs" in [text.get_text() for text in ax.texts]


def test_lines_differ_without_colour_and_markers_are_sparse(ax: Axes) -> None:
    lines = {name: np.arange(1.0, 2000.0) ** power for name, power in (("a", 1), ("b", 2), ("c", 3), ("d", 4))}
    influence_curves(ax, lines)
    drawn = [named(ax, name) for name in lines]
    assert len({line.get_marker() for line in drawn}) == len({str(line._unscaled_dash_pattern) for line in drawn}) == 4
    marks = np.array(drawn[0].get_markevery())
    assert len(marks) <= 7 and marks[0] == 0
    steps = np.diff(np.log(marks + 1))
    assert steps.max() < 1.25 * steps.min()  # equally far apart on the page
    assert len(to_svg(ax.figure, "curves")) < 200_000


# ---- maps


def causal(size: int, past: Callable[[np.ndarray], Any]) -> np.ndarray:
    distance = np.arange(size)[:, None] - np.arange(size)
    return np.where(distance >= 0, past(np.maximum(distance, 0)), 0.0)


def opacity(ax: Axes) -> np.ndarray:
    (image,) = ax.get_images()
    return np.asarray(image.get_array())[..., 3]


def test_a_cell_is_the_logarithm_of_its_share() -> None:
    _, axes = plt.subplots(1, 2)
    influence_maps(
        axes, {"own": 5 * np.eye(3), "two": np.array([[3.0, 0, 0], [0.1, 9.9, 0], [1, 1e-5, 99]])}, floor=1e-4
    )
    np.testing.assert_allclose(opacity(axes[0]), np.eye(3))
    shares = np.array([[1, 1e-9, 1e-9], [0.01, 0.99, 1e-9], [0.01, 1e-9, 0.99]])
    np.testing.assert_allclose(opacity(axes[1]), np.maximum(0, 1 + np.log10(shares) / 4), atol=1e-6)
    (bar,) = axes[1].child_axes
    assert [tick.get_text() for tick in bar.get_yticklabels()] == ["1e-4", "1"]
    assert not axes[0].child_axes


def test_inputs_without_any_influence_are_hatched_and_the_future_is_blank() -> None:
    fig, axes = plt.subplots(2, 2)
    maps = {"field": causal(6, lambda d: d < 3), "far": causal(6, lambda d: 1e-9**d), "a": np.eye(6), "b": np.eye(6)}
    influence_maps(axes, {name: torch.from_numpy(cells) for name, cells in maps.items()})
    shapes = [[patch for patch in ax.patches if isinstance(patch, PathPatch)] for ax in axes.flat]
    assert [len(found) for found in shapes] == [1, 0, 1, 1]
    corners = shapes[0][0].get_path().vertices[::5] + 0.5
    assert {(int(i), int(j)) for j, i in corners} == {(3, 0), (4, 0), (4, 1), (5, 0), (5, 1), (5, 2)}
    np.testing.assert_allclose(opacity(axes[0, 1]), np.eye(6), atol=1e-9)  # below the floor: blank as well
    assert [ax.get_title() for ax in axes.flat] == list(maps)
    assert [ax.get_xlabel() for ax in axes.flat] == ["", "", "input", "input"]
    assert [ax.get_ylabel() for ax in axes.flat] == ["output", "", "output", ""]
    assert len(to_svg(fig, "maps")) < 60_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ax: influence_curves(ax, {}), "curves must hold at least one model"),
        (lambda ax: influence_curves(ax, {"a": np.ones((2, 2, 2))}), r"curves must have shape \(T,\) or \(runs, T\)"),
        (lambda ax: influence_curves(ax, {"a": [1, -1]}), r"curves\['a'\] must be finite, at least 0"),
        (lambda ax: influence_curves(ax, {"a": [1, np.nan]}), r"curves\['a'\] must be finite"),
        (lambda ax: influence_curves(ax, {"a": [[1, 1], [0, 0]]}), "no row all 0"),
        (lambda ax: influence_curves(ax, {"a": FIELD}, reaches={"b": 3}), r"out of \['a'\], had 'b': 3"),
        (lambda ax: influence_curves(ax, {"a": FIELD}, reaches={"a": 0}), "at least 1 .* had 'a': 0"),
        (lambda ax: influence_curves(ax, {"a": FIELD}, floor=0), "floor must be between 0 and 1, was 0"),
        (lambda ax: influence_curves(ax, {"a": FIELD}, floor=0.7), "floor must be at most 0.625, .* 'a' .* was 0.7"),
        (lambda ax: influence_maps(ax, {}), r"axes must be as many as maps \(0\), at least one, were 1"),
        (lambda ax: influence_maps(ax, {"a": np.eye(2), "b": np.eye(2)}), r"as many as maps \(2\), .* were 1"),
        (lambda ax: influence_maps(ax, {"a": np.ones((2, 3))}), r"maps\['a'\] must have shape \(T, T\), was \(2, 3\)"),
        (lambda ax: influence_maps(ax, {"a": np.ones(3)}), r"maps\['a'\] must have shape \(T, T\), was \(3,\)"),
        (lambda ax: influence_maps(ax, {"a": np.diag([1, 0])}), r"maps\['a'\] must be .* no row all 0"),
        (lambda ax: influence_maps(ax, {"a": np.eye(2)}, floor=1), "floor must be between 0 and 1, was 1"),
    ],
)
def test_bad_arguments(ax: Axes, call: Callable[[Axes], None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(ax)
    assert not ax.get_lines() and not ax.get_images() and not ax.texts


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


@pytest.mark.parametrize("sizes", [{}, {"a": np.ones((2, 3))}, {"a": np.ones((2, 2)), "b": np.ones((3, 3))}])
def test_influence_frames_refuse_other_shapes(sizes: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="one shape"):
        influence_frames(sizes)
