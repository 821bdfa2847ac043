"""The table of all runs: what the records hold is what the file holds, whatever order they come in."""

import csv
import io

import pytest
from support.made_records import whole

from rtx_book.race.race_csv import HEADER, race_rows, write_csv

LANES = {"gru": "GRU", "deep-gru": "GRU, deep", "transformer": "T", "transformer-xl": "T-XL"}
FINISH = {"digits": ("accuracy", 0.9), "adding": ("mse", 0.01)}
COSTS = {("adding", "gru"): {"flops_per_step": 956596224, "seconds_per_step": 0.0237800001, "parameters": 1}}

CHOSEN = {"race-adding-gru": "race-adding-gru-0.03", "race-adding-gru-200": "race-adding-gru-200-0.03"}
CHOSEN |= {"large-adding-gru": "large-adding-gru-0.01"}


def run(recipe, lr, seed=0, metric="mse", curve=(0.2, 0.005, 0.02), **changes):
    """A record of a recipe with this rate."""
    found = whole(recipe, seed)
    settings = {**found["configuration"], "lr": lr, "task_arguments": {"length": 100}, **changes.pop("settings", {})}
    rows = [{"step": 50 * i, "split": "valid", metric: value} for i, value in enumerate(curve, start=1)]
    return found | {"configuration": settings, "evaluations": rows, "metrics": {metric: 0.1 + 0.2}} | changes


def by_recipe(*runs):
    found = {}
    for one in runs:
        found.setdefault(one["recipe"], []).append(one)
    return found


RUNS = [
    run("race-adding-gru-0.03", 0.03, seed=1),
    run("race-adding-gru-0.03", 0.03),
    run("race-adding-gru-200-0.03", 0.03, settings={"task_arguments": {"length": 200}}),
    run("race-adding-gru-1e-05", 1e-5, metrics={}, diverged={"step": 120, "reason": "nan"}),
    run("trial-adding-gru-0.03", 0.03, settings={"task_arguments": {"length": 50}}),
    run("trial-adding-deep-gru-0.1", 0.1),
    run("race-digits-transformer-xl", 0.003, metric="accuracy", settings={"task_arguments": {"fold": 0}}),
    run("race-digits-transformer-0.003", 0.003, metric="accuracy"),
    run("large-adding-gru-0.01", 0.01),
    run("large-adding-gru-0.03", 0.03),
    run("again-avx2-race-adding-gru-0.03", 0.03, seed=5),
]


LATER = [("large", 0.01, 0), ("large", 0.03, 0), ("again-avx2-race", 0.03, 5)]


def test_a_run_s_row_is_its_record():
    rows = race_rows(by_recipe(*RUNS), LANES, FINISH, COSTS, CHOSEN)
    found = {(row["recipe"], row["seed"]): row for row in rows}
    assert len(found) == len(RUNS) and all(tuple(row) == HEADER for row in rows)
    raced = found["race-adding-gru-0.03", 1]
    assert raced | {"commit": ""} == {
        **{"task": "adding", "lane": "gru", "name": "GRU", "stage": "race", "lr": 0.03, "chosen": 1, "length": 100},
        **{"seed": 1, "instructions": None, "metric": "mse", "test": 0.1 + 0.2},
        **{"validation_best": 0.005, "validation_last": 0.02},
        **{"steps": 4000, "steps_to_line": 100, "seconds": 12.3, "parameters": 16897, "flops_per_step": 956596224},
        **{"seconds_per_step": 0.0237800001, "diverged_at": None, "recipe": "race-adding-gru-0.03", "commit": ""},
    }
    lost = found["race-adding-gru-1e-05", 0]
    told = [lost[name] for name in ("lr", "chosen", "test", "validation_best", "validation_last", "diverged_at")]
    assert told == [1e-5, 0, None, None, None, 120]
    tried, longer = found["trial-adding-gru-0.03", 0], found["race-adding-gru-200-0.03", 0]
    told = [(row["stage"], row["length"], row["flops_per_step"]) for row in (tried, longer)]
    assert told == [("trial", 50, None), ("race", 200, None)], "a step at another length has another cost"
    digits = found["race-digits-transformer-xl", 0]
    told = [digits[name] for name in ("lane", "name", "length", "chosen")]
    assert told == ["transformer-xl", "T-XL", None, None]
    assert (digits["validation_best"], digits["validation_last"], digits["steps_to_line"]) == (0.2, 0.02, None)
    assert found["trial-adding-deep-gru-0.1", 0]["lane"] == "deep-gru"
    wider, narrow, fresh = (found[f"{name}-adding-gru-{lr}", seed] for name, lr, seed in LATER)
    assert fresh["instructions"] == "avx2"
    told = [(row["stage"], row["chosen"], row["flops_per_step"]) for row in (wider, narrow, fresh)]
    # A larger lane has a rate of its own, and fresh seeds have that of the race.
    assert told == [("large", 1, None), ("large", 0, None), ("again", 1, 956596224)]


@pytest.mark.parametrize("recipe", ["adding-gru-t10", "race-adding-own-0.03", "own-adding", "race-text-gru-0.03"])
def test_other_runs_are_left_out(recipe):
    assert race_rows(by_recipe(run(recipe, 0.03)), LANES, FINISH, {}) == []


def test_what_has_won_and_is_there_under_its_plain_name_too_has_one_row():
    found = by_recipe(*RUNS)
    twice = {"race-adding-gru": found["race-adding-gru-0.03"]} | found
    assert race_rows(twice, LANES, FINISH, COSTS) == race_rows(found, LANES, FINISH, COSTS)


def test_the_order_does_not_depend_on_that_of_the_records():
    rows = race_rows(by_recipe(*RUNS), LANES, FINISH, COSTS)
    assert write_csv(race_rows(by_recipe(*RUNS[::-1]), LANES, FINISH, COSTS)) == write_csv(rows)
    assert [(row["task"], row["lane"], row["stage"], row["length"], row["lr"], row["seed"]) for row in rows] == [
        ("digits", "transformer", "race", 100, 0.003, 0),
        ("digits", "transformer-xl", "race", None, 0.003, 0),
        ("adding", "gru", "trial", 50, 0.03, 0),
        ("adding", "gru", "race", 100, 1e-5, 0),
        ("adding", "gru", "race", 100, 0.03, 0),
        ("adding", "gru", "race", 100, 0.03, 1),
        ("adding", "gru", "race", 200, 0.03, 0),
        ("adding", "gru", "large", 100, 0.01, 0),
        ("adding", "gru", "large", 100, 0.03, 0),
        ("adding", "gru", "again", 100, 0.03, 5),
        ("adding", "deep-gru", "trial", 100, 0.1, 0),
    ]


def test_there_and_back_every_number_is_the_same():
    rows = race_rows(by_recipe(*RUNS), LANES, FINISH, COSTS, CHOSEN)
    text = write_csv(rows)
    assert text.splitlines()[0] == ",".join(HEADER) and '"GRU, deep"' in text, "a comma in a name is no column"
    words = ("task", "lane", "name", "stage", "instructions", "metric", "recipe", "commit")

    def parsed(row):
        return {name: v or None if name in words else float(v) if v else None for name, v in row.items()}

    assert [parsed(row) for row in csv.DictReader(io.StringIO(text))] == rows
