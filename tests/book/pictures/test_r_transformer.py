"""The drawings of a LocalRNN: what is lit is what reaches the output, and the words count the same inputs."""

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, FancyBboxPatch

from rtx_book.pictures.r_transformer import describe_reach, draw_reach, draw_windows
from rtx_lib.plots import CYCLE


def lit(fig) -> list[list[int]]:
    """Places of the circles in the colour of what is near, row by row from below."""
    circles = [patch for patch in fig.axes[0].patches if isinstance(patch, Circle)]
    rows = sorted({round(circle.center[1], 3) for circle in circles})
    near = [circle for circle in circles if to_hex(circle.get_edgecolor()) == CYCLE[0]]
    return [sorted(int(c.center[0]) for c in near if round(c.center[1], 3) == row) for row in rows]


def test_a_window_ends_at_its_output() -> None:
    assert lit(draw_windows()) == [[4, 5, 6], [6], [1, 2, 3, 4, 5, 6], [6]]
    runs = [box.get_bbox() for box in draw_windows().axes[0].patches if isinstance(box, FancyBboxPatch)]
    assert sorted(round((box.x0 + box.x1) / 2) for box in runs) == sorted([4, 5, 6, *range(1, 9)])


@pytest.mark.parametrize(("window", "layers"), [(1, 1), (4, 1), (12, 1), (3, 2), (8, 3)])
def test_what_is_lit_reaches_the_output(window: int, layers: int) -> None:
    """Against the paths themselves, walked back from the output."""
    fig, near, rows = draw_reach(window, layers), {11}, [[11]]
    for _ in range(layers + 1):
        rows.insert(0, sorted(near))
        near = {k for j in near for k in range(max(1, j - window + 1), j + 1)}
    assert lit(fig) == rows
    count = f"{len(rows[0])} input{'s' * (len(rows[0]) > 1)}"
    assert fig.axes[0].get_title() == f"LocalRNN alone: {count}; with attention: 11 inputs"
    assert f"the last {count}," in describe_reach(window, layers)


def test_numbers_say_the_order_of_reading() -> None:
    texts = [text for text in draw_reach(4).axes[0].texts if text.get_text().isdigit()]
    assert {text.get_position()[0]: text.get_text() for text in texts} == {8: "1", 9: "2", 10: "3", 11: "4"}
