"""Summaries of several seeds: hand-made records with known answers."""

import json

import numpy as np
import pytest

from rtx_lib.records import results_folder
from rtx_lib.evidence.seeds import best, better, bootstrap_interval, final, reached, rises, solved, steps_to, summarise


def record(metric="accuracy", valid=(0.2, 0.9, 0.8), test=0.85, seconds=10.0, diverged=None):
    """A record with an evaluation every 50 steps; None is an evaluation without the metric."""
    rows = [
        {"step": 50 * i, "split": "valid"} | ({} if v is None else {metric: v}) for i, v in enumerate(valid, start=1)
    ]
    metrics = {} if diverged or test is None else {metric: test}
    return {"evaluations": rows, "metrics": metrics, "seconds": seconds, "parameters": 7, "diverged": diverged}


DIVERGED = {"step": 120, "reason": "loss is nan at step 120"}


def test_the_interval_is_that_of_numpys_draws_and_stays_within_the_values():
    values = [3.0, 1.0, 2.0, 5.0, 4.0]
    low, high = bootstrap_interval(values)
    assert (low, high) == bootstrap_interval(values) == (1.0, 5.0)
    assert bootstrap_interval(values, level=0.5) == (2.0, 4.0)
    assert bootstrap_interval(values, seed=1, draws=3) != bootstrap_interval(values, seed=2, draws=3)
    assert bootstrap_interval([2.5]) == (2.5, 2.5) and bootstrap_interval([1, 1, 1]) == (1.0, 1.0)


def test_the_interval_of_a_mean_is_that_of_the_central_limit():
    values = np.random.default_rng(3).normal(size=400)
    low, high = bootstrap_interval(values, statistic=np.mean)
    error = 1.96 * values.std() / 400**0.5
    assert (low, high) == pytest.approx((values.mean() - error, values.mean() + error), abs=0.1 * error)


def test_the_interval_covers_the_true_mean_as_often_as_it_says():
    draw = np.random.default_rng(0)
    inside = 0
    for seed in range(200):
        low, high = bootstrap_interval(draw.normal(size=40), statistic=np.mean, level=0.8, draws=400, seed=seed)
        inside += low <= 0 <= high
    assert 0.7 < inside / 200 < 0.88


@pytest.mark.parametrize(
    ("values", "settings", "message"),
    [
        ([], {}, "values must be one or more finite numbers"),
        ([1.0, float("nan")], {}, "values must be one or more finite numbers"),
        ([[1.0]], {}, "values must be one or more finite numbers"),
        ([1.0], {"level": 1.0}, "level must be between 0 and 1, got 1.0"),
        ([1.0], {"draws": 0}, "draws must be at least 1, got 0"),
    ],
)
def test_wrong_arguments_are_named(values, settings, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(values, **settings)


def test_one_run_by_accuracy_and_by_error():
    one, other = record(), record("mse", (0.3, 0.01, 0.05), 0.02)
    assert (best(one, "accuracy"), final(one, "accuracy")) == (0.9, 0.85)
    assert (best(other, "mse"), final(other, "mse")) == (0.01, 0.02)
    assert steps_to(one, "accuracy", 0.8) == steps_to(one, "accuracy", 0.9) == 100
    assert steps_to(one, "accuracy", 0.91) is None and steps_to(one, "accuracy", 0.2) == 50
    assert steps_to(other, "mse", 0.05) == steps_to(other, "mse", 0.01) == 100 and steps_to(other, "mse", 0.001) is None
    assert solved(one, "accuracy", 0.85) and not solved(one, "accuracy", 0.86), "the test counts, not the validation"
    assert solved(other, "mse", 0.02) and not solved(other, "mse", 0.01)
    assert better("accuracy", 0.9, 0.8) and not better("mse", 0.9, 0.8) and not better("mse", 0.8, 0.8)


@pytest.mark.parametrize("metric", ["accuracy", "exact", "reference_accuracy"])
def test_shares_of_what_is_right_rise(metric):
    assert better(metric, 0.9, 0.8) and reached(metric, 0.9, 0.8) and not reached(metric, 0.7, 0.8)
    assert best(record(metric), metric) == 0.9 and steps_to(record(metric), metric, 0.85) == 100


def test_every_metric_of_a_task_has_its_direction():
    """A new one must be put on one side: here if it falls, in RISING if it rises."""
    falling = {"loss", "mse", "bpc", "perplexity"}
    for path in results_folder().glob("*.json"):
        run = json.loads(path.read_text())
        for row in (run["metrics"], *run["evaluations"][:1], *run.get("elsewhere", {}).values()):
            for metric in {name.removeprefix("reference_") for name in row} - {"step", "seconds", "split"}:
                assert rises(metric) == (metric not in falling), metric


def test_a_run_that_diverged_has_no_value_but_may_have_reached_the_line_before():
    one = record("mse", (0.3, None, 0.01), diverged=DIVERGED)
    assert best(one, "mse") is final(one, "mse") is None and not solved(one, "mse", 1.0)
    assert steps_to(one, "mse", 0.1) == 150
    assert best(record("mse"), "loss") is final(record("mse", test=None), "mse") is None


def test_seeds_are_summed_up():
    records = [
        record("mse", (0.3, 0.01), 0.02, 10.0),
        record("mse", (0.01, 0.01), 0.03, 20.0),
        record("mse", (0.3, 0.3), 0.30, 60.0),
        record("mse", (0.3, 0.3), diverged=DIVERGED, seconds=1.0),
    ]
    told = summarise(records, "mse", 0.05)
    assert told == {
        "seeds": 4, "median": 0.03, "low": 0.02, "high": 0.30, "values": [0.02, 0.03, 0.30], "solved": 2,
        "diverged": 1, "steps_to": 75.0, "seconds": 15.0, "parameters": 7,
    }  # fmt: skip


def test_a_run_without_a_finite_test_is_among_the_diverged():
    """Its last update blew it up, and no step was left to see it."""
    told = summarise([record("mse", test=0.1), record("mse", test=None), record("mse", diverged=DIVERGED)], "mse", 0.2)
    assert (told["seeds"], told["values"], told["diverged"], told["solved"]) == (3, [0.1], 2, 1)


def test_none_one_and_no_line():
    assert summarise([], "mse", 0.05) == {
        "seeds": 0, "median": None, "low": None, "high": None, "values": [], "solved": 0, "diverged": 0,
        "steps_to": None, "seconds": None, "parameters": None,
    }  # fmt: skip
    one = summarise([record()], "accuracy")
    assert (one["median"], one["low"], one["high"]) == (0.85, 0.85, 0.85) and one["solved"] is one["steps_to"] is None
    gone = summarise([record(diverged=DIVERGED)], "accuracy", 0.9)
    assert gone["median"] is None and gone["diverged"] == 1 and gone["solved"] == 0
