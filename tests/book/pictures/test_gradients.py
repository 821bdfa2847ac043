"""The film of gradients and eigenvalues, and errors by length: the numbers given are the numbers drawn."""

import matplotlib.pyplot as plt
import numpy as np

from rtx_book.page.film import at_frame, film
from rtx_book.pictures.gates import draw_unrolled
from rtx_book.pictures.vanishing_gradients import (
    draw_layer_gradients,
    error_by_length,
    gradient_frames,
    gradient_panels,
)
from rtx_lib.plots import look

NORMS = np.geomspace(1e-6, 1, 12).reshape(2, 6)
EIGENVALUES = np.array([[0.5 + 0.5j, -0.2], [0.9, 0.0 - 1.2j]])
CURVE = ([1, 80], [0.2, 0.1])


def test_a_frame_has_the_norms_the_eigenvalues_and_their_radius() -> None:
    fig, frames = gradient_frames(NORMS, EIGENVALUES, ["MSE 0.2", "MSE 0.1"], curve=CURVE, line=1 / 6)
    at_frame(fig, frames[1])
    top, _, right = fig.axes
    lines = {line.get_gid(): line for ax in fig.axes for line in ax.get_lines()}
    assert np.array_equal(lines["gradient"].get_xdata(), np.arange(1, 7))
    assert np.array_equal(lines["gradient"].get_ydata(), NORMS[1])
    assert np.array_equal(lines["eigenvalues"].get_xdata(), [0.9, 0.0])
    assert np.array_equal(lines["eigenvalues"].get_ydata(), [0.0, -1.2])
    assert (top.get_title(), right.get_title()) == ("MSE 0.1", "spectral radius 1.20")  # the largest, not the first


def test_the_cursor_stands_in_the_error_curve_where_the_film_is() -> None:
    fig, frames = gradient_frames(NORMS, EIGENVALUES, ["a", "b"], curve=CURVE, line=1 / 6)
    at_frame(fig, frames[1])
    lines = {line.get_gid() or line.get_label(): line for line in fig.axes[0].get_lines()}
    assert set(lines["cursor"].get_xdata()) == {80} and lines["now"].get_xydata().tolist() == [[80, 0.1]]
    assert set(lines["_baseline"].get_ydata()) == {1 / 6}
    assert any(np.array_equal(line.get_xydata(), np.transpose(CURVE)) for line in fig.axes[0].get_lines())


def test_the_frames_make_a_film() -> None:
    fig, frames = gradient_frames(NORMS, EIGENVALUES, ["a", "b"], curve=CURVE)
    assert "book-film" in film(fig, frames, "training", labels=["1", "2"], alt="It moves.").data


def test_panels_show_each_network_its_states_its_title_and_where_the_error_stands() -> None:
    runs = {"LSTM": {"h": NORMS, "c": 2 * NORMS}, "GRU": {"h": 3 * NORMS}}
    titles = {"LSTM": ["LSTM: error 0.2", "LSTM: error 0.1"], "GRU": ["GRU: error 0.4", "GRU: error 0.3"]}
    errors = {"LSTM": [0.2, 0.1], "GRU": [0.4, 0.3]}
    fig, frames = gradient_panels(runs, titles, errors=errors, steps=[1, 50], chance=1 / 6)
    at_frame(fig, frames[1])
    *panels, below = fig.axes
    drawn = [{line.get_gid(): line.get_ydata() for line in ax.get_lines()} for ax in panels]
    assert [set(lines) for lines in drawn] == [{"LSTM h", "LSTM c"}, {"GRU h"}]
    assert np.array_equal(drawn[0]["LSTM c"], 2 * NORMS[1]) and np.array_equal(drawn[1]["GRU h"], 3 * NORMS[1])
    assert [ax.get_title() for ax in panels] == ["LSTM: error 0.1", "GRU: error 0.3"]
    colours = [line.get_color() for ax in panels for line in ax.get_lines()]
    assert colours[::2] == [look("lstm")["color"], look("gru")["color"]] and len(set(colours)) == 3
    curves = {line.get_label(): line for line in below.get_lines()}
    assert np.array_equal(curves["GRU"].get_ydata(), [0.4, 0.3]) and curves["GRU"].get_color() == colours[2]
    (cursor,) = (line for line in below.get_lines() if line.get_gid() == "cursor")
    assert set(cursor.get_xdata()) == {50} and set(curves["_baseline"].get_ydata()) == {1 / 6}
    assert {text.get_text() for text in below.texts if text.get_text()} == set(runs)
    film(fig, frames, "training", labels=["1", "2"], alt="It moves.")


def test_runs_that_diverged_are_counted_at_their_length() -> None:
    ax = plt.subplots()[1]
    errors = {"tanh": {10: [0.1, 0.2, 0.3], 100: [0.2]}, "IRNN": {100: [0.1, np.nan], 200: [np.nan, np.nan]}}
    error_by_length(ax, errors)
    tanh, irnn = ax.get_lines()
    assert np.allclose(tanh.get_data(), [[10, 100], [0.2, 0.2]])
    assert np.allclose(irnn.get_data(), [[100], [0.1]])
    said = [(text.get_text(), text.xy) for text in ax.texts]
    assert said == [("1 of 2\ndiverged", (100, 0.1)), ("2 of 2\ndiverged", (200, 0.0))]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["10", "100", "200"]


def test_the_network_unrolled_names_every_weight_and_every_shape() -> None:
    top, low = draw_unrolled().axes
    words = [text.get_text() for text in top.texts]
    assert [words.count(name) for name in ("$W_{ih}$", "$V$", "$W_{hh}$")] == [5, 5, 3]
    assert {"$x_1$", "$h_1$", "$o_1$", "$h_T$", "···"} <= set(words)
    shapes = [text.get_text() for text in low.texts]
    assert [shapes.count(letter) for letter in "xho"] == [1 + 1 + 3 + 2 + 3, 14, 1 + 3 + 1 + 2 + 3]


def test_a_stack_has_a_line_for_each_kind_and_a_band_for_its_runs() -> None:
    (ax,) = draw_layer_gradients({"pre": [[0.3, 0.1], [0.5, 0.1], [0.4, 0.2]], "post": [0.01, 0.2]}, "two layers").axes
    pre, post = ax.get_lines()
    np.testing.assert_allclose(pre.get_xydata(), [(1, 0.4), (2, 0.1)])
    np.testing.assert_allclose(post.get_ydata(), [0.01, 0.2])
    assert len(ax.collections) == 1 and ax.get_yscale() == "log" and ax.get_title() == "two layers"
    assert {text.get_text() for text in ax.texts} == {"pre", "post"}
