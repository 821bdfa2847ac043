"""The films of gradients and eigenvalues, and errors by length: the numbers given are the numbers drawn."""

import numpy as np
import pytest
from matplotlib.axes import Axes

from rtx_book.page.film import at_frame, film
from rtx_book.pictures.vanishing_gradients import (
    draw_layer_gradients,
    error_by_length,
    gradient_frames,
    gradient_panels,
)
from rtx_lib.plots import look

NORMS = np.geomspace(1e-6, 1, 12).reshape(2, 6)


def test_a_frame_has_the_norms_the_eigenvalues_their_radius_and_its_place_in_the_curve() -> None:
    eigenvalues = np.array([[0.5 + 0.5j, -0.2], [0.9, 0.0 - 1.2j]])
    fig, frames = gradient_frames(NORMS, eigenvalues, ["a", "MSE 0.1"], curve=([1, 80], [0.2, 0.1]), line=1 / 6)
    top, _, right = at_frame(fig, frames[1]).axes
    lines = {line.get_gid() or line.get_label(): line for ax in fig.axes for line in ax.get_lines()}
    assert lines["gradient"].get_xydata().tolist() == [[t, norm] for t, norm in enumerate(NORMS[1], start=1)]
    assert lines["eigenvalues"].get_xydata().tolist() == [[0.9, 0.0], [0.0, -1.2]]
    assert (top.get_title(), right.get_title()) == ("MSE 0.1", "spectral radius 1.20")  # the largest, not the first
    assert set(lines["cursor"].get_xdata()) == {80} and lines["now"].get_xydata().tolist() == [[80, 0.1]]
    assert set(lines["_baseline"].get_ydata()) == {1 / 6}
    assert "book-film" in film(fig, frames, "training", labels=["1", "2"], alt="It moves.").data


def test_panels_show_each_network_its_states_its_title_and_where_the_error_stands() -> None:
    runs = {"LSTM": {"h": NORMS, "c": 2 * NORMS}, "GRU": {"h": 3 * NORMS}}
    titles = {"LSTM": ["LSTM: error 0.2", "LSTM: error 0.1"], "GRU": ["GRU: error 0.4", "GRU: error 0.3"]}
    errors = {"LSTM": [0.2, 0.1], "GRU": [0.4, 0.3]}
    fig, frames = gradient_panels(runs, titles, errors=errors, steps=[1, 50], chance=1 / 6)
    *panels, below = at_frame(fig, frames[1]).axes
    drawn = [{line.get_gid(): line.get_ydata().tolist() for line in ax.get_lines()} for ax in panels]
    norms = NORMS[1].tolist()
    assert drawn[0] == {"LSTM h": norms, "LSTM c": [2 * v for v in norms]}
    assert drawn[1] == {"GRU h": [3 * v for v in norms]}
    assert [ax.get_title() for ax in panels] == ["LSTM: error 0.1", "GRU: error 0.3"]
    curves = {line.get_gid() or line.get_label(): line for line in below.get_lines()}
    assert curves["GRU"].get_ydata().tolist() == [0.4, 0.3] and curves["GRU"].get_color() == look("gru")["color"]
    assert set(curves["cursor"].get_xdata()) == {50} and set(curves["_baseline"].get_ydata()) == {1 / 6}


def test_runs_that_diverged_are_counted_at_their_length(ax: Axes) -> None:
    error_by_length(ax, {"tanh": {10: [0.1, 0.2, 0.3], 100: [0.2]}, "IRNN": {100: [0.1, np.nan], 200: [np.nan] * 2}})
    assert [line.get_xydata().tolist() for line in ax.get_lines()] == [[[10, 0.2], [100, 0.2]], [[100, 0.1]]]
    said = [(text.get_text(), text.xy) for text in ax.texts]
    assert said == [("1 of 2\ndiverged", (100, 0.1)), ("2 of 2\ndiverged", (200, 0.0))]


def test_a_stack_has_a_line_for_each_kind_and_a_band_for_its_runs() -> None:
    (ax,) = draw_layer_gradients({"pre": [[0.3, 0.1], [0.5, 0.1], [0.4, 0.2]], "post": [0.01, 0.2]}, "two layers").axes
    pre, post = (line.get_xydata().tolist() for line in ax.get_lines())
    assert pre == [[1, pytest.approx(0.4)], [2, pytest.approx(0.1)]] and post == [[1, 0.01], [2, 0.2]]
    assert len(ax.collections) == 1 and ax.get_title() == "two layers"
