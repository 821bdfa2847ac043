"""Rows and frames of a race: hand-made records with known answers."""

import pytest

from rtx_book.race import race_tables as tables
from rtx_book.race.race import Race, rate_effect
from rtx_book.race.ranking import Rank, Ranking, ranking

LANES = {"one": "One", "two": "Two"}
NAMES = {"digits": "Digits", "adding": "Adding"}


def record(metric, value, seed=0, reached=True, recipe="race-x"):
    metrics = {} if value is None else {metric: value, "loss": 1.0}
    row = {"step": 50, metric: value if reached and value is not None else (0.0 if metric == "accuracy" else 1.0)}
    found = {"recipe": recipe, "seed": seed, "metrics": metrics, "evaluations": [row], "seconds": 1.0, "parameters": 10}
    return found | {"diverged": None if value is not None else {"step": 3}, "configuration": {"lr": 0.01}}


@pytest.fixture
def race():
    own = {"digits": {"one": [0.95, 0.96, 0.97], "two": [0.5, None, 0.6]}}
    own["adding"] = {"one": [0.001234, 0.0022, 0.0031], "two": [0.2, 0.2, 0.2]}
    metrics = {"digits": ("accuracy", 0.9), "adding": ("mse", 0.01)}
    runs = {
        (task, lane): [record(metrics[task][0], value, seed, lane == "one") for seed, value in enumerate(values)]
        for task, lanes in own.items()
        for lane, values in lanes.items()
    }
    names = ("seconds_per_step", "flops_per_step", "parameters")
    timed = {"one": (0.02, 4e12, 10_000), "two": (0.05, 1e12, 10_000)}
    costs = {("digits", lane): dict(zip(names, own, strict=True)) for lane, own in timed.items()}
    return Race(LANES, metrics, runs, costs, {})


def test_what_a_rate_is_worth_fills_rows():
    effect = rate_effect({"one": {1.0: 0.1, 2.0: 0.9}, "two": {1.0: 0.5, 2.0: 0.6}})
    told = {"digits": {"name": "Digits", "metric": "accuracy"}, "adding": {"name": "Adding", "metric": "mse"}}
    rows = tables.rate_rows({"digits": effect, "adding": effect}, told, LANES, "{:.2f}".format)
    assert rows[0] == ("Digits", "nats", "0.45", "0.45", "0.40", "One would fall behind 1 of 1")
    assert rows[1][:2] == ("Adding", "MSE")


def test_costs_of_a_step(race):
    assert tables.cost_rows(race, "digits", positions=2048)[0] == ("One", "20", "4000.00", "32552.08", "200000")


def test_rows_of_the_table(race):
    rows = tables.table_rows(race, NAMES, lambda value: f"{value:.4g}")
    assert {len(row) for row in rows} == {len(tables.COLUMNS)}
    assert [row[:2] for row in rows] == [["One", "Digits"], ["Two", "Digits"], ["One", "Adding"], ["Two", "Adding"]]
    assert rows[0][2:5] == [(0.96, "0.96", "race-x"), (0.95, "0.95 to 0.97"), (3, "3/3")]
    assert rows[0][5:] == [50, (1.0, "1"), (200e12, "200.00"), 0.01]
    assert rows[1][4] == (0, "0/3, 1 diverged") and rows[1][5:8] == [None, None, None], "it never got there"
    assert rows[2][3] == (0.001234, "0.0012 to 0.0031"), "ends of errors have two digits"
    assert rows[2][6] is None, "nobody timed it"


def test_a_lane_whose_runs_all_diverged_has_a_row(race):
    lost = Race(LANES, race.finish, race.runs | {("adding", "two"): [record("mse", None)] * 3})
    row = next(row for row in tables.table_rows(lost, NAMES, str) if row[:2] == ["Two", "Adding"])
    assert row[2][:2] == (None, "diverged") and row[3] is None and row[4] == (0, "0/3, 3 diverged")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([(1, 1, 1), (2, 2, 3), (3, 2, 3)], "One is first, and all others can be told from it"),
        ([(1, 1, 2), (1, 1, 3), (3, 2, 4), (4, 4, 4)], "One and Two are first; Three cannot be told from them"),
        ([(1, 1, 1)] * 5, "5 models are first, and all others can be told from them"),
        ([(n, 1, 6) for n in range(1, 7)], "One is first; 5 models cannot be told from it"),
    ],
)
def test_who_leads_and_who_cannot_be_told_from_the_leader(rows, told):
    lanes = {name.lower(): name for name in ("One", "Two", "Three", "Four", "Five", "Six")}
    ranks = {lane: Rank(*row, first=0.5) for lane, row in zip(lanes, rows, strict=False)}
    assert tables.told_lead(Ranking(ranks, ("digits",), "test"), lanes) == told


def test_amounts_are_written_with_their_unit():
    told = {"seconds": {35.2: "35 seconds", 0.25: "0.25 seconds", 1234.5: "1,234 seconds"}}
    told |= {"steps": {1000: "1,000 steps"}, "FLOPs": {2.1e12: "2.1 TFLOPs", 956e9: "956 GFLOPs", 12.0: "12 FLOPs"}}
    for kind, own in told.items():
        assert {amount: tables.told_amount(kind, amount) for amount in own} == own


def test_frames_hold_what_the_rankings_say(race):
    found = tables.rank_frames(race, NAMES)
    assert list(found["Digits"]) == ["steps", "FLOPs", "seconds"] and list(found["Adding"]) == ["steps"]
    (frame,) = found["Digits"]["steps"]
    want = ranking(race, "digits", "steps", 50)
    assert frame["amount"] == "50 steps"
    assert frame["said"] == f"Digits, validation, after 50 steps: {tables.told_lead(want, LANES)}"
    assert frame["ranks"] == want.rows
    assert frame["ranks"]["one"] | {"first": 1} == dict.fromkeys(("place", "low", "high", "first", "group"), 1)
    assert [frame["amount"] for frame in found["Digits"]["seconds"]] == ["1 second"]


def test_lanes_that_ran_again_say_how_many_crossed_on_each_set_and_how_many_seeds_differ(race):
    def again(**values):
        return {lane: [record("accuracy", own, seed) for seed, own in enumerate(of, 5)] for lane, of in values.items()}

    runs = {"avx2": again(one=[0.95, 0.95, 0.5], two=[0.1]), "default": again(one=[0.95, 0.5, 0.95], two=[])}
    (row,) = tables.again_rows(race, "digits", runs)
    assert row == ("One", "3 of 3", "2 of 3 (9 to 99 %)", "2 of 3 (9 to 99 %)", "2 of 3")
