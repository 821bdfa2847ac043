"""Pictures of position schemes: what a cell says, without colour too, and what is refused."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Arc
from matplotlib.text import Annotation
from support.drawn import hatched, opacity, words

from rtx_book.page.figure import to_svg
from rtx_book.pictures.positions import draw_bias, draw_position_table, draw_rotations, length_heatmap
from rtx_lib.plots import CYCLE

HIDDEN = -np.inf


def relative(values: Any, size: int) -> np.ndarray:
    """Values of the distances 1 - size to size - 1 along the diagonals i - j."""
    i = np.arange(size)
    return np.asarray(values, dtype=float)[i[:, None] - i + size - 1]


# ---- tables


def test_a_tables_column_is_a_position(ax: Axes) -> None:
    table = torch.tensor([[0.0, 1.0], [1.0, -1.0], [0.5, 0.0]], requires_grad=True)
    draw_position_table(ax, table)
    np.testing.assert_allclose(opacity(ax), [[0.5, 1, 0.75], [1, 0, 0.5]])
    assert (ax.get_xlim(), ax.get_ylim()) == ((-0.5, 2.5), (1.5, -0.5))
    (bar,) = ax.child_axes
    assert list(bar.get_yticks()) == [-1, 0, 1]


# ---- biases


@pytest.mark.parametrize("hidden", [np.nan, HIDDEN])
def test_a_sign_is_seen_without_colour(ax: Axes, hidden: float) -> None:
    bias = relative(np.linspace(-1, 1, 23), 12)  # above 0 where i > j
    bias[:, 11] = hidden
    draw_bias(ax, bias, diagonals=(0, 4))
    plus = next(line for line in ax.get_lines() if line.get_marker() == "+")
    assert {(int(i), int(j)) for j, i in plus.get_xydata()} == {(i, j) for i in range(12) for j in range(i)} - {
        (11, 11)
    }
    assert hatched(ax) == {(11, i) for i in range(12)}
    assert sorted(words(ax)) == ["$i-j=4$", "$i=j$"]


def test_a_marked_diagonal_runs_along_its_distance_and_signs_may_be_missing(ax: Axes) -> None:
    draw_bias(ax, -np.ones((10, 10)), diagonals=(0, 5))
    lines = [line.get_xydata().tolist() for line in ax.get_lines() if len(line.get_xdata())]
    assert lines == [[[-0.5, -0.5], [9.5, 9.5]], [[-0.5, 4.5], [4.5, 9.5]]]
    assert list(ax.child_axes[0].get_yticks()) == [-1, 0] and not ax.child_axes[0].get_lines()


def test_a_bias_of_zeros_and_a_large_one_stay_small(ax: Axes) -> None:
    draw_bias(ax, np.zeros((3, 3)))
    fig, other = plt.subplots()
    draw_bias(other, relative(np.linspace(-1, 1, 47), 24))
    assert len(to_svg(fig, "a bias")) < 60_000


# ---- rotations


@pytest.mark.parametrize(("start", "stop", "angle"), [(10, 50, 40), (50, 10, 40), (350, 10, 20), (50, 350, 60)])
def test_rotations_write_the_angle_the_short_way(ax: Axes, start: float, stop: float, angle: float) -> None:
    turns = np.radians([start, stop])
    vectors = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    draw_rotations(ax, vectors, ["a", "b"], CYCLE[:2])
    assert words(ax) == ["a", "b", f"{angle}°"]
    (arc,) = (patch for patch in ax.patches if isinstance(patch, Arc))
    np.testing.assert_allclose(arc.theta2 - arc.theta1, angle)
    np.testing.assert_allclose([text.xy for text in ax.texts if isinstance(text, Annotation)], vectors)


# ---- lengths


def test_lengths_past_the_training_stand_behind_the_line(ax: Axes) -> None:
    values = [[1.0, 0.9, 0.25], [1.0, np.nan, np.nan], [0.5, 0.0, np.nan]]
    length_heatmap(ax, values, ["rotary", "learned", "none"], [32, 64, 1024])
    cells, missing = ["1.00", ".90", ".25", "1.00", ".50", ".00"], ["not defined", "not\ndefined"]
    assert words(ax) == [*cells, *missing, "trained at 64", "longer than in training"]
    assert hatched(ax) == {(1, 1), (2, 1), (2, 2)}
    (line,) = ax.get_lines()
    assert list(line.get_xdata()) == [1.5, 1.5]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["32", "64", "1,024"]
    np.testing.assert_allclose(opacity(ax)[0], [0.75, 0.675, 0.1875])


def test_seeds_give_median_and_range(ax: Axes) -> None:
    values = np.array([[[1.0, 0.3]], [[0.995, 0.9]], [[1.0, 0.5]]])
    length_heatmap(ax, values, ["rotary"], [50, 100], trained=64)
    assert words(ax)[:3] == ["1.00", ".50", ".30–.90"]
    assert list(ax.get_lines()[0].get_xdata()) == [0.5, 0.5]
