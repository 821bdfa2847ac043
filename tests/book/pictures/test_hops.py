"""What the hops of a memory network read."""

import numpy as np
import pytest

from rtx_book.page.figure import to_svg
from rtx_book.pictures.parallel import describe_hops, draw_hops, hops_explorer

STORY = {
    "sentences": ["Bert went to the hall", "Bert took the ball", "Anna went to the attic"],
    "weights": np.array([[0.02, 0.9, 0.04, 0.03, 0.01], [0.75, 0.1, 0.05, 0.05, 0.05]]),
    "question": "Where is the ball",
    "answer": "hall",
    "right": "hall",
    "supports": [1, 0],
}


def test_sentences_are_rows_and_what_is_empty_is_one() -> None:
    fig = draw_hops(**STORY)
    (ax,) = fig.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [*STORY["sentences"], "(empty slots)"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["hop 1", "hop 2"]
    opacity = ax.get_images()[0].get_array()[..., 3]
    np.testing.assert_allclose(opacity[:3], 0.75 * STORY["weights"].T[:3], atol=1e-12)
    np.testing.assert_allclose(opacity[3], 0.75 * np.array([0.04, 0.1]), atol=1e-12)
    written = {(*text.get_position(), text.get_text()) for text in ax.texts}
    assert written == {(0, 1, ".90"), (1, 0, ".75"), (1, 1, ".10"), (1, 2, ".05"), (1, 3, ".10")}
    frames = [patch.get_y() + patch.get_height() / 2 for patch in ax.patches if patch.get_gid() == "support"]
    assert frames == pytest.approx([1, 0])
    assert fig.get_suptitle() == "Where is the ball? “hall”, right"


def test_stories_of_other_lengths_have_one_size() -> None:
    short, full = {**STORY, "sentences": STORY["sentences"][:2]}, {**STORY, "weights": STORY["weights"][:, :3]}
    sizes = {tuple(draw_hops(**story, rows=7).get_size_inches()) for story in (short, STORY, full)}
    assert len(sizes) == 1
    labels = draw_hops(**full).axes[0].get_yticklabels()
    assert len(labels) == 3, "nothing is empty"


def test_in_words() -> None:
    said = describe_hops(**STORY | {"answer": "attic"})
    assert said.startswith("Where is the ball? “attic”, wrong: hall. hop 1 reads “Bert took the ball” most (0.90); ")
    assert said.endswith("The answer follows from “Bert took the ball” and “Bert went to the hall”.")
    assert describe_hops(**STORY | {"supports": []}).endswith("(0.75).")


def test_an_explorer_of_several_stories() -> None:
    page = hops_explorer([STORY, STORY | {"answer": "attic"}], title="Two hops", start=1).data
    assert page.count('class="frame"') == 2 and "wrong: hall" in page and "Two hops" in page
    assert len(to_svg(draw_hops(**STORY), "A story.")) < 12_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sentences": []}, "sentences must hold at least one sentence, got none"),
        ({"weights": np.ones((2, 2))}, r"weights must have shape \(K, M\), M at least 3, got \(2, 2\)"),
        ({"weights": -np.ones((2, 3))}, "weights must be finite and at least 0"),
        ({"weights": np.ones(3)}, r"weights must have shape \(K, M\), got \(3,\)"),
        ({"supports": [3]}, r"supports must hold sentences from 0 to 2, got \[3\]"),
    ],
)
def test_what_does_not_fit_is_refused(change, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw_hops(**STORY | change)
