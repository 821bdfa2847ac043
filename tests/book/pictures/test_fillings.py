"""What several models put into a gap."""

import numpy as np
import pytest

from rtx_book.page.explorer import explorer
from rtx_book.page.figure import to_svg
from rtx_book.pictures.pretraining import describe_fillings, draw_fillings

GIVEN = {
    "sentence": ["from", "monday", "two", "days", "on"],
    "place": 2,
    "words": ["from", "one", "two", "three"],
    "shares": {"left\nto right": [0.0, 0.4, 0.35, 0.25], "BERT": np.array([0.0, 0.003, 0.99, 0.007])},
    "rows": 3,
}


def test_words_are_rows_and_models_columns() -> None:
    fig = draw_fillings(**GIVEN)
    (ax,) = fig.axes
    assert fig.get_suptitle() == "from monday ____ days on"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two", "three"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["left\nto right", "BERT"]
    np.testing.assert_allclose(
        ax.get_images()[0].get_array()[..., 3], 0.75 * np.array([[0.4, 0.003], [0.35, 0.99], [0.25, 0.007]])
    )
    written = {(*text.get_position(), text.get_text()) for text in ax.texts}
    assert written == {(0, 0, ".40"), (0, 1, ".35"), (1, 1, ".99"), (0, 2, ".25"), (1, 2, ".01")}


def test_the_rows_are_those_that_some_model_takes_for_likely() -> None:
    one = draw_fillings(**GIVEN | {"rows": 2})
    assert [label.get_text() for label in one.axes[0].get_yticklabels()] == ["one", "two"]


def test_in_words() -> None:
    said = describe_fillings(**GIVEN)
    assert said == ("from monday ____ days on. Hidden: “two”. left to right: “one” 0.40, “two” 0.35; BERT: “two” 0.99.")


def test_an_explorer_of_gaps() -> None:
    page = explorer(lambda place: draw_fillings(**GIVEN | {"place": place}), range(5), "gap", alt="Five gaps.").data
    assert page.count('class="frame"') == 5 and len(to_svg(draw_fillings(**GIVEN), "A gap.")) < 10_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"place": 5}, "place must be from 0 to 4, got 5"),
        ({"shares": {}}, "shares must hold at least one model, got none"),
        ({"rows": 0}, "rows must be at least 1, got 0"),
        ({"shares": {"BERT": [1.0]}}, r"shares\['BERT'\] must have shape \(4,\), got \(1,\)"),
        ({"shares": {"BERT": [2.0, 0, 0, 0]}}, "from 0 to 1"),
    ],
)
def test_bad_arguments_are_named(change, message) -> None:
    for function in (draw_fillings, describe_fillings):
        with pytest.raises(ValueError, match=message):
            function(**GIVEN | change)
