"""One seed's ranking and lines in the lanes' looks: what is given is what is drawn."""

from typing import Any

import pytest

from rtx_book.pictures.race import describe_ranking, draw_controls, draw_lane_lines, draw_lane_slopes, draw_ranking
from rtx_lib.plots.style import look

LANES = {"rnn": "RNN", "gru": "GRU", "tcn": "TCN"}
TASKS: dict[str, dict[str, Any]] = {
    "digits": {"name": "Digits", "metric": "accuracy", "line": 0.9, "label": "accuracy", "baselines": {}},
    "adding": {"name": "Adding", "metric": "mse", "line": 0.01, "label": "MSE", "baselines": {}},
}
VALUES = {"rnn": {0: 0.5, 1: 0.9}, "gru": {0: 0.7, 1: 0.6}, "tcn": {0: 0.6}}


@pytest.mark.parametrize(("task", "order"), [("digits", ["GRU", "TCN", "RNN"]), ("adding", ["RNN", "TCN", "GRU"])])
def test_the_best_of_the_seed_stands_on_top(task: str, order: list[str]) -> None:
    (ax,) = draw_ranking(TASKS[task], LANES, VALUES, 0).axes
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == [f"{place}. {name}" for place, name in enumerate(order, start=1)]
    low, high = ax.get_ylim()
    assert low > high, "the first row is the upper one"
    seeds = {line.get_label(): line for line in ax.get_lines()}
    assert seeds["_seed"].get_ydata()[0] == 2 and ax.figure.get_suptitle() == f"Seed 0 names {order[0]} the best"
    left, right = ax.get_xlim()
    assert (left < right) == (task == "digits"), "better is to the right"
    assert ax.get_xscale() == ("log" if task == "adding" else "linear")


def test_the_other_seeds_stand_behind_and_who_lacks_the_seed_is_left_out() -> None:
    (ax,) = draw_ranking(TASKS["digits"], LANES, VALUES, 1).axes
    marks = [line.get_xdata() for line in ax.get_lines() if line.get_label() == "_seeds"]
    assert [sorted(mark) for mark in marks] == [[0.5, 0.9], [0.6, 0.7]]
    assert describe_ranking(TASKS["digits"], LANES, VALUES, 1) == "Digits with seed 1, best first: RNN 0.9, GRU 0.6"
    with pytest.raises(ValueError, match="seed must be one that a lane has, got 7"):
        draw_ranking(TASKS["digits"], LANES, VALUES, 7)


def test_lines_have_their_lanes_looks_and_their_names_at_their_ends() -> None:
    curves = {"gru": ([0, 1, 2], [1.0, 1e-9, 1e-2]), "tcn": ([0, 1], [1, 2])}
    settings = {"height": 3, "floor": 1e-6, "every": 2, "yscale": "log", "xlabel": "step", "ylim": (1e-7, 3)}
    (ax,) = draw_lane_lines(curves, LANES, **settings).axes
    assert ax.figure.get_size_inches().tolist() == [5.8, 3]
    assert (ax.get_yscale(), ax.get_xlabel(), ax.get_ylim()) == ("log", "step", (1e-7, 3))
    assert ax.get_lines()[0].get_ydata().tolist() == [1.0, 1e-6, 1e-2], "what is smaller is drawn at the floor"
    for line, name in zip(ax.get_lines(), ("gru", "tcn"), strict=True):
        assert (line.get_color(), line.get_marker()) == (look(name)["color"], look(name)["marker"])
    assert {text.get_text(): text.xy for text in ax.texts} == {"GRU": (2, 1e-2), "TCN": (1, 2)}
    for wrong, message in (({"lstm": ([0], [1])}, "for 'lstm'"), ({"gru": ([0, 1], [1])}, "got 2 and 1 for 'gru'")):
        with pytest.raises(ValueError, match=message):
            draw_lane_lines(wrong, LANES, **settings)


def test_slopes_go_from_the_value_before_to_that_after() -> None:
    values = {"gru": [0.5, 0.9], "tcn": [0.6, 0.7]}
    (ax,) = draw_lane_slopes(values, LANES, ("one rate", "each its own"), "accuracy").axes
    assert [line.get_ydata().tolist() for line in ax.get_lines()] == [[0.5, 0.9], [0.6, 0.7]]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["one rate", "each its own"]
    assert ax.get_ylabel() == "accuracy"
    assert {text.get_text(): text.xy for text in ax.texts} == {"GRU": (1, 0.9), "TCN": (1, 0.7)}
    with pytest.raises(ValueError, match=r"must be two for each .* got \[0.5\] for 'gru'"):
        draw_lane_slopes({"gru": [0.5]}, LANES, ("a", "b"), "accuracy")


def test_two_lanes_that_differ_in_one_thing_stand_on_one_row() -> None:
    ways = {"Digits": {"rnn": 0.2, "gru": 0.9, "tcn": 1.0}, "Adding": {"rnn": 0.0, "gru": 1.0}}
    fig = draw_controls([("rnn", "gru"), ("gru", "tcn")], LANES, ways)
    found = [{line.get_label(): line.get_xdata()[0] for line in ax.get_lines()} for ax in fig.axes]
    assert found[0] == {"_gain": 0.0, "RNN": 0.2, "GRU": 0.9, "_lane": 1.0}
    assert found[1] == {"_gain": 0.9, "GRU": 0.9, "TCN": 1.0}, "a row without one of the two stays empty"
    gains = [list(line.get_xdata()) for line in fig.axes[0].get_lines() if line.get_label() == "_gain"]
    assert gains == [[0.2, 0.9], [0.0, 1.0]]
    fills = {line.get_label(): line.get_fillstyle() for line in fig.axes[0].get_lines()}
    assert (fills["RNN"], fills["GRU"]) == ("none", "full")
    assert [text.get_text() for text in fig.axes[0].get_yticklabels()] == ["Digits", "Adding"]
    assert fig.axes[0].get_ylim() == (1.5, -0.5), "the first row is the upper one"
    for wrong in ([], [("rnn", "lstm")]):
        with pytest.raises(ValueError, match="pairs must be of the lanes"):
            draw_controls(wrong, LANES, ways)
