"""What several models put into a gap."""

import numpy as np

from rtx_book.pictures.pretraining import describe_fillings, draw_fillings

GIVEN = {"sentence": ["from", "monday", "two", "days", "on"], "place": 2, "words": ["from", "one", "two", "three"]}
GIVEN["shares"] = {"left\nto right": [0.0, 0.4, 0.35, 0.25], "BERT": np.array([0.0, 0.003, 0.99, 0.007])}


def test_words_are_rows_and_models_columns() -> None:
    fig = draw_fillings(**GIVEN, rows=2)
    (ax,) = fig.axes
    assert fig.get_suptitle() == "from monday ____ days on"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two"], "those that some model finds likely"
    np.testing.assert_allclose(ax.get_images()[0].get_array()[..., 3], 0.75 * np.array([[0.4, 0.003], [0.35, 0.99]]))
    written = {(*text.get_position(), text.get_text()) for text in ax.texts}
    assert written == {(0, 0, ".40"), (0, 1, ".35"), (1, 1, ".99")}


def test_in_words() -> None:
    said = describe_fillings(**GIVEN)
    assert said == "from monday ____ days on. Hidden: “two”. left to right: “one” 0.40, “two” 0.35; BERT: “two” 0.99."
