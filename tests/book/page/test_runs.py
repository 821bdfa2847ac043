"""A run on the page lies over the recorded ones, thin and dotted; two trained in turns share the reference's steps."""

from typing import Any

import numpy as np
import pytest

from rtx_book.page.runs import draw_runs, draw_side_by_side, draw_slopes, draw_strip_panels, draw_strips
from rtx_lib.plots import CYCLE, MARKERS, look


def record(*values: float) -> dict[str, Any]:
    return {"evaluations": [{"step": 50 * (i + 1), "accuracy": value} for i, value in enumerate(values)]}


def test_bands_bear_the_names_and_live_runs_lie_over_them(ax) -> None:
    live = {"rotary": ([10, 20], [0.3, 0.4]), "none": ([10, 20], [0.1, 0.1])}
    draw_runs(ax, live, {"rotary": [record(0.2, 0.6), record(0.4, 0.8), record(0.3, 0.9)]}, "accuracy")
    band, over, alone = ax.get_lines()
    assert [line.get_label() for line in (band, over, alone)] == ["rotary", "_live", "none"]
    np.testing.assert_allclose(band.get_xydata(), [(50, 0.3), (100, 0.8)])
    np.testing.assert_array_equal(over.get_xydata(), [(10, 0.3), (20, 0.4)])
    assert over.get_linestyle() == ":" and over.get_color() == band.get_color() == CYCLE[0]
    assert alone.get_color() == CYCLE[1] and len(ax.collections) == 1


def test_looks_can_be_those_of_another_figure(ax) -> None:
    draw_runs(ax, {"none": ([1], [0.1])}, {"none": [record(0.2)]}, "accuracy", looks={"none": "gru"})
    assert {line.get_color() for line in ax.get_lines()} == {look("gru")["color"]}


def beside(*losses: tuple[float, float], rate: float = 1.5) -> dict[str, Any]:
    keys = ("step", "reference_step", "loss", "reference_loss")
    rows = [(int(50 * rate * n), 50 * n, *own) for n, own in enumerate(losses, start=1)]
    return {"evaluations": [dict(zip(keys, row, strict=True)) for row in rows]}


def test_two_that_were_trained_in_turns_stand_over_the_steps_of_the_reference() -> None:
    """Their own steps differ from seed to seed; one that diverged ends early."""
    runs = [beside((3.0, 4.0), (2.0, 1.0)), beside((3.2, 4.2), (2.4, 1.4), rate=1.4), beside((3.4, 4.1))]
    (ax,) = draw_side_by_side(runs, ("without", "with"), line=(2.5, "pairs"), looks=("gru", 1)).axes
    ours, theirs, _ = ax.get_lines()
    assert ours.get_color() == look("gru")["color"] and theirs.get_color() == CYCLE[1]
    assert {text.get_text() for text in ax.texts} == {"without", "with", "pairs"} and "step, with" in ax.get_xlabel()
    assert (ours.get_label(), theirs.get_label()) == ("without", "with") and len(ax.collections) == 2
    np.testing.assert_allclose(ours.get_xydata(), [(50, 3.2), (100, 2.2)])
    np.testing.assert_allclose(theirs.get_xydata(), [(50, 4.1), (100, 1.2)])
    with pytest.raises(ValueError, match="'reference_loss'"):
        draw_side_by_side([{"evaluations": [{"reference_step": 50, "loss": 0.5}]}], ("a", "b"))


ROWS = {"Group": [], "A": [1.0, 3.0, 1.5], "B": np.array([[4.0, 5.0]])}


def test_values_medians_and_line_are_those_given() -> None:
    (ax,) = draw_strips(ROWS, "loss (nats)", looks={"B": "lstm"}, line=(2.5, "counting"), digits=1).axes
    marks = {line.get_ydata()[0]: line for line in ax.get_lines() if line.get_label() == "_row"}
    assert {y: sorted(line.get_xdata()) for y, line in marks.items()} == {1: [1, 1.5, 3], 2: [4, 5]}
    bars = [(*line.get_xdata(), *line.get_ydata()) for line in ax.get_lines() if line.get_label() == "_bar"]
    assert (marks[1].get_color(), marks[1].get_marker()) == (CYCLE[0], MARKERS[0])
    assert (marks[2].get_color(), marks[2].get_marker()) == (look("lstm")["color"], look("lstm")["marker"])
    words = {text.get_text(): text for text in ax.texts}
    assert list(words) == ["1.5", "4.5", "counting"] and (words["1.5"].xy[1], words["4.5"].xy[1]) == (1, 2)
    (line,) = (line for line in ax.get_lines() if line.get_label() == "_line")
    assert list(line.get_xdata()) == [2.5, 2.5] and bars == [(2.5, 1.5, 1, 1), (2.5, 4.5, 2, 2)]
    assert [text.get_fontweight() for text in ax.get_yticklabels()] == ["bold", "normal", "normal"]
    assert ax.get_xlabel() == "loss (nats)" and ax.yaxis_inverted()  # the first row is at the top


def test_differences_have_signs_and_a_title_stands_above() -> None:
    rows = {"better": [-0.25], "longer name of a row": [0.125, 0.125]}
    fig = draw_strips(rows, "difference", signed=True, title="A leads")
    assert [text.get_text() for text in fig.axes[0].texts] == ["−0.250", "+0.125"]
    assert fig.axes[0].get_title() == "A leads"


def test_slopes_and_panels_show_what_they_are_given() -> None:
    (ax,) = draw_slopes({"A": [[0, 1], [3, 3], [1, 9]]}, ("near", "far"), "share", ylim=(0, 9)).axes
    assert [line.get_ydata().tolist() for line in ax.get_lines()] == [[0, 1], [3, 3], [1, 9], [1, 3]]
    panels = draw_strip_panels({"x": {"A": [1, 2, 6]}, "y": {"B": [3]}}, (0, 5), "share").axes
    x, y = ([[*line.get_xdata(), *line.get_ydata()] for line in ax.get_lines()] for ax in panels)
    assert x == [[0, 2, 0, 0], [1, 2, 6, 0, 0, 0], [0, 0, 0, 1]] and y == [[5, 3, 1, 1], [3, 1], [5, 5, 0, 1]]
    ticks = [[text.get_text() for text in axis.get_ticklabels()] for axis in (ax.xaxis, panels[0].yaxis)]
    assert ticks == [["near", "far"], ["A", "B"]] and panels[0].yaxis_inverted()
    assert [ax.get_title() for ax in panels] == ["x", "y"]
