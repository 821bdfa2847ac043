"""What chapters draw from records: bands over seeds, baselines, labels at the lines, and where it all comes from."""

import itertools
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

from rtx_lib.plots import bands, baseline, error_axes, evaluations, label_lines, provenance, record_bands, smooth
from rtx_lib.plots.curves import spread


def record(seed: int = 1, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"recipe": "adding-T50", "seed": seed, "seconds": 90.0}
    made["configuration"] = {"steps": 30, "lr": 0.01}
    made |= {"commit": "0123456789abcdef", "device": {"name": "cpu", "threads": 1}}
    return made | changes


def test_evaluations_of_several_runs_stand_on_common_steps() -> None:
    early = record(evaluations=[{"step": 10, "accuracy": 0.5}, {"step": 20, "accuracy": 0.7, "loss": 1.0}])
    late = record(evaluations=[{"step": 20, "accuracy": 0.6}, {"step": 30, "loss": 2.0}])
    steps, values = evaluations([early, late], "accuracy")
    assert steps.tolist() == [10, 20]
    np.testing.assert_array_equal(values, [[0.5, 0.7], [np.nan, 0.6]])


def test_smooth_is_a_running_mean() -> None:
    np.testing.assert_allclose(smooth([1, 2, 3, 4], 2), [1, 1.5, 2.5, 3.5])
    np.testing.assert_allclose(smooth([1, 2, 3, 4], 9), [1, 1.5, 2, 2.5])
    np.testing.assert_allclose(smooth(np.ones((2, 5)), 1), np.ones((2, 5)))
    np.testing.assert_allclose(smooth([np.nan, 1, 1e20, 1, 3], 2), [np.nan, 1, 5e19, 5e19, 2])


def test_bands_draw_median_and_range() -> None:
    _, ax = plt.subplots()
    values = np.array([[1, 2, np.nan], [3, 9, np.nan], [5, 4, np.nan]])
    line = bands(ax, values, "T = 10", steps=[10, 20, 30])
    np.testing.assert_array_equal(line.get_xydata(), [[10, 3], [20, 4]])
    (band,) = ax.collections
    assert band.get_datalim(ax.transData).bounds == (10, 1, 10, 8)
    second = bands(ax, [1.0, 2.0], "one run")
    assert len(ax.collections) == 1
    assert (second.get_color(), second.get_marker()) != (line.get_color(), line.get_marker())
    baseline(ax, 1 / 6, "always predict 1")
    assert bands(ax, [1.0, 2.0], "third").get_marker() == "^"  # a baseline uses no colour of the cycle


def test_record_bands_draw_each_name_that_has_records() -> None:
    found = [record(evaluations=[{"step": 10, "mse": mse}, {"step": 20, "mse": mse / 10}]) for mse in (0.1, 0.2, 0.6)]
    _, ax = plt.subplots()
    record_bands(ax, {"none": [], "some": found, "one": found[:1]}, "mse", markevery=1)
    some, one = ax.get_lines()
    assert (some.get_label(), one.get_label(), some.get_markevery()) == ("some", "one", 1)
    np.testing.assert_allclose(some.get_xydata(), [(10, 0.2), (20, 0.02)])
    np.testing.assert_allclose(one.get_xydata(), [(10, 0.1), (20, 0.01)])
    assert len(ax.collections) == 1 and some.get_color() != one.get_color()


def test_error_axes_are_logarithmic_with_levels_and_names() -> None:
    _, ax = plt.subplots()
    bands(ax, [0.1, 0.01], "LSTM")
    error_axes(ax, 1 / 6, 1 / 60, xlim=(0, 3), ylabel="error")
    assert (ax.get_yscale(), ax.get_xlabel(), ax.get_ylabel()) == ("log", "training step", "error")
    assert ax.get_xlim() == (0, 3)
    assert [line.get_ydata()[0] for line in ax.get_lines()[1:]] == [1 / 6, 1 / 60]
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["LSTM"]


def test_labels_stand_at_the_lines_ends_without_overlap() -> None:
    fig, ax = plt.subplots()
    for k in range(4):
        ax.plot([0, 1], [0, 1 + 0.001 * k], label=f"line {k}")
    ax.plot([0, 1], [0, -5], label="_hidden")
    ax.plot([0, 1], [np.nan, np.nan], label="empty")
    label_lines(ax)
    fig.canvas.draw()
    boxes = sorted((Text.get_window_extent(text) for text in ax.texts), key=lambda box: box.y0)
    assert [text.get_text() for text in ax.texts] == [f"line {k}" for k in range(4)]
    assert all(low.y1 <= high.y0 + 1 for low, high in itertools.pairwise(boxes))
    assert all(box.x1 <= fig.bbox.x1 for box in boxes)


def test_spread_moves_as_little_as_need_be() -> None:
    assert spread([10, 50], 12, 0, 100) == [10, 50]
    assert spread([50, 50], 12, 0, 100) == [44, 56]
    assert spread([100, 100], 12, 0, 100) == [88, 100]
    assert spread([0, 0, 40], 12, 0, 100) == [0, 12, 40]
    assert spread([], 12, 0, 100) == []


def test_provenance_says_how_and_names_each_record() -> None:
    text = provenance([record(2), record(1)])
    assert provenance({"a": [record(2)], "none": [], "b": [record(1)]}) == text
    assert text.startswith("2 recorded runs of 30 steps, 2 seeds (1, 2), one processor. <details><summary>")
    assert "cpu, 1 thread; commit 0123456; 3 min in all." in text
    assert '<span data-recipe="adding-T50">adding-T50</span> s2 s1' in text and "href" not in text
    alone = provenance([other := record(1, seconds=5, device={"name": "<H>", "threads": 2})])
    assert "1 to 2 seeds each (1, 2), 2 devices" in provenance([record(1), record(2), other | {"recipe": "r"}])
    assert alone.startswith("1 recorded run of 30 steps, 1 seed (1), one processor.")
    for last, named in ((5, "0 to 5"), (6, "0, 1, 2, 3, 4, 6")):
        assert f", 6 seeds ({named}), " in provenance([record(seed) for seed in (*range(5), last)])
    assert "&lt;H&gt;, 2 threads; commit 0123456; 5 s" in alone
    many = provenance([record(recipe=f"r{i}", configuration={"steps": 10 * i, "lr": i / 1000}) for i in (1, 2, 3)])
    assert "Learning rate 0.001 to 0.003, chosen" in many and "Learning rate 0.01, " in text
    assert " of 10 to 30 steps, 1 seed each (1), " in many and all(f'recipe="r{i}"' in many for i in (1, 2, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda ax: bands(ax, [[np.nan]], "x"), "curves must be .* and hold a finite value"),
        (lambda ax: provenance([]), "records must hold at least one record, got none"),
        (lambda ax: evaluations([record(evaluations=[{"step": 1}])], "bits"), "metric must be one .* got 'bits'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_drawn(ax: Axes, call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(ax)
    assert not ax.has_data() and not ax.texts and plt.get_fignums() == [ax.figure.number]
