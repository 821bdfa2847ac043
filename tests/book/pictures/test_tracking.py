"""Who is right how late, and eigenvalues over the training."""

import numpy as np
import pytest

from rtx_book.page.film import film
from rtx_book.pictures.recurrence_returns import describe_spectra, draw_tracking, spectrum_frames
from rtx_lib.plots import look
from rtx_lib.plots.style import CYCLE

SHARES = {"tanh RNN": np.ones(256), "minGRU": np.r_[np.ones(40), np.full(216, 0.5)]}
PANELS = {
    "Mamba": [[[1.0, 0.5], [0.9, 0.5]], [[1.0, 0.999], [0.2, 0.204]]],
    "DeltaNet": [[[1.0], [0.1 + 0.5j, 0.1 - 0.5j]], [[1.0], [-1.0]]],
}


def test_a_line_a_model_in_its_look_smoothed() -> None:
    (ax,) = draw_tracking(SHARES, 40, width=4).axes
    lines = {line.get_label(): line for line in ax.get_lines()}
    for name in SHARES:
        assert lines[name].get_color() == look(name)["color"]
        assert lines[name].get_xdata()[-1] == 256
    np.testing.assert_allclose(lines["minGRU"].get_ydata()[39:44], [1, 0.875, 0.75, 0.625, 0.5])
    assert {"trained", "guessing"} <= {text.get_text() for text in ax.texts}


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({}, "shares must hold at least one array, got none"),
        ({"LSTM": [0.5, 1.5]}, "finite and from 0 to 1"),
        ({"LSTM": np.ones(4), "GRU": np.ones(5)}, r"shares\['GRU'\] must have shape \(4,\), got \(5,\)"),
    ],
)
def test_shares_that_are_none(shares: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw_tracking(shares, 2)


def test_a_panel_a_model_and_a_frame_a_moment() -> None:
    told = {"Mamba": ["51 %", "50 %"], "DeltaNet": ["52 %", "100 %"]}
    fig, frames = spectrum_frames(PANELS, [0, 300], told)
    assert [ax.get_title() for ax in fig.axes[:2]] == list(PANELS)
    assert len(frames) == 2 and set(frames[0]) == set(frames[1])
    x, y = frames[1]["bit1-0"]
    assert x.tolist() == [0.2] and y.tolist() == [0], "values that agree to two decimals are one mark"
    assert frames[0]["bit1-1"][1].tolist() == [-0.5, 0.5]
    assert frames[1]["told-1"] == "100 %"
    rings, crosses = (next(a for a in fig.findobj() if a.get_gid() == f"bit{bit}-1") for bit in (0, 1))
    assert (rings.get_color(), crosses.get_color()) == CYCLE[:2]
    assert crosses.get_xdata().tolist() == [-1.0], "it shows the last moment"
    page = film(fig, frames, "training step", labels=["0", "300"], alt="Eigenvalues move.").data
    assert len(page) < 100_000


def test_in_words() -> None:
    assert describe_spectra(PANELS) == "Eigenvalues of the step at a 1, real parts: Mamba 0.20; DeltaNet −1.00."
    assert "Mamba 0.50 to 0.90" in describe_spectra(PANELS, 0)


@pytest.mark.parametrize(
    ("panels", "message"),
    [
        ({}, "panels must hold at least one"),
        ({"a": PANELS["Mamba"][:1]}, r"panels\['a'\] must hold two sets for each of 2 moments"),
        ({"a": [[[1.0]], [[1.0]]]}, r"panels\['a'\] must hold two sets"),
        ({"a": [[[np.nan], [1.0]], [[1.0], [1.0]]]}, "eigenvalues of 'a' must be finite"),
    ],
)
def test_spectra_that_are_none(panels: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spectrum_frames(panels, [0, 1])
