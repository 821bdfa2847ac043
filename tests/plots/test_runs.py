"""A run on the page lies over the recorded ones, thin and dotted; two trained in turns share the reference's steps."""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rtx_lib.plots import CYCLE, draw_runs, draw_side_by_side, look


def record(*values: float) -> dict[str, Any]:
    return {"evaluations": [{"step": 50 * (i + 1), "accuracy": value} for i, value in enumerate(values)]}


def test_bands_bear_the_names_and_live_runs_lie_over_them() -> None:
    _, ax = plt.subplots()
    live = {"rotary": ([10, 20], [0.3, 0.4]), "none": ([10, 20], [0.1, 0.1])}
    draw_runs(ax, live, {"rotary": [record(0.2, 0.6), record(0.4, 0.8), record(0.3, 0.9)]}, "accuracy")
    band, over, alone = ax.get_lines()
    assert [line.get_label() for line in (band, over, alone)] == ["rotary", "_live", "none"]
    np.testing.assert_allclose(band.get_xydata(), [(50, 0.3), (100, 0.8)])
    np.testing.assert_array_equal(over.get_xydata(), [(10, 0.3), (20, 0.4)])
    assert over.get_linestyle() == ":" and over.get_color() == band.get_color() == CYCLE[0]
    assert alone.get_color() == CYCLE[1] and len(ax.collections) == 1


def test_looks_can_be_those_of_another_figure() -> None:
    _, ax = plt.subplots()
    draw_runs(ax, {"none": ([1], [0.1])}, {"none": [record(0.2)]}, "accuracy", looks={"none": "gru"})
    assert {line.get_color() for line in ax.get_lines()} == {look("gru")["color"]}


def beside(*losses: tuple[float, float], rate: float = 1.5) -> dict[str, Any]:
    rows = [
        {"step": int(50 * rate * n), "reference_step": 50 * n, "loss": ours, "reference_loss": theirs}
        for n, (ours, theirs) in enumerate(losses, start=1)
    ]
    return {"evaluations": rows}


def test_two_that_were_trained_in_turns_stand_over_the_steps_of_the_reference() -> None:
    """Their own steps differ from seed to seed; one that diverged ends early."""
    _, ax = plt.subplots()
    runs = [beside((3.0, 4.0), (2.0, 1.0)), beside((3.2, 4.2), (2.4, 1.4), rate=1.4), beside((3.4, 4.1))]
    draw_side_by_side(ax, runs, ("without", "with"))
    ours, theirs = ax.get_lines()
    assert (ours.get_label(), theirs.get_label()) == ("without", "with") and len(ax.collections) == 2
    np.testing.assert_allclose(ours.get_xydata(), [(50, 3.2), (100, 2.2)])
    np.testing.assert_allclose(theirs.get_xydata(), [(50, 4.1), (100, 1.2)])
    with pytest.raises(ValueError, match="'reference_accuracy'"):
        draw_side_by_side(ax, [{"evaluations": [{"reference_step": 50, "accuracy": 0.5}]}], ("a", "b"), "accuracy")
