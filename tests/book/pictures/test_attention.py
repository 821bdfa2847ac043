"""Pictures of a translator and of a softmax: lines and bars are the numbers given."""

import numpy as np
import pytest
import torch

from rtx_book.pictures.attention import draw_exact, draw_scaling, draw_softmax

SHARES = {"one vector": {"1": [0.9, 1.0], "6": [0.0, 0.2], "8": [0.0, 0.0]}}
SHARES["attention"] = {n: np.array([1.0, 0.8]) for n in SHARES["one vector"]}


def test_shares_stand_at_their_counts():
    (ax,) = draw_exact(SHARES, trained=6).axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in ax.get_lines() if line.get_label() in SHARES}
    assert lines["one vector"] == [[1, 0.95], [6, 0.1], [8, 0.0]]
    assert lines["attention"] == pytest.approx(np.array([[1, 0.9], [6, 0.9], [8, 0.9]]))


def test_variance_and_gradient_have_a_panel_each():
    found = {True: np.ones((3, 2)), False: np.array([[4, 0.3], [16, 0.1], [64, 0.01]])}
    lines = [ax.get_lines()[1] for ax in draw_scaling(found, [4, 16, 64]).axes]
    assert [line.get_ydata().tolist() for line in lines] == [[4, 16, 64], [0.3, 0.1, 0.01]]
    assert [line.get_label() for line in lines] == ["without"] * 2


@pytest.mark.parametrize("width", [1, 4096])
def test_bars_are_the_softmax_with_the_scale_and_without(width):
    scores = torch.tensor([0.3, -1.2, 2.0, 0.5], dtype=torch.float64)
    for ax, factor in zip(draw_softmax(scores, width).axes, (width**0.5, 1.0), strict=True):
        heights = [bar.get_height() for bar in ax.patches]
        np.testing.assert_allclose(heights, (factor * scores).softmax(0), rtol=1e-12)
        assert ax.get_title().endswith(f"max {max(heights):.2f}")
