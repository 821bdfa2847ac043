"""Sentences and rows of a race: hand-made records with known answers."""

import pytest

from rtx_lib.evidence.race import Race, rate_effect
from rtx_lib.evidence.race_words import (
    COLUMNS,
    cost_factor,
    cost_rows,
    crossings,
    lead_changes,
    listed,
    most_of,
    rate_rows,
    table_rows,
    told_factors,
    told_hours,
    told_lengths,
    told_widest,
)
from rtx_lib.evidence.seeds import summarise

LANES = {"one": "One", "two": "Two"}
NAMES = {"digits": "Digits", "adding": "Adding"}


def record(metric, value, seed=0, reached=True, recipe="race-x"):
    metrics = {} if value is None else {metric: value, "loss": 1.0}
    row = {"step": 50, metric: value if reached and value is not None else (0.0 if metric == "accuracy" else 1.0)}
    return {
        "recipe": recipe,
        "seed": seed,
        "metrics": metrics,
        "diverged": None if value is not None else {"step": 3},
        "evaluations": [row],
        "seconds": 1.0,
        "parameters": 10,
        "configuration": {"lr": 0.01},
    }


@pytest.fixture
def race():
    own = {
        "digits": {"one": [0.95, 0.96, 0.97], "two": [0.5, None, 0.6]},
        "adding": {"one": [0.001234, 0.0022, 0.0031], "two": [0.2, 0.2, 0.2]},
    }
    metrics = {"digits": ("accuracy", 0.9), "adding": ("mse", 0.01)}
    runs = {
        (task, lane): [record(metrics[task][0], value, seed, lane == "one") for seed, value in enumerate(values)]
        for task, lanes in own.items()
        for lane, values in lanes.items()
    }
    costs = {
        ("digits", "one"): {"seconds_per_step": 0.02, "flops_per_step": 4e12, "parameters": 10_000},
        ("digits", "two"): {"seconds_per_step": 0.05, "flops_per_step": 1e12, "parameters": 10_000},
    }
    return Race(LANES, metrics, runs, costs, {})


def test_names_stand_as_in_a_sentence():
    assert [listed([]), listed(["A"]), listed(["A", "B"]), listed(["A", "B", "C"])] == [
        "none",
        "A",
        "A and B",
        "A, B and C",
    ]


def test_most_names_are_said_by_those_left_out():
    assert most_of(["A", "B", "C"], "ABCD") == "all but D" and most_of(list("ABCD"), "ABCD") == "all"
    assert most_of(["A", "B"], "ABCD") == "A and B" and most_of([], "AB") == "none"


def test_who_crosses_the_lines(race):
    assert crossings(race) == "**All 2 finish lines are crossed with every seed by One.**"
    harder = Race(LANES, race.finish | {"digits": ("accuracy", 0.96)}, race.runs)
    assert crossings(harder) == (
        "**No model crosses all 2 finish lines with every seed.** At most 1 are crossed, by One."
    )


def test_where_one_lane_is_ahead_of_another(race):
    assert lead_changes(race, NAMES, "one", "two") == (
        "In every seed on: Digits, Adding. It loses in every seed on: none."
    )
    assert lead_changes(race, NAMES, "two", "one") == (
        "In every seed on: none. It loses in every seed on: Digits, Adding."
    )


def test_a_rival_that_misses_the_baseline_is_no_trophy(race):
    known = Race(LANES, race.finish, race.runs, race.costs, {"adding": 1 / 6})
    for own, won, lost in (("one", "Digits", "none"), ("two", "none", "Digits")):
        other = "two" if own == "one" else "one"
        assert lead_changes(known, NAMES, own, other) == (
            f"In every seed on: {won}. It loses in every seed on: {lost}. Undecided, because the loser has a seed that "
            "does not beat the baseline: Adding."
        )


def test_wide_ranges_are_told_with_their_rates(race):
    rates = {task: {"one": 0.01, "two": 0.003} for task in NAMES}
    told = told_widest(race, NAMES, rates, lambda value: f"{value:.2g}", 2)
    assert told == "Two on digits, 0.5 to 0.6, rate 0.003; One on digits, 0.95 to 0.97, rate 0.01"


def test_what_a_rate_is_worth_fills_rows():
    effect = rate_effect({"one": {1.0: 0.9, 2.0: 0.1}, "two": {1.0: 0.5, 2.0: 0.4}}, higher=True)
    rows = rate_rows({"digits": effect}, {"digits": {"name": "Digits", "label": "accuracy"}}, LANES, "{:.2f}".format)
    assert rows == [("Digits", "accuracy", "0.45", "0.45", "0.40", "One would fall behind 1 of 1")]


def test_hours_are_told_by_part_and_in_all():
    def took(seconds, name="a CPU"):
        return {"seconds": seconds, "device": {"name": name}}

    assert told_hours([[took(1800), took(1800)], [took(7200, "another")]]) == (
        "3.0 hours of one thread (1.0 + 2.0; a CPU, another)"
    )


def test_costs_of_a_step(race):
    assert cost_rows(race, "digits", positions=2048)[0] == ("One", "20", "4000.00", "32552.08", "200000")
    assert cost_factor(race, "digits", "seconds_per_step") == (2.5, "One", "Two")
    assert cost_factor(race, "digits", "flops_per_step") == (4.0, "Two", "One")
    assert told_factors(race, "digits") == (
        "in time by a factor of 2.5 (One least, Two most), in arithmetic by a factor of 4.0 (Two least, One most)"
    )


def test_rows_of_the_table(race):
    rows = table_rows(race, NAMES, lambda value: f"{value:.4g}", page="records.html")
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert [row[:2] for row in rows] == [["One", "Digits"], ["Two", "Digits"], ["One", "Adding"], ["Two", "Adding"]]
    assert rows[0][2:] == [
        (0.96, "0.96", "records.html#recipe-race-x"),
        (0.95, "0.95 to 0.97"),
        (3, "3/3"),
        50,
        (1.0, "1"),
        (200e12, "200.00"),
        0.01,
    ]
    assert rows[1][4] == (0, "0/3, 1 diverged") and rows[1][5:8] == [None, None, None], "it never got there"
    assert rows[2][3] == (0.001234, "0.0012 to 0.0031"), "ends of errors have two digits"
    assert rows[2][6] is None, "nobody timed it"


def test_a_lane_whose_runs_all_diverged_has_a_row(race):
    lost = Race(LANES, race.finish, race.runs | {("adding", "two"): [record("mse", None)] * 3})
    row = next(row for row in table_rows(lost, NAMES, str) if row[:2] == ["Two", "Adding"])
    assert row[2][:2] == (None, "diverged") and row[3] is None and row[4] == (0, "0/3, 3 diverged")


def test_lengths_are_told_of_three_seeds_only():
    def of(*values):
        return summarise([record("mse", value) for value in values], "mse", 0.01)

    good, bad = (0.001, 0.002, 0.003), (0.1, 0.001, 0.002)
    told = told_lengths(
        {
            50: {"one": of(*good), "two": of(0.001)},
            100: {"one": of(*good), "two": of(*good)},
            200: {"one": of(*bad), "two": of(0.5, 0.5)},
        },
        LANES,
    )
    assert told == (
        "From 100 to 200 these lose the line: One. Beyond it with every seed: at 50 One; at 100 all; "
        "at 200 none. Not judged, with fewer than 3 seeds: at 50 Two; at 200 Two."
    )
    assert told_lengths({50: {"one": of(*good)}, 100: {"one": of(*good)}}, {"one": "One"}) == (
        "From 50 to 100 no lane with 3 seeds at both loses the line. Beyond it with every seed: at 50 all; at 100 all."
    )
    with pytest.raises(ValueError, match="two lengths or more"):
        told_lengths({50: {"one": of(*good)}}, LANES)
