"""The still picture of the trainer: what the record says is drawn and told."""

from typing import Any

import numpy as np

from rtx_book.page.live_runs import describe_live_runs, draw_live_runs
from rtx_lib.plots import look


def made() -> dict[str, Any]:
    """A record with three runs of two cells, in the shape that `make live` writes."""
    return {
        "setting": {"length": 100, "most": {"rnn": 1500, "gru": 600}},
        "below": {"error": 0.05, "rnn": [None, None, None], "gru": [300, 340, 310]},
        "curves": {
            "rnn": {"step": [1, 700, 1500], "error": [0.5, 0.17, 0.16]},
            "gru": {"step": [1, 280, 400], "error": [0.4, 0.15, 0.004]},
        },
        "norms": {"rnn": [0.0, 1e-20, 1.0], "gru": [None, 0.5, 1.0]},
    }


def test_every_curve_and_every_passing_is_drawn() -> None:
    fig = draw_live_runs(made())
    errors, norms = fig.axes
    curves = {line.get_label(): line for line in errors.lines if not line.get_label().startswith("_")}
    assert list(curves) == ["tanh RNN", "GRU"]
    assert curves["GRU"].get_xydata().tolist() == [[1, 0.4], [280, 0.15], [400, 0.004]]
    assert curves["GRU"].get_color() == look("gru")["color"]
    passed = [line.get_xdata().tolist() for line in errors.lines if line.get_label() == "_passed"]
    assert passed == [[], [300, 340, 310]]
    assert np.isnan(norms.lines[0].get_ydata()[0]) and norms.lines[0].get_ydata()[1] == 1e-20
    assert np.isnan(norms.lines[1].get_ydata()[0])


def test_the_words_are_the_records() -> None:
    said = describe_live_runs(made())
    assert "T = 100" in said and "tanh RNN: none of 3 runs below 0.05 in 1500 steps" in said
    assert "GRU: 3 of 3 runs below 0.05, in the median after 310" in said
    some = made()
    some["below"]["gru"][0] = None
    assert "GRU: 2 of 3 runs below 0.05." in describe_live_runs(some)
