"""The race: the numbers given are the numbers drawn, better is to the right, and what is missing is said."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from support.board import LANES, TASKS, summary
from support.drawn import words

from rtx_book.pictures import race
from rtx_lib.plots import FAMILIES


def labelled(ax: Axes, label: str) -> list[Any]:
    return [line for line in ax.get_lines() if line.get_label() == label]


def ticks(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


# ---- lanes and numbers


def test_lanes_are_in_their_families_order_and_strangers_come_last() -> None:
    groups = race.arrange({"new": "New", "transformer": "Transformer", "tcn": "TCN", "gru": "GRU", "rnn": "RNN"})
    assert [*groups.values()] == [["gru", "rnn"], ["tcn"], ["transformer"], ["new"]]
    assert [*groups] == [*(family for family in FAMILIES if family in groups), "other"]


def test_numbers_on_the_board_have_few_digits() -> None:
    told = [race.short(TASKS["digits"], value) for value in (0.9996, 0.9994)]
    told += [race.short(TASKS["adding"], 0.000123), race.short(TASKS["text"], 8.567)]
    assert told == ["100", "99.9", "1.2e-4", "8.57"]


def test_a_run_that_ends_early_counts_as_worst() -> None:
    whole = [{"steps": [1, 2, 3], "values": [3.0, 2.0, v]} for v in (1.0, 1.5)]
    ended = {"steps": [1, 2], "values": [3.5, 9.0]}
    steps, middle, low, high = race.over_seeds([*whole, ended], higher=False)
    assert steps.tolist() == [1, 2, 3] and middle.tolist() == [3, 2, 1.5]
    assert low.tolist() == [3, 2, 1] and high.tolist() == [3.5, 9, 1.5]
    assert race.over_seeds([*whole, ended], higher=True)[1].tolist() == [3, 2, 1]
    steps, middle, *_ = race.over_seeds([whole[0], ended], higher=False)
    assert middle[:2].tolist() == [3.25, 5.5] and np.isnan(middle[2]), "the median ends where half of the runs have"
    nan = {"steps": [1, 2, 3], "values": [1.0, None, float("nan")]}
    assert race.over_seeds([nan], higher=False)[0].tolist() == [1]
    assert len(race.over_seeds([{"steps": [], "values": []}], higher=False)[0]) == 0


# ---- lines


def test_your_run_is_drawn_and_labelled(ax: Axes) -> None:
    runs = [
        {"lane": lane, "name": name, "seed": seed, "steps": [50, 100], "values": [0.1, 0.2 + seed]}
        for lane, name in LANES.items()
        for seed in range(2)
    ]
    race.draw_lane(ax, runs, {"name": "GRU, my rate", "steps": [50, 100], "values": [0.2, 0.6]}, ("accuracy", 0.9))
    (tcn,), (mine,) = labelled(ax, "TCN"), labelled(ax, "your run: GRU, my rate")
    assert tcn.get_ydata().tolist() == [0.1, 0.7] and mine.get_ydata().tolist() == [0.2, 0.6]
    assert {*LANES.values(), "finish line 0.9"} <= set(words(ax))
    ax = plt.subplots()[1]
    race.draw_lane(ax, [], {"name": "x", "steps": [], "values": []}, ("mse", None))
    assert not ax.get_lines() and ax.get_yscale() == "log"


def test_lines_have_their_names_and_a_floor() -> None:
    curves = {"rnn": ([0, 1, 2], [1.0, 1e-9, 1e-2]), "tcn": ([0, 1], [1, 2])}
    settings: dict[str, Any] = {"height": 3, "floor": 1e-6, "every": 2, "yscale": "log", "xlabel": "step"}
    (ax,) = race.draw_lane_lines(curves, LANES, **settings).axes
    assert (ax.get_yscale(), ax.get_xlabel()) == ("log", "step")
    assert ax.get_lines()[0].get_ydata().tolist() == [1.0, 1e-6, 1e-2], "what is smaller is drawn at the floor"
    assert {"RNN", "TCN", "this or less"} == set(words(ax))


@pytest.mark.parametrize(("metric", "places"), [("accuracy", [[1, 0], [0, 1]]), ("mse", [[0, 1], [1, 0]])])
def test_slopes_go_from_the_place_before_to_that_after(metric: str, places: list[list[int]]) -> None:
    values = {"rnn": [0.5, 0.9], "tcn": [0.6, 0.7]}
    (ax,) = race.draw_lane_slopes(values, LANES, ("one rate", "each its own"), metric).axes
    assert [list(line.get_ydata()) for line in ax.get_lines()] == places
    assert {"0.5", "0.9  RNN", "0.6", "0.7  TCN"} == set(words(ax))
    assert [label.get_text() for label in ax.get_xticklabels()] == ["one rate", "each its own"]


# ---- one seed's ranking, and lanes that differ in one thing


@pytest.mark.parametrize(
    ("task", "order"),
    [("digits", ["IndRNN", "IndRNN, as published", "RNN"]), ("adding", ["RNN", "IndRNN, as published", "IndRNN"])],
)
def test_the_best_of_the_seed_stands_on_top_and_better_is_to_the_right(task: str, order: list[str]) -> None:
    values = {"rnn": {0: 0.5, 1: 0.9}, "indrnn": {0: 0.7, 1: 0.6}, "indrnn-published": {0: 0.6}}
    (ax,) = race.draw_ranking(TASKS[task], LANES, values, 0).axes
    assert ticks(ax) == [f"{place}. {name}" for place, name in enumerate(order, start=1)]
    assert ax.yaxis_inverted() and ax.figure.get_suptitle() == f"With seed 0, {order[0]} is best"
    assert ax.xaxis_inverted() == (task == "adding") and ax.get_xscale() == ("log" if task == "adding" else "linear")
    (other,) = race.draw_ranking(TASKS[task], LANES, values, 1).axes
    assert {tuple(line.get_xdata()) for line in labelled(other, "_seeds")} == {(0.5, 0.9), (0.7, 0.6)}
    if task == "digits":
        said = race.describe_ranking(TASKS[task], LANES, values, 1)
        assert said == "Digits with seed 1, best first: RNN 0.9, IndRNN 0.6"


def test_two_lanes_that_differ_in_one_thing_stand_on_one_row() -> None:
    ways = {"Digits": {"rnn": 0.2, "indrnn": 0.9, "tcn": 1.0}, "Adding": {"rnn": 0.0, "indrnn": 1.0}}
    first, second = race.draw_controls([("rnn", "indrnn"), ("indrnn", "tcn")], LANES, ways).axes
    assert [list(line.get_xdata()) for line in labelled(first, "_gain")] == [[0.2, 0.9], [0.0, 1.0]]
    assert len(labelled(second, "_gain")) == 1, "a row without one of the two stays empty"
    assert ticks(first) == ["Digits", "Adding"]


# ---- the board

RESULTS = {
    "adding": {"rnn": summary([0.2, 0.2], 0), "indrnn": summary([1e-3, 2e-3], 2), "tcn": summary([0.001, 0.1], 1)},
    "digits": {"rnn": summary([], 0, 2), "indrnn": summary([0.9, 0.9], 0), "tcn": summary([0.96, 0.999], 2)},
    "text": {"tcn": summary([1.25], 0)},
}
FIRSTS = {"adding": ["indrnn", "tcn"], "digits": ["tcn"], "text": ["tcn"]}


def test_each_cell_of_the_board_says_what_its_seeds_reached() -> None:
    (ax,) = race.draw_board(TASKS, LANES, RESULTS, FIRSTS, {"adding": ["rnn"]}).axes
    texts, rows = {text.get_position(): text for text in ax.texts}, sorted(ax.get_yticks())
    cells = {(column, row): texts[x, y] for column, row, x, y in _places(texts, rows)}
    told = {
        (0, 0): "0.2", (0, 1): "0.0015", (0, 2): "–", (0, 3): "0.051", (1, 0): "diverged", (1, 1): "90.0",
        (1, 2): "–", (1, 3): "98.0", (2, 0): "–", (2, 1): "–", (2, 2): "–", (2, 3): "1.25",
    }  # fmt: skip
    assert {place: text.get_text() for place, text in cells.items()} == told
    first = {place for place, text in cells.items() if text.get_fontweight() == "bold"}
    assert first == {(0, 1), (0, 3), (1, 3), (2, 3)}
    assert {"Adding", "MSE ≤ 0.01", "Digits", "% ≥ 95", "Text", "nats"} <= set(words(ax))


def _places(texts: Any, rows: list[float]) -> list[tuple[int, int, float, float]]:
    return [(round(x), rows.index(y), x, y) for x, y in texts if y in rows]


def test_the_board_in_words() -> None:
    told = race.describe_board(TASKS, LANES, RESULTS, FIRSTS)
    assert told.startswith("4 models on 3 tasks, medians. Adding: first IndRNN 0.0015, TCN 0.051; ")
    assert "Digits: first TCN 98.0; 1 of 3 reach 0.95 with every seed. Text: first TCN 1.25." in told


def test_a_variant_below_its_model_says_only_what_differs() -> None:
    assert race.names_of_rows(LANES) == ["RNN", "IndRNN", "as published", "TCN"]
    more = {"transformer": "T", "transformer-rotary": "T, rotary", "transformer-convolution": "T, rotary and so on"}
    assert race.names_of_rows(more | {"transformer-none": "T without"}) == ["T", "rotary", "and so on", "without"]
    assert race.names_of_rows({"transformer": "Transformer", "transformer-xl": "Transformer-XL"})[1] == "Transformer-XL"
    between = more | {"transformer-convolution": "Rotary T", "transformer-none": "T without"}  # not one of Rotary T
    assert race.names_of_rows(between) == ["T", "rotary", "Rotary T", "T without"]


# ---- lengths, and two tasks


def test_lengths_have_a_panel_a_lane() -> None:
    given = {length: {"rnn": summary([length / 1e5] * 3, 3), "indrnn": summary([1.0], 0)} for length in (200, 50, 100)}
    del given[200]["indrnn"]
    fig = race.draw_lengths(TASKS["adding"], LANES, given, x_label="T")
    panels = {ax.get_title().replace("\n", " "): ax for ax in fig.axes if ax.get_visible()}
    assert set(panels) == set(LANES.values()) and panels["RNN"].get_yscale() == "log"
    (line,) = labelled(panels["RNN"], "_lane")
    np.testing.assert_allclose(line.get_xydata(), [[50, 5e-4], [100, 1e-3], [200, 2e-3]])
    assert "no records" in words(panels["TCN"]) and "no records" not in words(panels["IndRNN"])


TWO = {key: TASKS[key] for key in ("digits", "adding")}
BOTH = {
    "digits": {"rnn": summary([0.4, 0.5, 0.6], 0), "indrnn": summary([0.96, 0.97, 0.99], 3)}
    | {"indrnn-published": summary([0.5, 0.96, 0.97], 2), "tcn": summary([], 0, 2)},
    "adding": {"rnn": summary([0.2, 0.2, 0.2], 0), "indrnn": summary([0.1, 0.2, 0.3], 0)}
    | {"indrnn-published": summary([0.001] * 3, 3), "tcn": summary([0.001] * 3, 3)},
}


def test_a_point_stands_in_its_field_and_is_filled_as_far_as_the_seeds_get_there() -> None:
    (ax,) = race.draw_two_tasks(TWO, LANES, BOTH).axes
    marks = [line for line in ax.get_lines() if line.get_marker() not in ("None", None, "")]
    places = {m.get_label(): (m.get_xdata()[0] > 1, m.get_ydata()[0] > 0, m.get_fillstyle()) for m in marks}
    assert places == {
        "_rnn": (False, False, "none"), "_indrnn": (True, False, "full"), "_indrnn-published": (True, True, "right"),
    }, "a lane without a median is left out"  # fmt: skip
    assert words(ax) == ["Both", "IndRNN, as published", "Digits alone", "IndRNN", "Neither", "RNN"]
    given = race.fields(TWO, LANES, BOTH)["results"]["digits"]
    assert given["indrnn"] == [0.97, 0.96, 0.99, 3, 3] and "tcn" not in given
    told = "Both: IndRNN, as published; Digits alone: IndRNN; Neither: RNN."
    assert race.describe_two_tasks(TWO, LANES, BOTH) == f"Medians beyond the finish lines. {told}"
