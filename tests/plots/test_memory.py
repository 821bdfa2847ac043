"""Losses along a segment and costs: the numbers given are the numbers drawn, and a border breaks a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from rtx_lib.plots import INK, draw_context_use, draw_costs, draw_position_losses, draw_test_memory, style, to_svg

PUBLISHED = {800: 363.0, 1800: 773.0, 2800: 1409.0, 3800: 1874.0}
LENGTHS = (64, 256, 1024, 3800)


@pytest.fixture(autouse=True)
def book_style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}), style():
        yield
    plt.close("all")


def axes() -> Axes:
    return plt.subplots(figsize=(5.8, 3.6))[1]


def inside(ax: Axes) -> None:
    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width + 1 for box in boxes)
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


# ---- losses


def test_a_segment_is_repeated_and_no_line_crosses_the_border() -> None:
    ax, losses = axes(), torch.rand(3, 8) + 1
    draw_position_losses(ax, {"no memory": losses, "memory 8": torch.ones(8)}, repeats=3)
    curves = [line for line in ax.get_lines() if len(line.get_xdata()) == 8]
    assert len(curves) == 6
    for r, line in enumerate(curves[:3]):
        assert np.array_equal(line.get_xdata(), np.arange(1, 9) + 8 * r)
        assert np.allclose(line.get_ydata(), losses.median(0).values)
    assert len({(line.get_color(), line.get_linestyle(), line.get_marker()) for line in curves[:3]}) == 1
    assert len({(line.get_color(), str(line.get_linestyle()), line.get_marker()) for line in curves}) == 2
    borders = [line.get_xdata()[0] for line in ax.get_lines() if line.get_label() == "_border"]
    assert borders == [8.5, 16.5]
    words = [text.get_text() for text in ax.texts]
    assert words.count("border") == 2 and words.count("no memory") == words.count("memory 8") == 1
    assert len([band for band in ax.collections if isinstance(band, PolyCollection)]) == 3  # of the seeds alone
    assert ax.get_xlim() == (0.5, 24.5)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("position in the segment", "loss (nats per token)")


@pytest.mark.parametrize(("length", "repeats"), [(64, 2), (5, 3), (1, 2), (7, 1), (128, 2)])
def test_ticks_count_from_one_in_every_segment(length: int, repeats: int) -> None:
    ax = axes()
    draw_position_losses(ax, {"a": np.linspace(3, 2, length)}, repeats=repeats, unit="bits per character")
    marks = {tick: label.get_text() for tick, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)}
    assert all(str(int((tick - 1) % length + 1)) == label for tick, label in marks.items())
    assert {1 + r * length for r in range(repeats)} | {repeats * length} <= set(marks)
    assert "bits per character" in ax.get_ylabel()
    inside(ax)


def test_the_pictures_follow_the_page() -> None:
    ax = axes()
    draw_position_losses(ax, {"no memory": np.linspace(3, 2, 64), "memory 64": np.full(64, 2.0)})
    losses = to_svg(ax.figure.canvas.figure, "losses")
    ax = axes()
    draw_costs(ax, LENGTHS, {"here": [50, 200, 900, 3000]}, PUBLISHED)
    costs = to_svg(ax.figure.canvas.figure, "costs")
    for picture in (losses, costs):
        assert "currentColor" in picture and INK not in picture and len(picture) < 40_000


@pytest.mark.parametrize(
    ("losses", "options", "message"),
    [
        ({}, {}, "losses must hold at least one"),
        ({"a": np.ones(4), "b": np.ones(5)}, {}, r"'b' was \(5,\)"),
        ({"a": np.ones((2, 3, 4))}, {}, r"'a' was \(2, 3, 4\)"),
        ({"a": np.ones(0)}, {}, r"'a' was \(0,\)"),
        ({"a": [1.0, np.nan]}, {}, "losses must be finite, 'a' was not"),
        ({"a": np.ones(4)}, {"repeats": 0}, "repeats must be at least 1, was 0"),
    ],
)
def test_bad_losses(losses: dict[str, Any], options: dict[str, int], message: str) -> None:
    ax = axes()
    with pytest.raises(ValueError, match=message):
        draw_position_losses(ax, losses, **options)
    assert not ax.get_lines()


# ---- costs


@pytest.mark.parametrize("scale", [3.0, 0.3])
def test_costs_are_drawn_on_logarithms_next_to_the_published(scale: float) -> None:
    """Whether the curve lies above the published points or below, their numbers stand away from it."""
    ax, ratios = axes(), scale * np.array([[30, 110, 450, 1800], [34, 120, 500, 1900.0], [32, 115, 470, 1850]])
    draw_costs(ax, LENGTHS, {"this machine": ratios}, PUBLISHED)
    curve, points = ax.get_lines()[:2]
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert np.allclose(curve.get_ydata(), np.median(ratios, axis=0)) and tuple(curve.get_xdata()) == LENGTHS
    assert dict(zip(points.get_xdata(), points.get_ydata(), strict=True)) == PUBLISHED
    assert points.get_linestyle() == "None" and points.get_marker() != curve.get_marker()
    assert points.get_markerfacecolor() == "none" and points.get_color() == INK
    words = [text.get_text() for text in ax.texts]
    assert sorted(words) == ["1,874", "363", "this machine"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Dai et al. 2019"]
    inside(ax)
    for text in ax.texts:
        if text.get_text() != "this machine":
            box = text.get_window_extent()
            at = ax.transData.inverted().transform([(x, y) for x in (box.x0, box.x1) for y in (box.y0, box.y1)])
            height = np.exp(np.interp(np.log(at[:, 0]), np.log(LENGTHS), np.log(np.median(ratios, axis=0))))
            assert set(at[:, 1] > height) == {scale < 1}


def test_costs_without_a_paper() -> None:
    ax = axes()
    draw_costs(ax, [128, 512], {"forward": [2.0, 4.0], "both": [3.0, 9.0]})
    assert ax.get_legend() is None and len(ax.get_lines()) == 2
    assert "ratio" in ax.get_ylabel() and "tokens" in ax.get_xlabel()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([], {"a": []}), "lengths must be above 0 and rise"),
        (([2, 1], {"a": [1, 2]}), "lengths must be above 0 and rise"),
        (([0, 1], {"a": [1, 2]}), "lengths must be above 0 and rise"),
        (([1, 2], {}), "ratios must hold at least one"),
        (([1, 2], {"a": [1, 2, 3]}), r"'a' was \(3,\)"),
        (([1, 2], {"a": [1, 0]}), "must be above 0"),
        (([1, 2], {"a": [1, np.inf]}), "ratios must be finite"),
        (([1, 2], {"a": [1, 2]}, {5: 0.0}), "must be above 0"),
    ],
)
def test_bad_costs(given: tuple[Any, ...], message: str) -> None:
    ax = axes()
    with pytest.raises(ValueError, match=message):
        draw_costs(ax, *given)
    assert not ax.get_lines()


def test_lines_are_named_in_the_legend_where_published_points_stand_behind_their_ends() -> None:
    for last, where in ((4000, "at the line"), (2048, "in the legend")):
        ax = axes()
        draw_costs(ax, (64, last), {"memory": [2.0, 90.0]}, PUBLISHED)
        legend = [text.get_text() for text in ax.get_legend().get_texts()]
        assert legend == ["memory"] * (where == "in the legend") + ["Dai et al. 2019"]
        assert ("memory" in [text.get_text() for text in ax.texts]) == (where == "at the line")


# ---- memory in the test, and context


def test_losses_against_the_memory_of_the_test_are_drawn_and_that_of_the_training_is_ringed() -> None:
    losses = {"A": np.array([[3.0, 2.0, 2.5], [3.2, 2.2, 2.9], [3.1, 2.4, 2.6]]), "B": [4.0, 3.0, 1.0]}
    fig = draw_test_memory(losses, (0, 64, 1024), trained={"A": 64, "B": 1024}, unit="bits", title="A falls")
    (ax,) = fig.axes
    drawn = {line.get_label(): line for line in ax.get_lines() if line.get_label() != "_trained"}
    assert np.allclose(drawn["A"].get_ydata(), [3.1, 2.2, 2.6]) and list(drawn["B"].get_ydata()) == [4, 3, 1]
    rings = [(line.get_xdata()[0], line.get_ydata()[0], line.get_color()) for line in ax.get_lines()[1::2]]
    assert rings == [(1, 2.2, drawn["A"].get_color()), (2, 1, drawn["B"].get_color())]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "64", "1,024"]
    assert ax.get_ylabel() == "test loss (bits)" and ax.get_title(loc="right") == "A falls"
    assert {text.get_text() for text in ax.texts} == {"A", "B"}


def test_a_loss_to_compare_with_is_a_named_line() -> None:
    fig = draw_test_memory({"A": [4.0, 3.0]}, (0, 64), trained={"A": 64}, line=(3.5, "pairs"), height=4.4)
    (ax,) = fig.axes
    assert [line.get_ydata()[0] for line in ax.get_lines() if line.get_label() == "_baseline"] == [3.5]
    assert {text.get_text() for text in ax.texts} == {"A", "pairs"} and fig.get_figheight() == 4.4


@pytest.mark.parametrize(
    ("losses", "trained", "message"),
    [
        ({"A": [1.0, 2.0]}, {"A": 64}, r"arrays \(..., 3\), 'A' was \(2,\)"),
        ({"A": [1.0, 2.0, 3.0]}, {}, "'A', was None"),
        ({"A": [1.0, 2.0, 3.0]}, {"A": 32}, "was 32"),
        ({"A": [1.0, np.nan, 3.0]}, {"A": 64}, "finite"),
        ({}, {}, "at least one"),
    ],
)
def test_losses_that_do_not_fit_the_memories_are_refused(losses, trained, message) -> None:
    with pytest.raises(ValueError, match=message):
        draw_test_memory(losses, (0, 64, 1024), trained=trained)


def test_an_effect_ends_at_the_reach_and_a_context_curve_shows_its_numbers() -> None:
    effect = torch.tensor([1.0, 0.1, 0.0, 0.0])
    losses = {"plain": [2.0, 1.5, 1.4], "LSTM": [1.9, 1.8, 1.7]}
    fig = draw_context_use({"plain": (torch.arange(1, 5), effect)}, losses, (16, 32, 48), {"plain": 2})
    top, bottom = fig.axes
    named = {line.get_label(): line for line in top.get_lines() + bottom.get_lines()}
    (curve,) = (line for line in top.get_lines() if line.get_label() == "plain")
    assert list(curve.get_xdata()) == [1, 2] and np.allclose(curve.get_ydata(), [1, 0.1])  # no zeros on a log axis
    assert list(named["LSTM"].get_xdata()) == [16, 32, 48] and list(named["LSTM"].get_ydata()) == [1.9, 1.8, 1.7]
    assert curve.get_color() == named["plain"].get_color() != named["LSTM"].get_color()
    reaches = [line.get_xdata()[0] for ax in fig.axes for line in ax.get_lines() if line.get_label() == "_reach"]
    assert reaches == [2, 2] and top.get_yscale() == "log" and bottom.get_xlim() == (0, 56)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reach": {"GRU": 3}}, "reach must name only"),
        ({"contexts": (16, 32)}, "losses must hold arrays"),
        ({"effects": {"plain": ([1, 2], [1.0])}}, "effects must be pairs"),
        ({"effects": {"plain": ([1, 2], [1.0, np.inf])}}, "effects must be pairs"),
    ],
)
def test_effects_and_contexts_that_do_not_fit_are_refused(change, message) -> None:
    good = {"effects": {"plain": ([1, 2], [1.0, 0.5])}, "losses": {"plain": [2.0, 1.0, 1.0]}, "contexts": (16, 32, 48)}
    with pytest.raises(ValueError, match=message):
        draw_context_use(**{**good, "reach": {"plain": 2}, **change})
