"""A run on the page lies over the recorded ones: in their colour, thin and dotted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from rtx_lib.plots import CYCLE, draw_runs, style


@pytest.fixture(autouse=True)
def book_style() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}), style():
        yield
    plt.close("all")


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
    draw_runs(ax, {"none": ([1], [0.1])}, {"none": [record(0.2)]}, "accuracy", looks={"none": 3})
    assert {line.get_color() for line in ax.get_lines()} == {CYCLE[3]}
