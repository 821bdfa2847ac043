"""A matrix as a memory: what stands in it, and how much it gives back."""

import numpy as np
import pytest

from rtx_book.pictures.recurrence_returns import (
    describe_recall,
    describe_states,
    draw_recall,
    draw_states,
    states_explorer,
)
from rtx_lib.plots import look

KEYS, VALUES = ["Anna", "Bert"], ["hall", "kitchen", "garden"]
SUM = np.array([[[1.0, 0, 0], [0, 0, 0]], [[1, 1, 0], [0, 0, 0]], [[1, 1, 0], [0, 0, -0.37]]])
DELTA = np.array([[[1.0, 0, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, -0.37]]])
STORY = [("Anna is in the hall.", "Anna"), ("Anna is in the kitchen.", "Anna"), ("Bert left.", "Bert")]


def test_a_matrix_a_rule_with_its_numbers() -> None:
    fig = draw_states({"sum": SUM[2], "delta rule": DELTA[2]}, KEYS, VALUES, row="Bert", title="Bert left.")
    first, second = fig.axes
    assert [ax.get_title() for ax in fig.axes] == ["sum", "delta rule"]
    written = [{(*text.get_position(), text.get_text()) for text in ax.texts} for ax in fig.axes]
    assert written[0] == {(0, 0, "1"), (1, 0, "1"), (2, 1, "−.37")}
    assert written[1] == {(1, 0, "1"), (2, 1, "−.37")}
    weights = [text.get_fontweight() for text in first.get_yticklabels()]
    assert weights == ["normal", "bold"]
    opacity = second.get_images()[0].get_array()[..., 3]
    np.testing.assert_allclose(opacity, 0.7 * np.abs(DELTA[2]))
    assert fig.get_suptitle() == "Bert left."


def test_in_words() -> None:
    said = describe_states({"sum": SUM[2], "delta rule": DELTA[0]}, KEYS, VALUES)
    assert said == "sum: Anna hall 1 and kitchen 1, Bert garden −.37; delta rule: Anna hall 1."
    assert describe_states({"sum": 0 * SUM[0]}, KEYS, VALUES) == "sum: empty."


def test_an_explorer_over_the_story() -> None:
    page = states_explorer(STORY, {"sum": SUM, "delta rule": DELTA}, KEYS, VALUES, title="No eraser", start=2).data
    assert page.count('class="frame"') == 3 and "No eraser" in page
    assert "Anna is in the kitchen. sum: Anna hall 1 and kitchen 1; delta rule: Anna kitchen 1." in page
    assert len(page) < 100_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": {}}, "states must hold at least one matrix, got none"),
        ({"states": {"sum": SUM}}, r"states\['sum'\] must have shape \(2, 3\)"),
        ({"row": "Carl"}, r"row must be one of \['Anna', 'Bert'\], got 'Carl'"),
    ],
)
def test_states_that_are_none(change: dict, message: str) -> None:
    given = {"states": {"sum": SUM[0]}, "keys": KEYS, "values": VALUES} | change
    with pytest.raises(ValueError, match=message):
        draw_states(**given)


def test_recall_by_the_size_of_the_state() -> None:
    shares = {"linear attention": [0.2, 0.5, 0.95], "DeltaNet": [0.5, 0.93, 1.0]}
    (ax,) = draw_recall(shares, [4, 8, 16], "8 pairs", line=20).axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["DeltaNet"].get_xdata().tolist() == [16, 64, 256]
    assert lines["DeltaNet"].get_color() == look("DeltaNet")["color"]
    assert lines["_line"].get_xdata() == [20, 20]
    assert ax.get_title(loc="left") == "written: 8 pairs"
    said = describe_recall(shares, [4, 8, 16], "8 pairs")
    assert said == (
        "Written: 8 pairs. To give back 90 %, linear attention needs a state of 256 numbers; "
        "DeltaNet needs a state of 64 numbers."
    )
    assert "needs more than 64 numbers" in describe_recall({"DeltaNet": [0.1, 0.2]}, [4, 8], "99 pairs")
    with pytest.raises(ValueError, match=r"shares\['DeltaNet'\] must have shape \(2,\), got \(1,\)"):
        draw_recall({"DeltaNet": [0.1]}, [4, 8], "9 pairs")
