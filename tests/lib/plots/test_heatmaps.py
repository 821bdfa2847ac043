"""Attention as cells, one map or several, and as lines between words."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes

from rtx_book.page.figure import to_svg
from rtx_lib.plots import (
    CYCLE,
    attention_heatmap,
    attention_panels,
    attention_stack,
    describe_alignment,
    draw_alignment,
    heatmap_size,
)


def names(axis: mpl.axis.Axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def test_the_same_queries_are_named_once() -> None:
    maps = {title: (np.eye(2, 3), ["4", "2"], ["four", "hundred", "two"]) for title in ("one", "other")}
    left, right = attention_panels(maps, xlabel="word", ylabel="symbol").axes
    assert (left.get_title(), right.get_title()) == ("one", "other")
    assert names(left.yaxis) == ["4", "2"] and left.get_ylabel() == "symbol"
    assert not any(names(right.yaxis)) and not right.get_ylabel()
    assert names(right.xaxis) == ["four", "hundred", "two"] and right.get_xlabel() == "word"
    assert not left.texts and not right.texts  # neither numbers nor what the fullest colour is
    assert left.get_xticklabels()[0].get_rotation() == 45


def test_panels_of_other_sizes_keep_their_names_and_their_share_of_the_width() -> None:
    maps = {str(n): (np.eye(n), [*map(str, range(n))], [*map(str, range(n))]) for n in (3, 6)}
    fig = attention_panels(maps, xlabel="x", ylabel="y")
    fig.draw_without_rendering()
    left, right = fig.axes
    assert len(names(left.yaxis)) == 3 and len(names(right.yaxis)) == 6 and right.get_ylabel() == "y"
    assert right.get_position().width > 1.3 * left.get_position().width
    assert right.get_xticklabels()[0].get_rotation() == 0


def test_maps_of_the_same_tokens_stand_one_below_the_other_with_a_line_where_the_memory_ends() -> None:
    rows, columns = list("abc"), list("xyzabc")
    fig = attention_stack({"layer 1": np.eye(3, 6), "layer 2": np.ones((3, 6))}, rows, columns, border=3)
    assert tuple(fig.get_size_inches()) == pytest.approx((1, 2) * np.array(heatmap_size(rows, columns)))
    upper, lower = fig.axes
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["layer 1", "layer 2"]
    assert names(upper.xaxis) == names(lower.xaxis) == columns and names(lower.yaxis) == rows
    assert lower.get_xticklabels()[0].get_rotation() == 0
    borders = [line.get_xdata()[0] for ax in fig.axes for line in ax.get_lines() if line.get_gid() == "border"]
    assert borders == [2.5, 2.5]


def test_heatmap_writes_the_numbers_and_stays_small() -> None:
    fig, ax = plt.subplots()
    attention_heatmap(ax, torch.tensor([[1.0, 0.0], [0.25, 0.75]]), ["a", "b"], ["c", "d"])
    assert [text.get_text() for text in ax.texts] == ["1.00", ".25", ".75"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["c", "d"]
    fig, ax = plt.subplots()
    attention_heatmap(ax, np.eye(20), ["a"] * 20, ["b"] * 20)
    assert [text.get_text() for text in ax.texts] == ["fullest colour = 1.00"]
    assert len(to_svg(fig, "a diagonal")) < 30_000


@pytest.mark.parametrize(("queries", "keys"), [(5, 9), (40, 40), (12, 30)])
def test_a_heatmaps_tokens_do_not_touch(queries: int, keys: int) -> None:
    rows, columns = ["hundert"] * queries, ["nineteen", ",", "and"] * (keys // 3) + ["two"] * (keys % 3)
    fig, ax = plt.subplots(figsize=heatmap_size(rows, columns))
    attention_heatmap(ax, np.eye(queries, keys), rows, columns)
    assert max(fig.get_size_inches()) < 6.7  # about the width of a page's column
    fig.draw_without_rendering()
    cell = ax.get_window_extent().height / queries
    assert cell >= ax.get_yticklabels()[0].get_window_extent().height * 0.8  # a line's height holds some air
    assert cell >= ax.get_xticklabels()[0].get_fontsize() * fig.dpi / 72
    assert len(to_svg(fig, "a diagonal")) < 60_000


def test_heatmap_of_nothing_but_zeros(ax: Axes) -> None:
    attention_heatmap(ax, np.zeros((2, 2)), ["a", "b"], ["c", "d"])
    assert not ax.texts


WEIGHTS = np.array([[0.1, 0.9], [0.6, 0.4], [0.0, 0.1]])


def test_lines_join_the_words_of_the_weights_above_the_least() -> None:
    (ax,) = draw_alignment(["fifty", "four"], ["vier", "und", "fünfzig"], WEIGHTS, marked=[2], rows=0).axes
    height = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert list(height) == ["read", "fifty", "four", "written", "vier", "und", "fünfzig"]
    assert height["vier"] > height["fifty"] > height["und"] > height["four"] > height["fünfzig"]
    drawn = {tuple(line.get_ydata()): line for line in ax.get_lines()}
    assert set(drawn) == {(height[s], height[t]) for s, t in (("four", "vier"), ("fifty", "und"), ("four", "und"))}
    widths = [drawn[height[s], height["und"]].get_linewidth() for s in ("fifty", "four")]
    assert widths[0] > widths[1] and {line.get_color() for line in drawn.values()} == {CYCLE[0]}


def test_the_words_name_the_greatest_weight_of_each_row() -> None:
    told = describe_alignment(["fifty", "four"], ["vier", "und", "fünfzig"], WEIGHTS)
    assert told == "vier at four, und at fifty, fünfzig at four"


def test_marked_rows_have_the_second_colour_and_few_words_the_height_that_was_asked_for() -> None:
    fig = draw_alignment(["fifty", "four"], ["vier", "und", "fünfzig"], WEIGHTS, marked=[1], rows=9)
    lines = fig.axes[0].get_lines()
    assert [line.get_color() for line in lines] == [CYCLE[0], CYCLE[1], CYCLE[1]]
    assert fig.get_figheight() == draw_alignment(["a"], ["b"], [[1.0]], marked=[], rows=9).get_figheight()


MAP, KEYS = np.array([[0.1, 0.9], [0.6, 0.4], [0.0, 0.2]]), (["fifty", "four"], ["vier", "und", "fünfzig"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ax: attention_heatmap(ax, np.ones((2, 3)), "ab", "cd"), r"must have shape \(2, 2\), got \(2, 3\)"),
        (lambda ax: attention_heatmap(ax, -np.ones((2, 2)), "ab", "cd"), "weights must be finite and at least 0"),
        (lambda ax: describe_alignment(["fifty"], ["vier"], MAP), r"weights must have shape \(1, 1\), got \(3, 2\)"),
        (lambda ax: draw_alignment(*KEYS, MAP * np.nan, marked=[], rows=0), "weights must"),
        (lambda ax: draw_alignment(*KEYS, MAP, marked=[3], rows=0), r"marked must hold rows from 0 to 2, got \[3\]"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_drawn(ax: Axes, call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(ax)
    assert not ax.has_data() and not ax.texts and plt.get_fignums() == [ax.figure.number]
