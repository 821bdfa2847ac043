"""Pictures of a translator and of a softmax: what lines and bars say, and what is refused."""

import numpy as np
import pytest
import torch
from support.drawn import check_follows_page, check_inside

from rtx_book.pictures.attention import draw_exact, draw_scaling, draw_softmax

SHARES = {"one vector": {"1": [0.9, 1.0], "6": [0.0, 0.2], "8": [0.0, 0.0]}}
SHARES["attention"] = {n: np.array([1.0, 0.8]) for n in SHARES["one vector"]}


def test_shares_stand_at_their_counts_and_the_training_is_shaded():
    fig = draw_exact(SHARES, trained=6)
    (ax,) = fig.axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in ax.get_lines() if line.get_label() in SHARES}
    assert lines["one vector"] == [[1, 0.95], [6, 0.1], [8, 0.0]]
    assert lines["attention"] == pytest.approx(np.array([[1, 0.9], [6, 0.9], [8, 0.9]]))
    assert ax.patches[0].get_extents().transformed(ax.transData.inverted()).x1 == pytest.approx(6.5)
    assert ax.get_xlim() == (0.5, 8.5)
    check_inside(fig, apart=False)
    check_follows_page(fig)


def test_variance_and_gradient_have_a_panel_each():
    widths = [4, 16, 64]
    fig = draw_scaling({True: np.ones((3, 2)), False: np.array([[4, 0.3], [16, 0.1], [64, 0.01]])}, widths)
    variance, gradient = fig.axes
    assert variance.get_lines()[1].get_ydata().tolist() == [4, 16, 64]
    assert gradient.get_lines()[1].get_ydata().tolist() == [0.3, 0.1, 0.01]
    assert {line.get_label() for line in variance.get_lines()} == {"with the scale", "without"}
    check_follows_page(fig)


@pytest.mark.parametrize("width", [1, 64, 4096])
def test_bars_are_the_softmax_with_the_scale_and_without(width):
    scores = torch.tensor([0.3, -1.2, 2.0, 0.5], dtype=torch.float64)
    fig = draw_softmax(scores, width)
    for ax, factor in zip(fig.axes, (width**0.5, 1.0), strict=True):
        heights = [bar.get_height() for bar in ax.patches]
        np.testing.assert_allclose(heights, (factor * scores).softmax(0), rtol=1e-12)
        assert ax.get_title().endswith(f"max {max(heights):.2f}")
    check_inside(fig)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: draw_exact({}, trained=6), r"shares must hold models tested at the same counts, got \[\]"),
        (lambda: draw_exact({"a": {1: [1]}, "b": {2: [1]}}, trained=1), r"same counts, got \[\[1\], \[2\]\]"),
        (lambda: draw_scaling({True: np.ones((2, 2))}, [4, 16, 64]), r"found must have shape \(3, 2\), got \(2, 2\)"),
        (lambda: draw_softmax([[1.0]], 4), r"scores must have shape \(S,\), got \(1, 1\)"),
        (lambda: draw_softmax([1.0], 0), "width must be at least 1, got 0"),
    ],
)
def test_what_does_not_fit_is_named(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
