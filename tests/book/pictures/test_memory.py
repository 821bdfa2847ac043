"""Losses along a segment and costs: the numbers given are the numbers drawn, and a border breaks a line."""

import numpy as np
import pytest
import torch
from matplotlib.collections import PolyCollection
from support.drawn import check_follows_page, check_inside

from rtx_book.pictures.transformer_xl import draw_context_use, draw_costs, draw_position_losses, draw_test_memory
from rtx_lib.plots import INK, look

PUBLISHED = {800: 363.0, 1800: 773.0, 2800: 1409.0, 3800: 1874.0}
LENGTHS = (64, 256, 1024, 3800)


# ---- losses


def test_a_segment_is_repeated_and_no_line_crosses_the_border() -> None:
    losses = torch.rand(3, 8) + 1
    given = {"no memory": losses, "memory 8": torch.ones(8)}
    (ax,) = draw_position_losses(given, repeats=3, line=(2.5, "pairs")).axes
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
    assert words.count("pairs") == 1
    looks = {line.get_label(): line.get_color() for line in curves}
    assert looks["memory 8"] == look("transformer-xl")["color"] and looks["no memory"] == look(1)["color"]
    assert len([band for band in ax.collections if isinstance(band, PolyCollection)]) == 3  # of the seeds alone
    assert ax.get_xlim() == (0.5, 24.5)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("position in the segment", "loss (nats a character)")


@pytest.mark.parametrize(("length", "repeats"), [(64, 2), (7, 1), (128, 2)])
def test_ticks_count_from_one_in_every_segment(length: int, repeats: int) -> None:
    (ax,) = draw_position_losses({"a": np.linspace(3, 2, length)}, repeats=repeats).axes
    marks = {tick: label.get_text() for tick, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)}
    assert all(str(int((tick - 1) % length + 1)) == label for tick, label in marks.items())
    assert {1 + r * length for r in range(repeats)} | {repeats * length} <= set(marks)
    check_inside(ax.figure)


def test_the_pictures_follow_the_page() -> None:
    losses = {"no memory": np.linspace(3, 2, 64), "memory 64": np.full(64, 2.0)}
    check_follows_page(draw_position_losses(losses, repeats=2), 80_000)
    check_follows_page(draw_costs(LENGTHS, {"here": [50, 200, 900, 3000]}, PUBLISHED), 80_000)


# ---- costs


@pytest.mark.parametrize("scale", [3.0, 0.3])
def test_costs_are_drawn_on_logarithms_next_to_the_published(scale: float) -> None:
    """Whether the curve lies above the published points or below, their numbers stand away from it."""
    ratios = scale * np.array([[30, 110, 450, 1800], [34, 120, 500, 1900.0], [32, 115, 470, 1850]])
    (ax,) = draw_costs(LENGTHS, {"this machine": ratios}, PUBLISHED).axes
    curve, points = ax.get_lines()[:2]
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert np.allclose(curve.get_ydata(), np.median(ratios, axis=0)) and tuple(curve.get_xdata()) == LENGTHS
    assert dict(zip(points.get_xdata(), points.get_ydata(), strict=True)) == PUBLISHED
    assert points.get_linestyle() == "None" and points.get_marker() != curve.get_marker()
    assert points.get_markerfacecolor() == "none" and points.get_color() == INK
    words = [text.get_text() for text in ax.texts]
    assert sorted(words) == ["1,874", "363", "this machine"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Dai et al. 2019"]
    check_inside(ax.figure)
    for text in ax.texts:
        if text.get_text() != "this machine":
            box = text.get_window_extent()
            at = ax.transData.inverted().transform([(x, y) for x in (box.x0, box.x1) for y in (box.y0, box.y1)])
            height = np.exp(np.interp(np.log(at[:, 0]), np.log(LENGTHS), np.log(np.median(ratios, axis=0))))
            assert set(at[:, 1] > height) == {scale < 1}


def test_lines_are_named_in_the_legend_where_published_points_stand_behind_their_ends() -> None:
    for last, where in ((4000, "at the line"), (2048, "in the legend")):
        (ax,) = draw_costs((64, last), {"memory": [2.0, 90.0]}, PUBLISHED).axes
        legend = [text.get_text() for text in ax.get_legend().get_texts()]
        assert legend == ["memory"] * (where == "in the legend") + ["Dai et al. 2019"]
        assert ("memory" in [text.get_text() for text in ax.texts]) == (where == "at the line")


# ---- memory in the test, and context


def test_losses_against_the_memory_of_the_test_are_drawn_and_that_of_the_training_is_ringed() -> None:
    losses = {"A": np.array([[3.0, 2.0, 2.5], [3.2, 2.2, 2.9], [3.1, 2.4, 2.6]]), "B": [4.0, 3.0, 1.0]}
    fig = draw_test_memory(losses, (0, 64, 1024), trained={"A": 64, "B": 1024})
    (ax,) = fig.axes
    drawn = {line.get_label(): line for line in ax.get_lines() if line.get_label() != "_trained"}
    assert np.allclose(drawn["A"].get_ydata(), [3.1, 2.2, 2.6]) and list(drawn["B"].get_ydata()) == [4, 3, 1]
    rings = [(line.get_xdata()[0], line.get_ydata()[0], line.get_color()) for line in ax.get_lines()[1::2]]
    assert rings == [(1, 2.2, drawn["A"].get_color()), (2, 1, drawn["B"].get_color())]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "64", "1,024"]
    assert ax.get_ylabel() == "test loss (nats a character)"
    assert {text.get_text() for text in ax.texts} == {"A", "B"}


def test_a_loss_to_compare_with_is_a_named_line() -> None:
    fig = draw_test_memory({"A": [4.0, 3.0]}, (0, 64), trained={"A": 64}, line=(3.5, "pairs"))
    (ax,) = fig.axes
    (level,) = (line for line in ax.get_lines() if line.get_label() == "pairs")
    assert list(level.get_ydata()) == [3.5, 3.5] and tuple(level.get_xdata()) == ax.get_xlim()
    assert {text.get_text() for text in ax.texts} == {"A", "pairs"} and fig.get_figheight() == 4.4


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


def test_context_is_set_against_a_reader_of_one_character() -> None:
    effects = {"plain": (np.array([1.0, 2.0]), np.array([1.0, 0.1]))}
    fig = draw_context_use(effects, {"plain": [2.0, 1.5]}, (16, 32), {}, line=(2.5, "pairs"))
    top, bottom = fig.axes
    assert [line.get_ydata()[0] for line in bottom.get_lines() if line.get_label() == "_baseline"] == [2.5]
    assert {text.get_text() for text in bottom.texts} == {"plain", "pairs"} and not top.texts
