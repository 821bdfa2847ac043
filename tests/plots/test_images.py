"""Images beside beliefs, and rows of images: what is given is what is drawn, in its place."""

import numpy as np

from rtx_lib.plots import draw_beliefs, draw_image_rows

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


def test_rows_of_images_bear_their_names_and_the_line_lies_between_two_rows_of_pixels() -> None:
    rows = {"truth": DRAW.random((3, 8, 6)), "drawn": DRAW.random((3, 8, 6))}
    axes = np.reshape(draw_image_rows(rows, line=4).axes, (2, 3))
    assert [band[0].get_ylabel() for band in axes] == ["truth", "drawn"]
    assert np.array_equal(axes[1, 2].images[0].get_array(), rows["drawn"][2])
    assert all(ax.get_lines()[0].get_ydata()[0] == 3.5 for ax in axes.flat)  # pixel rows 0 to 3 above it
    assert not draw_image_rows(rows).axes[0].get_lines()
