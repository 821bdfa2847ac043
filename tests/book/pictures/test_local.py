"""The drawings of a LocalRNN: what is lit is what reaches the output, by more than colour."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Circle, FancyBboxPatch
from support.drawn import words

from rtx_book.pictures.r_transformer import describe_reach, draw_reach, draw_windows
from rtx_lib.plots import CYCLE
from rtx_lib.plots.style import GREY

NEAR, FAR = CYCLE[:2]


def rows(ax: Axes) -> dict[float, dict[int, Circle]]:
    """Circles by height and place."""
    found: dict[float, dict[int, Circle]] = {}
    for patch in ax.patches:
        if isinstance(patch, Circle):
            x, y = patch.center
            assert int(x) not in found.setdefault(round(y, 3), {}), "two circles in one place"
            found[round(y, 3)][int(x)] = patch
    return dict(sorted(found.items()))


def lit(row: dict[int, Circle], colour: str) -> list[int]:
    return sorted(x for x, circle in row.items() if to_hex(circle.get_edgecolor()) == colour)


# ---- the window


def test_a_window_ends_at_its_output() -> None:
    (ax,) = draw_windows().axes
    local, h_local, plain, h_plain = rows(ax).values()
    assert sorted(local) == list(range(-1, 9))
    assert lit(plain, NEAR) == [1, 2, 3, 4, 5, 6] and lit(local, NEAR) == [4, 5, 6]
    assert lit(h_local, NEAR) == lit(h_plain, NEAR) == [6]
    zeros = [x for x, circle in local.items() if circle.get_linestyle() not in ("-", "solid")]
    assert sorted(zeros) == [-1, 0]  # dashed, and hollow
    assert all(local[x].get_facecolor()[3] == 0 for x in zeros)


def test_a_run_has_a_box_for_each_input_of_the_window_and_starts_from_zero() -> None:
    (ax,) = draw_windows().axes
    boxes = [box for box in ax.patches if isinstance(box, FancyBboxPatch)]
    places = {(round(box.get_x() + 0.27), round(box.get_y() + 0.27, 2)) for box in boxes}
    local, plain = min(y for _, y in places), max(y for _, y in places)
    assert sorted(x for x, y in places if y == local) == [4, 5, 6]
    assert sorted(x for x, y in places if y == plain) == list(range(1, 9))
    assert len(boxes) == 11
    wide = sorted(x for box in boxes for x in [round(box.get_x() + 0.27)] if box.get_linewidth() > 2)
    assert wide == sorted([4, 5, 6, 1, 2, 3, 4, 5, 6])  # the RNN's steps after h_6 are not lit
    assert [text.get_position()[1] for text in ax.texts if text.get_text() == "0"][-2:] == [plain, local]


def test_bars_cover_their_windows_and_never_each_other() -> None:
    (ax,) = draw_windows().axes
    bars = [line.get_xydata() for line in ax.get_lines()]
    assert [int(np.floor(bar[1, 0])) for bar in bars] == [1, 6, 7]
    assert all(round(bar[1, 0] - bar[0, 0], 2) == 2.76 for bar in bars)  # three inputs
    assert bars[0][1, 0] < bars[1][0, 0] and bars[1][0, 1] > bars[2][0, 1]
    (solid,) = (line for line in ax.get_lines() if line.get_linestyle() == "-")
    assert solid.get_color() == NEAR and int(np.floor(solid.get_xdata()[1])) == 6
    assert [text for text in words(ax) if text.startswith("window")] == [f"window of $h_{{{t}}}$" for t in (1, 6, 7)]


# ---- what reaches an output


@pytest.mark.parametrize("window", range(1, 9))
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_what_is_lit_reaches_the_output(window: int, layers: int) -> None:
    """Against the paths themselves, walked back from the output."""
    ax = draw_reach(window, layers).axes[0]
    *below, top = rows(ax).values()
    assert sorted(top) == [11]
    near, any_ = {11}, set(range(1, 12))
    for row in below[::-1]:
        assert lit(row, NEAR) == sorted(near)
        assert lit(row, FAR) == sorted(any_ - near)
        assert lit(row, GREY) == [12]
        near = {k for j in near for k in range(max(1, j - window + 1), j + 1)}
    assert len(lit(below[0], NEAR)) == min(11, layers * (window - 1) + 1)


@pytest.mark.parametrize(("window", "layers"), [(1, 1), (4, 1), (3, 2), (8, 3)])
def test_lines_join_an_output_with_its_window(window: int, layers: int) -> None:
    ax = draw_reach(window, layers).axes[0]
    heights = list(rows(ax))
    drawn: dict[str, set[tuple[float, ...]]] = {}
    for line in ax.get_lines():
        ends = np.asarray(line.get_xydata()).reshape(-1, 3, 2)[:, :2]
        drawn.setdefault(line.get_color(), set()).update(
            (x0, min(range(len(heights)), key=lambda r: abs(heights[r] - y0)), x1)
            for (x0, y0), (x1, _) in ends.tolist()
        )
    near: set[tuple[float, ...]] = {(11, layers + 1, 11)}
    ends = {11}
    for row in range(layers, 0, -1):
        near |= {(j, row, k) for j in ends for k in range(max(1, j - window + 1), j + 1)}
        ends = {k for j, r, k in near if r == row}
    local = {
        (j, row, k) for row in range(1, layers + 1) for j in range(1, 12) for k in range(max(1, j - window + 1), j + 1)
    }
    attention = {(11, layers + 1, j) for j in range(1, 11)}
    assert drawn[NEAR] == near
    assert drawn.get(FAR, set()) == (local | attention) - near


def test_near_and_far_differ_without_colour() -> None:
    ax = draw_reach(4).axes[0]
    widths = {
        colour: {line.get_linewidth() for line in ax.get_lines() if line.get_color() == colour}
        for colour in (NEAR, FAR)
    }
    assert min(widths[NEAR]) > 1.5 * max(widths[FAR])
    circles = {to_hex(c.get_edgecolor()): c for c in ax.patches if isinstance(c, Circle)}
    assert circles[NEAR].get_linewidth() == 2 * circles[FAR].get_linewidth()
    assert (
        circles[NEAR].get_facecolor()[3] > 2 * circles[FAR].get_facecolor()[3] > circles[GREY].get_facecolor()[3] == 0
    )


@pytest.mark.parametrize(("window", "layers", "row"), [(4, 1, 0), (3, 2, 1), (1, 1, 0), (6, 3, 2)])
def test_numbers_say_the_order_of_reading(window: int, layers: int, row: int) -> None:
    ax = draw_reach(window, layers).axes[0]
    numbers = {text.get_position(): text.get_text() for text in ax.texts if text.get_text().isdigit()}
    height = list(rows(ax))[row]
    assert numbers == {(11 - window + i, height): str(i) for i in range(1, window + 1)}


def test_a_window_that_begins_before_the_first_input_keeps_its_numbers() -> None:
    ax = draw_reach(12).axes[0]
    assert [text.get_text() for text in ax.texts if text.get_text().isdigit()] == [str(n) for n in range(2, 13)]
    assert ax.get_title() == "LocalRNN alone: 11 inputs; with attention: 11 inputs"


def test_titles_count() -> None:
    assert draw_reach(1).axes[0].get_title() == "LocalRNN alone: 1 input; with attention: 11 inputs"
    assert draw_reach(3, 2).axes[0].get_title() == "LocalRNN alone: 5 inputs; with attention: 11 inputs"
    assert "a window of 3, output 11 depends on the last 5 inputs" in describe_reach(3, 2)
    assert "the last 1 input," in describe_reach(1)
