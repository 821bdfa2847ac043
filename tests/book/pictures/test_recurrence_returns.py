"""A matrix as a memory, who is right how late, and eigenvalues over the training."""

import numpy as np

from rtx_book.page.film import film
from rtx_book.pictures import recurrence_returns as pictures
from rtx_lib.plots import look

KEYS, VALUES = ["Anna", "Bert"], ["hall", "kitchen", "garden"]
SUM = np.array([[[1.0, 0, 0], [0, 0, 0]], [[1, 1, 0], [0, 0, 0]], [[1, 1, 0], [0, 0, -0.37]]])
DELTA = np.array([[[1.0, 0, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, -0.37]]])
STORY = [("Anna is in the hall.", "Anna"), ("Anna is in the kitchen.", "Anna"), ("Bert left.", "Bert")]


def test_a_matrix_a_rule_with_its_numbers() -> None:
    fig = pictures.draw_states({"sum": SUM[2], "delta rule": DELTA[2]}, KEYS, VALUES, row="Bert", title="Bert left.")
    assert [ax.get_title() for ax in fig.axes] == ["sum", "delta rule"] and fig.get_suptitle() == "Bert left."
    written = [{(*text.get_position(), text.get_text()) for text in ax.texts} for ax in fig.axes]
    assert written == [{(0, 0, "1"), (1, 0, "1"), (2, 1, "−.37")}, {(1, 0, "1"), (2, 1, "−.37")}]
    assert [text.get_fontweight() for text in fig.axes[0].get_yticklabels()] == ["normal", "bold"]
    np.testing.assert_allclose(fig.axes[1].get_images()[0].get_array()[..., 3], 0.7 * np.abs(DELTA[2]))


def test_states_in_words_and_an_explorer_over_the_story() -> None:
    said = pictures.describe_states({"sum": SUM[2], "delta rule": 0 * DELTA[0]}, KEYS, VALUES)
    assert said == "sum: Anna hall 1 and kitchen 1, Bert garden −.37; delta rule: empty."
    states = {"sum": SUM, "delta rule": DELTA}
    page = pictures.states_explorer(STORY, states, KEYS, VALUES, title="No eraser", start=2).data
    assert page.count('class="frame"') == 3 and "No eraser" in page
    assert "Anna is in the kitchen. sum: Anna hall 1 and kitchen 1; delta rule: Anna kitchen 1." in page


def test_recall_by_the_size_of_the_state() -> None:
    shares = {"linear attention": [0.2, 0.5, 0.95], "DeltaNet": [0.5, 0.93, 1.0], "GRU": [0.1, 0.2, 0.3]}
    (ax,) = pictures.draw_recall(shares, [4, 8, 16], "8 pairs").axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["DeltaNet"].get_xydata().tolist() == [[16, 0.5], [64, 0.93], [256, 1.0]]
    assert lines["DeltaNet"].get_color() == look("DeltaNet")["color"]
    assert pictures.describe_recall(shares, [4, 8, 16], "8 pairs") == (
        "Written: 8 pairs. To give back 90 %, linear attention needs a state of 256 numbers; "
        "DeltaNet needs a state of 64 numbers; GRU needs more than 256 numbers."
    )


def test_a_line_a_model_in_its_look_smoothed() -> None:
    (ax,) = pictures.draw_tracking({"tanh RNN": np.ones(256), "minGRU": np.r_[np.ones(40), np.full(216, 0.5)]}, 40).axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["minGRU"].get_color() == look("minGRU")["color"] and lines["minGRU"].get_xdata()[-1] == 256
    np.testing.assert_allclose(lines["minGRU"].get_ydata()[39:48:2], [1, 0.875, 0.75, 0.625, 0.5])
    assert {"trained", "guessing"} <= {text.get_text() for text in ax.texts}


def test_eigenvalues_have_a_panel_a_model_and_a_frame_a_moment() -> None:
    panels = {"Mamba": [[[1.0, 0.5], [0.9, 0.5]], [[1.0, 0.999], [0.2, 0.204]]]}
    panels["DeltaNet"] = [[[1.0], [0.1 + 0.5j, 0.1 - 0.5j]], [[1.0], [-1.0]]]
    told = {"Mamba": ["51 %", "50 %"], "DeltaNet": ["52 %", "100 %"]}
    fig, frames = pictures.spectrum_frames(panels, [0, 300], told)
    assert [side.tolist() for side in frames[1]["bit1-0"]] == [[0.2], [0]], "what agrees to two decimals is one mark"
    assert frames[0]["bit1-1"][1].tolist() == [-0.5, 0.5] and frames[1]["told-1"] == "100 %"
    (crosses,) = (line for line in fig.axes[1].get_lines() if line.get_gid() == "bit1-1")
    assert crosses.get_xdata().tolist() == [-1.0], "it shows the last moment"
    said = "Eigenvalues of the step at a 1, real parts: Mamba 0.20; DeltaNet −1.00."
    assert pictures.describe_spectra(panels) == said
    assert "Eigenvalues move." in film(fig, frames, "step", labels=["0", "300"], alt="Eigenvalues move.").data
