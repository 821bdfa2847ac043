"""Two tasks of the race against each other: each mark stands at its medians, each name in its quarter."""

from __future__ import annotations

import pytest
from support.board import LANES, TASKS, summary

from rtx_book.page.figure import show
from rtx_book.pictures.race import describe_two_tasks, draw_two_tasks

TWO = {key: TASKS[key] for key in ("digits", "adding")}
RESULTS = {
    "digits": {"rnn": summary([0.4, 0.5, 0.6], 0), "indrnn": summary([0.96, 0.97, 0.99], 3)}
    | {"indrnn-published": summary([0.5, 0.96, 0.97], 2), "tcn": summary([], 0, 2)},
    "adding": {"rnn": summary([0.2, 0.2, 0.2], 0), "indrnn": summary([0.1, 0.2, 0.3], 0)}
    | {"indrnn-published": summary([0.001] * 3, 3), "tcn": summary([0.001] * 3, 3)},
}


def test_a_mark_stands_at_the_medians_and_is_filled_as_far_as_the_seeds_get_on_both_tasks() -> None:
    (ax,) = draw_two_tasks(TWO, LANES, RESULTS).axes
    marks = {line.get_label(): line for line in ax.get_lines() if line.get_marker() not in ("None", None, "")}
    places = {lane: (*line.get_xdata(), *line.get_ydata(), line.get_fillstyle()) for lane, line in marks.items()}
    assert places == {
        "_rnn": (0.5, 0.2, "none"), "_indrnn": (0.97, 0.2, "none"), "_indrnn-published": (0.96, 0.001, "right"),
    }, "a lane without a median is left out"  # fmt: skip
    ranges = [(*line.get_xdata(), *line.get_ydata()) for line in ax.get_lines() if line.get_label() == "_rnn"]
    assert ranges[:2] == [(0.4, 0.6, 0.2, 0.2), (0.5, 0.5, 0.2, 0.2)]


def test_the_names_stand_by_what_their_medians_cross() -> None:
    told = "Both: IndRNN, as published; Digits alone: IndRNN; Neither: RNN."
    assert describe_two_tasks(TWO, LANES, RESULTS) == f"Medians beyond the finish lines. {told}"
    (ax,) = draw_two_tasks(TWO, LANES, RESULTS).axes
    texts = [text.get_text().replace("\n", " ") for text in ax.texts]
    assert texts == ["Both", "IndRNN, as published", "Digits alone", "IndRNN", "Neither", "RNN"]


def test_a_phone_shows_it_whole() -> None:
    assert "min-width" not in show(draw_two_tasks(TWO, LANES, RESULTS), "two tasks").data


def test_a_lane_beyond_the_second_line_alone() -> None:
    turned = {key: TWO[key] for key in ("adding", "digits")}
    assert "Digits alone: IndRNN" in describe_two_tasks(turned, LANES, RESULTS)


@pytest.mark.parametrize("keys", [[], ["digits"], [*TASKS], ["digits", "text"]])
@pytest.mark.parametrize("function", [draw_two_tasks, describe_two_tasks])
def test_anything_but_two_tasks_with_lines_is_refused(function, keys) -> None:
    with pytest.raises(ValueError, match="tasks"):
        function({key: TASKS[key] for key in keys}, LANES, RESULTS)
