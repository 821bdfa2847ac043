"""Several heat maps in a figure; a single one is tested beside the view that it stands in for (test_views.py)."""

import matplotlib as mpl
import numpy as np
import pytest

from rtx_lib.plots import attention_panels, attention_stack, heatmap_size


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
    (plain,) = attention_stack({"layer 1": np.eye(3, 6)}, rows, columns).axes
    assert not plain.get_lines()
