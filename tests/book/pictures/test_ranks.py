"""Ranks with intervals: what is given is what is drawn, and the explorer holds the numbers of one split."""

import html
import itertools
import json
import re
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from rtx_book.page.figure import show
from rtx_book.pictures.race import arrange
from rtx_book.pictures.race_explorer import describe_ranks, draw_ranks, rank_explorer
from rtx_lib.plots.style import look

LANES = {"gru": "GRU", "tcn": "TCN", "min-gru": "minGRU", "indrnn-published": "IndRNN, as published"}
RANKS = {
    "tcn": {"place": 1, "low": 1.0, "high": 2.0, "group": 1},
    "gru": {"place": 2, "low": 2.0, "high": 3.0, "group": 1},
    "min-gru": {"place": 3, "low": 3.0, "high": 3.0, "group": 2},
}


def frame(amount: str = "100 steps", split: str = "validation", **ranks: Any) -> dict[str, Any]:
    return {"amount": amount, "said": f"after {amount} <TCN> is first", "split": split, "ranks": ranks or RANKS}


def drawn(fig: Figure) -> dict[str, tuple[float, list[float], bool]]:
    """By name the place, the interval and whether the mark is filled, as drawn; better must be to the right."""
    (ax,) = fig.axes
    left, right = ax.get_xlim()
    assert left > right, "better is not to the right"
    lines = {kind: [line for line in ax.get_lines() if line.get_label() == kind] for kind in ("_place", "_interval")}
    names = [text.get_text() for text in ax.get_yticklabels()]
    rows = zip(names, lines["_place"], lines["_interval"], strict=True)
    assert all(line.get_ydata()[0] == y for y, line in enumerate(lines["_place"])), "rows are in order"
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first row is the upper one"
    return {
        name: (float(mark.get_xdata()[0]), list(bar.get_xdata()), mark.get_markerfacecolor() != "none")
        for name, mark, bar in rows
    }


def test_ranks_intervals_and_groups_are_drawn() -> None:
    want = {LANES[k]: (r["place"], [r["low"], r["high"]], r["group"] == 1) for k, r in RANKS.items()}
    fig = draw_ranks(RANKS, LANES, "rank on the test split")
    assert drawn(fig) == want and fig.axes[0].get_xlabel() == "rank on the test split, better →"
    assert {line.get_linestyle() for line in fig.axes[0].get_lines()} == {"-", "None"}, "an interval has no gaps"
    assert 1 in fig.axes[0].get_xticks()
    svg = show(fig, describe_ranks("TCN is first", RANKS, LANES)).data
    assert "TCN is first. Rank and interval: TCN 1 (1 to 2), GRU 2 (2 to 3), minGRU 3 (3 to 3)" in svg
    assert "currentColor" in svg


def test_planted_mistakes_are_seen() -> None:
    want = {LANES[k]: (r["place"], [r["low"], r["high"]], r["group"] == 1) for k, r in RANKS.items()}
    for kind, wrong in (("_place", [1.5]), ("_interval", [1.0, 3.0])):
        fig = draw_ranks(RANKS, LANES)
        next(line for line in fig.axes[0].get_lines() if line.get_label() == kind).set_xdata(wrong)
        assert drawn(fig) != want
    fig.axes[0].invert_xaxis()
    with pytest.raises(AssertionError, match="better is not to the right"):
        drawn(fig)


def test_twenty_lanes_have_twenty_names_that_do_not_touch() -> None:
    many = [f"gru {n}" for n in range(20)]
    ranks = {lane: {"place": n, "low": n, "high": n + 0.5, "group": n} for n, lane in enumerate(many, start=1)}
    fig = draw_ranks(ranks, dict(zip(many, many, strict=True)))
    fig.draw_without_rendering()
    boxes = [mpl.text.Text.get_window_extent(text) for text in fig.axes[0].get_yticklabels()]
    assert len(boxes) == 20 and all(a.y0 > b.y1 for a, b in itertools.pairwise(boxes))
    assert np.diff(fig.axes[0].get_xticks()).tolist() == [3] * 6


def test_lanes_of_the_race_have_looks_and_families() -> None:
    assert list(arrange(LANES)) == ["recurrent", "recurrence returned, vector states", "convolution"]
    assert arrange(LANES)["recurrent"] == ["gru", "indrnn-published"]
    assert look("min-gru") == look("mingru") and look("delta-net") == look("deltanet")
    assert look("indrnn-published")["linestyle"] != look("indrnn")["linestyle"]


def test_the_explorer_holds_the_numbers_given() -> None:
    other = {"gru": RANKS["tcn"] | {"low": 1.25}, "tcn": RANKS["gru"]}
    frames = {
        "Digits": {"steps": [frame("50 steps", **other), frame()]},
        "Text": {"steps": [], "FLOPs": [frame("1 FLOP")]},
    }
    page = rank_explorer(frames, LANES, caption="A caption.").data
    (found,) = re.findall(r'data-ranks="([^"]*)"', page)
    data = json.loads(html.unescape(found))
    assert [lane["name"] for lane in data["lanes"]] == list(LANES.values()) and data["split"] == "validation"
    told = {task["name"]: {kind["name"]: kind["frames"] for kind in task["kinds"]} for task in data["tasks"]}
    assert list(told["Text"]) == ["FLOPs"], "what has no budget is no choice"
    assert told["Digits"]["steps"][0] == [
        "50 steps",
        "after 50 steps <TCN> is first",
        [[0, 1, 1.25, 2, 1], [1, 2, 2, 3, 1]],
    ]
    assert told["Digits"]["steps"][1][2] == [[1, 1, 1, 2, 1], [0, 2, 2, 3, 1], [2, 3, 3, 3, 0]]
    assert '<p class="fig-title" style' in page and ">after 100 steps &lt;TCN&gt; is first</p>" in page
    assert "rank on the validation split after 100 steps, better →" in page, "the still picture says the split"
    assert "its mark is filled. A caption." in page
    assert "http" not in page.replace("http://www.w3.org", "") and "<script" not in page


def test_the_explorer_begins_with_the_task_that_is_named() -> None:
    frames = {"Digits": {"steps": [frame()]}, "Text": {"FLOPs": [frame("1 FLOP")]}}
    page = rank_explorer(frames, LANES, "Text").data
    (found,) = re.findall(r'data-ranks="([^"]*)"', page)
    assert [task["name"] for task in json.loads(html.unescape(found))["tasks"]] == ["Text", "Digits"]
    assert "rank on the validation split after 1 FLOP" in page, "the still picture, too"
    with pytest.raises(ValueError, match="first must be a task with frames, got 'Parity'"):
        rank_explorer(frames, LANES, "Parity")


def test_bad_frames() -> None:
    good = {"Digits": {"steps": [frame()]}}
    for frames, message in (
        ({"Digits": {"steps": []}}, "frames must hold budgets of one split, got none"),
        (good | {"Text": {"steps": [frame(split="test")]}}, r"one split, got \['test', 'validation'\]"),
        ({"Digits": {"steps": [frame(rnn=RANKS["gru"])]}}, r"one or more of the lanes .* got \['rnn'\]"),
    ):
        with pytest.raises(ValueError, match=message):
            rank_explorer(frames, LANES)
    with pytest.raises(ValueError, match="one or more of the lanes"):
        draw_ranks({}, LANES)
