"""Rows of seeds: every value is a mark in its row, the median stands beside the last, a line is where it was asked."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from rtx_lib.plots import CYCLE, MARKERS, draw_strips, look, style


@pytest.fixture(autouse=True)
def book_style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}), style():
        yield
    plt.close("all")


ROWS = {"Group": [], "A": [1.0, 3.0, 1.5], "B": np.array([[4.0, 5.0]])}


def test_values_medians_and_line_are_those_given() -> None:
    fig = draw_strips(ROWS, "loss (nats)", looks={"B": "lstm"}, line=(2.5, "counting"), digits=1)
    (ax,) = fig.axes
    marks = {line.get_ydata()[0]: line for line in ax.get_lines() if line.get_label() == "_row"}
    assert {y: sorted(line.get_xdata()) for y, line in marks.items()} == {1: [1, 1.5, 3], 2: [4, 5]}
    assert (marks[1].get_color(), marks[1].get_marker()) == (CYCLE[0], MARKERS[0])
    assert (marks[2].get_color(), marks[2].get_marker()) == (look("lstm")["color"], look("lstm")["marker"])
    words = {text.get_text(): text for text in ax.texts}
    assert list(words) == ["1.5", "4.5", "counting"] and (words["1.5"].xy[1], words["4.5"].xy[1]) == (1, 2)
    (line,) = (line for line in ax.get_lines() if line.get_label() == "_line")
    assert list(line.get_xdata()) == [2.5, 2.5]
    assert [text.get_fontweight() for text in ax.get_yticklabels()] == ["bold", "normal", "normal"]
    assert ax.get_xlabel() == "loss (nats)" and ax.yaxis_inverted()  # the first row is at the top


def test_names_in_bold_signs_and_all_inside_the_picture() -> None:
    rows = {"better": [-0.25], "longer name of a row": [0.125, 0.125]}
    fig = draw_strips(rows, "difference", bold=["better"], signed=True)
    fig.draw_without_rendering()
    texts = [*fig.axes[0].texts, *fig.axes[0].get_yticklabels()]
    assert [text.get_text() for text in fig.axes[0].texts] == ["-0.250", "+0.125"]
    assert fig.axes[0].get_yticklabels()[0].get_fontweight() == "bold"
    boxes = [text.get_window_extent() for text in texts]
    assert all(box.x0 >= 0 and box.x1 <= fig.bbox.width for box in boxes)


def test_a_title_stands_above_the_line_s_name_and_the_axis_ends_where_asked() -> None:
    fig = draw_strips(ROWS, "loss", line=(2.5, "counting"), title="A leads", xlim=(0, 6))
    (ax,) = fig.axes
    fig.draw_without_rendering()
    name = next(text for text in ax.texts if text.get_text() == "counting")
    assert ax.get_title() == "A leads" and ax.get_xlim() == (0, 6)
    assert ax.title.get_window_extent().y0 >= name.get_window_extent().y1


@pytest.mark.parametrize(
    ("rows", "message"),
    [({}, "must hold values"), ({"Group": []}, "must hold values"), ({"A": [1.0, np.nan]}, "got .* for 'A'")],
)
def test_rows_without_values_are_refused(rows, message) -> None:
    with pytest.raises(ValueError, match=message):
        draw_strips(rows, "loss")
