"""Summaries of several seeds: hand-made records with known answers."""

import numpy as np
import pytest
from scipy.stats import binom

from rtx_book.records import seeds
from rtx_book.records.records import load


def record(metric="accuracy", valid=(0.2, 0.9, 0.8), test=0.85, seconds=10.0, diverged=None):
    """A record with an evaluation every 50 steps; None is an evaluation without the metric."""
    steps = [{"step": 50 * i, "split": "valid"} for i in range(1, len(valid) + 1)]
    rows = [row | ({} if v is None else {metric: v}) for row, v in zip(steps, valid, strict=True)]
    metrics = {} if diverged or test is None else {metric: test}
    return {"evaluations": rows, "metrics": metrics, "seconds": seconds, "parameters": 7, "diverged": diverged}


DIVERGED = {"step": 120, "reason": "loss is nan at step 120"}


@pytest.mark.parametrize(
    ("count", "cut", "covers"),
    [(1, 0, None), (5, 0, 0.9375), (8, 0, 0.9921875), (9, 1, 0.9609375), (20, 5, 0.958610534)],
)
def test_the_interval_is_between_two_of_the_values_and_covers_as_often_as_it_says(count, cut, covers):
    """Which two is in Conover 1999; of fewer than six it is the range."""
    values = np.random.default_rng(count).normal(size=count)
    low, high = seeds.median_interval(values)
    ordered = sorted(values)
    assert (low, high) == (ordered[cut], ordered[-1 - cut])
    if covers:
        outside = binom.cdf(cut, count, 0.5)  # of so many values at most `cut` lie below their median
        assert 1 - 2 * outside == pytest.approx(covers)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [[1.0]], [float("inf")]])
def test_wrong_values_are_named(values):
    with pytest.raises(ValueError, match="values must be one or more finite numbers, got"):
        seeds.median_interval(values)


def test_one_run_by_accuracy_and_by_error():
    one, other = record(), record("mse", (0.3, 0.01, 0.05), 0.02)
    assert (seeds.best(one, "accuracy"), seeds.final(one, "accuracy")) == (0.9, 0.85)
    assert (seeds.best(other, "mse"), seeds.final(other, "mse")) == (0.01, 0.02)
    assert [seeds.steps_to(one, "accuracy", line) for line in (0.2, 0.8, 0.9, 0.91)] == [50, 100, 100, None]
    assert [seeds.steps_to(other, "mse", line) for line in (0.05, 0.01, 0.001)] == [100, 100, None]
    # The test counts, not the validation.
    assert seeds.solved(one, "accuracy", 0.85) and not seeds.solved(one, "accuracy", 0.86)
    assert seeds.solved(other, "mse", 0.02) and not seeds.solved(other, "mse", 0.01)
    assert seeds.better("accuracy", 0.9, 0.8) and not any(seeds.better("mse", value, 0.8) for value in (0.9, 0.8))


def test_every_metric_of_a_task_has_its_direction():
    """A new one must be put on one side: here if it falls, in RISING if it rises."""
    falling = {"loss", "forward loss", "backward loss", "mse", "bpc", "perplexity", "error"}
    falling |= {"stop words", "other words", "mae", "mase", "pinball"}
    falling |= {"coverage", "width"}  # best at its level, neither high nor low
    for run in (run for runs in load().values() for run in runs):
        elsewhere = [row for name, row in run.get("elsewhere", {}).items() if not name.endswith(", baselines")]
        for row in (run["metrics"], *run["evaluations"][:1], *elsewhere):
            for metric in {name.removeprefix("reference_") for name in row} - {"step", "seconds", "split"}:
                of_words = metric.startswith(("word ", "share of "))  # a loss, and no result at all
                assert seeds.rises(metric) == (metric not in falling and not of_words), metric


def test_a_run_that_diverged_has_no_value_but_may_have_reached_the_line_before():
    one = record("mse", (0.3, None, 0.01), diverged=DIVERGED)
    assert seeds.best(one, "mse") is seeds.final(one, "mse") is None and not seeds.solved(one, "mse", 1.0)
    assert seeds.steps_to(one, "mse", 0.1) == 150
    assert seeds.best(record("mse"), "loss") is seeds.final(record("mse", test=None), "mse") is None


def test_seeds_are_summed_up():
    records = [
        record("mse", (0.3, 0.01), 0.02, 10.0),
        record("mse", (0.01, 0.01), 0.03, 20.0),
        record("mse", (0.3, 0.3), 0.30, 60.0),
        record("mse", (0.3, 0.3), diverged=DIVERGED, seconds=1.0),
        record("mse", (0.3, 0.3), test=None, seconds=1.0),  # its last update blew it up, and no step was left to see it
    ]
    told = seeds.summarise(records, "mse", 0.05)
    counts = {"seeds": 5, "solved": 2, "diverged": 2, "steps_to": 75.0, "seconds": 10.0, "parameters": 7}
    assert told == counts | {"median": 0.03, "low": 0.02, "high": 0.30, "values": [0.02, 0.03, 0.30]}


def test_none_one_and_no_line():
    nothing = dict.fromkeys(("median", "low", "high", "steps_to", "seconds", "parameters"))
    assert seeds.summarise([], "mse", 0.05) == nothing | {"seeds": 0, "values": [], "solved": 0, "diverged": 0}
    one = seeds.summarise([record()], "accuracy")
    assert (one["median"], one["low"], one["high"]) == (0.85, 0.85, 0.85) and one["solved"] is one["steps_to"] is None
    gone = seeds.summarise([record(diverged=DIVERGED)], "accuracy", 0.9)
    assert gone["median"] is None and gone["diverged"] == 1 and gone["solved"] == 0


ENDS = {1: "123 456", -1: "456 123", 0: "124 356; 123 345", None: "12 456; 123 45;  "}  # a digit for each seed


@pytest.mark.parametrize(("end", "case"), [(end, case) for end, cases in ENDS.items() for case in cases.split("; ")])
def test_one_is_better_only_with_every_seed(end, case):
    ours, theirs = ([*map(int, side)] for side in case.split(" "))
    assert seeds.verdict(ours, theirs) == end
    assert seeds.verdict(ours, theirs, metric="accuracy") == (None if end is None else -end)


def test_what_is_better_is_told_with_its_distance():
    assert seeds.MIN_SEEDS == 3
    assert seeds.tell([1.0, 1.1, 1.2], [2.0, 2.1, 2.2]) == "−1.000, better with every seed"
    assert seeds.tell([0.9] * 3, [0.5] * 3, metric="accuracy", digits=1) == "+0.4, better with every seed"
    assert seeds.tell([1, 2, 4], [3, 5, 6], digits=0) == "−3, undecided: seeds overlap"
    assert seeds.tell([1.0], [2.0]) == "too few runs"


def test_a_cell_of_a_table_holds_the_median_and_the_range():
    assert seeds.with_range([3.3333, 3.29, 3.2666]) == "3.29 (3.27–3.33)"
    assert seeds.with_range(np.array([1.0, 2.0]), digits=1) == "1.5 (1.0–2.0)"
    assert seeds.with_range([]) == "–"


def test_runs_without_a_value_are_left_out_of_the_finals():
    found = seeds.finals([record(test=0.5), record(diverged=DIVERGED), record(test=None), record(test=0.7)], "accuracy")
    assert found.tolist() == [0.5, 0.7]


ROWS = {"third": [3.0, 3.1, 3.2], "first": [1.0, 1.2, 1.1], "second": [1.15, 1.3, 1.4], "last": [3.15, 3.3, 3.4]}


def test_leaders_are_the_fewest_that_are_better_than_all_others_with_every_seed():
    assert seeds.leaders(ROWS) == ["first", "second"]  # their seeds overlap with each other, not with the rest
    assert seeds.leaders(ROWS, metric="accuracy") == ["last", "third"]
    assert seeds.leaders({name: ROWS[name] for name in ("first", "third")}) == ["first"]
    assert seeds.leaders({"one": ROWS["first"]}) == []
    assert seeds.leaders({name: row[:2] for name, row in ROWS.items()}) == []  # too few seeds


def test_whoever_misses_what_needs_no_learning_bears_a_dagger():
    """One seed at the line is enough; equal is not better."""
    assert seeds.misses([1.0, 2.0], 2.0) and not seeds.misses([1.0, 1.9], 2.0)
    assert seeds.misses([0.5, 0.9], 0.5, metric="accuracy") and not seeds.misses([0.6], 0.5, metric="accuracy")
    assert seeds.with_range([3.2, 3.3], line=3.25) == "3.25 (3.20–3.30) †"
    assert seeds.with_range([3.2, 3.3], line=3.4) == "3.25 (3.20–3.30)" and seeds.with_range([], line=1.0) == "–"


def test_elsewhere_holds_the_variants_that_all_runs_have():
    def tested(diverged=None, **accuracy):
        return {"diverged": diverged, "elsewhere": {name: {"accuracy": value} for name, value in accuracy.items()}}

    runs = [tested(short=0.9, long=0.3), tested(short=0.8, long=0.2, longer=0.1), tested("step 3", short=0.1)]
    runs += [{"diverged": None, "elsewhere": None}]
    found = seeds.elsewhere(runs, "accuracy")
    assert {name: list(values) for name, values in found.items()} == {"short": [0.9, 0.8], "long": [0.3, 0.2]}
    assert seeds.elsewhere(runs, "loss") == {} == seeds.elsewhere([], "loss")


def test_a_tally_counts_those_that_met_the_line_and_says_by_when() -> None:
    fast, slow = (record(metric="mse", valid=(0.2,) * n + (0.01,)) for n in (1, 30))
    stuck, lost = record(metric="mse", valid=(0.2, 0.15)), record(diverged=DIVERGED)
    assert seeds.tally([slow, stuck, fast], "mse", 0.0167) == "2 of 3, by 1,550"
    assert seeds.tally([stuck, stuck], "mse", 0.0167) == "0 of 2"
    assert seeds.tally([stuck, lost], "mse", 0.0167) == "0 of 2, 1 diverged"
    assert seeds.tally([], "mse", 0.0167) == "no run"


def test_changes_are_told_by_what_the_seeds_say():
    rows = {"6": [4.0, 4.1, 4.2], "1": [4.5, 4.6, 4.4], "2": [4.4, 4.3, 4.5], "12": [4.0, 4.2, 4.1]}
    rows["rotary"] = [3.5, 3.6, 3.7]
    worse = "1 (+0.40) and 2 (+0.30) are worse with every seed; for 12 (+0.00) the seeds overlap"
    assert seeds.tell_changes(rows, "6") == f"{worse}; rotary (−0.50) is better with every seed"


def test_who_solved_a_task_and_when():
    given = [  # at the end, along the way, and on a longer test
        (record(valid=(0.5, 0.99), test=1.0), 0.995),
        (record(valid=(0.99, 0.98), test=0.995), 0.98),
        (record(valid=(0.995,), test=0.9), 0.0),
        (record(diverged=DIVERGED), 1.0),
    ]
    runs = [own | {"elsewhere": {"long": {"accuracy": later}}} for own, later in given]
    assert seeds.told_solved(runs, "accuracy", 0.99) == (2, 4, seeds.share_interval(2, 4), 75)
    assert seeds.told_solved(runs, "accuracy", 0.99, "long") == (1, 4, seeds.share_interval(1, 4), 100)
    assert seeds.told_solved(runs[2:], "accuracy", 0.99) == (0, 2, seeds.share_interval(0, 2), None)
    low, high = seeds.share_interval(18, 20)
    assert 0.68 < low < 0.69 and 0.98 < high < 0.99
