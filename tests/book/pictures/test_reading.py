"""What hops read, how far fields reach: the numbers given are drawn and told."""

import re

import numpy as np

from rtx_book.pictures import reading

# ---- hops

STORY = {"question": "Where is the ball", "answer": "hall", "right": "hall", "supports": [1, 0]}
STORY["sentences"] = ["Bert went to the hall", "Bert took the ball", "Anna went to the attic"]
STORY["weights"] = np.array([[0.02, 0.9, 0.04, 0.03, 0.01], [0.75, 0.1, 0.05, 0.05, 0.05]])


def test_sentences_are_rows_and_what_is_empty_is_one() -> None:
    fig = reading.draw_hops(**STORY)
    (ax,) = fig.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [*STORY["sentences"], "(empty slots)"]
    opacity = ax.get_images()[0].get_array()[..., 3]
    np.testing.assert_allclose(opacity, 0.75 * np.vstack([STORY["weights"].T[:3], [0.04, 0.1]]), atol=1e-12)
    assert len([patch for patch in ax.patches if patch.get_gid() == "support"]) == 2
    assert fig.get_suptitle() == "Where is the ball? “hall”, right"
    full = {**STORY, "weights": STORY["weights"][:, :3]}
    assert len(reading.draw_hops(**full).axes[0].get_yticklabels()) == 3, "nothing is empty"


def test_hops_in_words() -> None:
    wrong = STORY | {"answer": "attic"}
    said = reading.describe_hops(**wrong)
    assert said.startswith("Where is the ball? “attic”, wrong: hall. hop 1 reads “Bert took the ball” most (0.90); ")
    assert said.endswith("The answer follows from “Bert took the ball” and “Bert went to the hall”.")


# ---- receptive fields

T = 16


def taps(k: int, *dilations: int) -> np.ndarray:
    """Causal convolutions of k taps, one layer a dilation."""
    return np.stack([sum(np.eye(T, k=-i * d) for i in range(k)) > 0 for d in dilations])


BYTENET, CONVS2S = taps(2, 1, 2, 4, 8), taps(3, 1, 1, 1, 1)
MODELS = {"ByteNet": BYTENET, "ConvS2S": CONVS2S, "self-attention": np.stack([np.tri(T, dtype=bool)] * 4)}


def test_fields_grow_by_the_dilation_or_by_the_kernel() -> None:
    assert [reading.seen(BYTENET, n)[0].sum() for n in range(1, 5)] == [2, 4, 8, 16]
    assert [reading.seen(CONVS2S, n)[0].sum() for n in range(1, 5)] == [3, 5, 7, 9]
    assert reading.seen(MODELS["self-attention"], 1)[0].all()
    assert reading.seen(taps(2, 4, 1), 2)[0].nonzero()[0].tolist() == [10, 11, 14, 15], "gaps stay gaps"


def test_what_is_lit_has_a_way_to_the_last_output() -> None:
    (ax,) = reading.draw_field(CONVS2S, 3, "ConvS2S").axes
    circles = [line for line in ax.get_lines() if line.get_marker() == "o" and line.get_markerfacecolor() != "none"]
    lit = {(int(y), int(x)) for line in circles for x, y in line.get_xydata()}
    assert lit == set(map(tuple, np.argwhere(reading.seen(CONVS2S, 3)).tolist()))
    assert ax.get_title() == "ConvS2S, 3 layers: 7 of 16 inputs"


def test_the_explorer_has_a_frame_for_each_model_and_depth() -> None:
    page = reading.field_explorer(MODELS, title="All sees all").data
    frames = re.findall(r'<div class="frame" data-label="([^"]*)"( hidden)?>', page)
    assert [label for label, _ in frames[3:5]] == ["4 layers: 16 of 16", "1 layer: 3 of 16"]
    assert [bool(hidden) for _, hidden in frames] == [False] + 11 * [True]
    assert "All sees all" in page and re.findall(r'<option value="(\d+)">', page) == ["0", "4", "8"]
