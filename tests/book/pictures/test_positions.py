"""Pictures of position schemes: what a cell says, without colour too."""

import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from support.drawn import hatched, opacity, words

from rtx_book.pictures.positions import draw_bias, draw_position_table, draw_rotations, length_heatmap
from rtx_lib.plots import CYCLE


def test_a_tables_column_is_a_position(ax: Axes) -> None:
    draw_position_table(ax, torch.tensor([[0.0, 1.0], [1.0, -1.0], [0.5, 0.0]], requires_grad=True))
    np.testing.assert_allclose(opacity(ax), [[0.5, 1, 0.75], [1, 0, 0.5]])


def test_a_sign_is_seen_without_colour_and_what_is_masked_is_hatched(ax: Axes) -> None:
    bias = np.subtract.outer(np.arange(12.0), np.arange(12.0))  # above 0 where i > j
    bias[0, 11], bias[11, 11] = np.nan, -np.inf
    draw_bias(ax, bias, diagonals=(0, 4))
    plus = next(line for line in ax.get_lines() if line.get_marker() == "+")
    assert {(int(i), int(j)) for j, i in plus.get_xydata()} == {(i, j) for i in range(12) for j in range(i)}
    assert hatched(ax) == {(11, 0), (11, 11)}
    assert sorted(words(ax)) == ["$i-j=4$", "$i=j$"]


@pytest.mark.parametrize(("start", "stop", "angle"), [(50, 10, 40), (350, 10, 20)])
def test_rotations_write_the_angle_the_short_way(ax: Axes, start: float, stop: float, angle: float) -> None:
    turns = np.radians([start, stop])
    draw_rotations(ax, np.stack([np.cos(turns), np.sin(turns)], axis=1), ["a", "b"], CYCLE[:2])
    assert words(ax) == ["a", "b", f"{angle}°"]


def test_lengths_past_the_training_stand_behind_the_line(ax: Axes) -> None:
    values = [[1.0, 0.9, 0.25], [1.0, np.nan, np.nan], [0.5, 0.0, np.nan]]
    length_heatmap(ax, values, ["rotary", "learned", "none"], [32, 64, 1024])
    cells, missing = ["1.00", ".90", ".25", "1.00", ".50", ".00"], ["not defined", "not\ndefined"]
    assert words(ax) == [*cells, *missing, "trained at 64", "longer than in training"]
    assert hatched(ax) == {(1, 1), (2, 1), (2, 2)}


def test_seeds_give_median_and_range(ax: Axes) -> None:
    length_heatmap(ax, np.array([[[1.0, 0.3]], [[0.995, 0.9]], [[1.0, 0.5]]]), ["rotary"], [50, 100])
    assert words(ax)[:3] == ["1.00", ".50", ".30–.90"]
