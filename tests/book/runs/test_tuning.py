"""Rates of the race: which runs follow from which records, and which rate wins."""

import math
import statistics
from dataclasses import asdict, replace

import pytest
from support.made_records import whole, write

from rtx_book.paths import runs_folder
from rtx_book.records.records import find
from rtx_book.runs import tuning
from rtx_book.runs.recipes import NEAR, pretraining, returns, series
from rtx_book.runs.recipes import race as plan
from rtx_book.runs.recipes.recipe import AGAIN_SEEDS, AGAIN_SETS, again, around
from rtx_book.runs.tuning import GRID, beyond, next_runs, next_trials, ranked, tuned

CELL = ("copy", "gru")


def put(folder, recipe, value, seed=0):
    """A record whose last validation loss is ``value``; one that diverged for None."""
    diverged = {"step": 3, "reason": "loss is nan"} if value is None else None
    rows = [{"step": 1, "split": "valid", "loss": loss} for loss in (9.0, value or 0.0)]
    changes = {"configuration": asdict(recipe), "evaluations": rows, "diverged": diverged}
    write(folder, whole(recipe.name, seed, **changes))


def try_rates(folder, losses, rates=plan.RATES):
    for lr, value in zip(rates, losses, strict=True):
        put(folder, plan.trial(*CELL, lr), value)


def finals(folder, lr, values):
    for seed, value in enumerate(values):
        put(folder, plan.race(*CELL, lr), value, seed)


def asked(runs):
    return [(recipe.name, seed) for recipe, seed in runs]


def test_at_first_all_cells_try_all_rates_and_nothing_else(tmp_path):
    runs = next_runs(tmp_path)
    assert len(runs) == len(plan.CELLS) * len(plan.RATES) == len({recipe.name for recipe, _ in runs})
    assert runs == next_trials(tmp_path) and {seed for _, seed in runs} == {0}
    assert tuned(*CELL, tmp_path) == (None, [(plan.trial(*CELL, lr), 0) for lr in plan.RATES])


def test_the_two_best_trials_are_run_with_three_seeds_and_the_better_median_with_five(tmp_path):
    try_rates(tmp_path, [5, 4, 1, 0.5, 2, None, 9])  # best: 0.003, then 0.001
    won, runs = tuned(*CELL, tmp_path)
    names = ["race-copy-gru-0.003", "race-copy-gru-0.001"]
    assert won is None and asked(runs) == [(name, seed) for name in names for seed in (0, 1)]
    finals(tmp_path, 0.003, [0.1, None])
    finals(tmp_path, 0.001, [0.3, 0.4])
    won, runs = tuned(*CELL, tmp_path)
    assert won is None and asked(runs) == [(name, 2) for name in names]
    finals(tmp_path, 0.003, [0.1, None, None])
    finals(tmp_path, 0.001, [0.3, 0.4, 0.2])
    won, runs = tuned(*CELL, tmp_path)
    assert won == 0.001 and asked(runs) == [("race-copy-gru-0.001", 3), ("race-copy-gru-0.001", 4)]
    finals(tmp_path, 0.001, [0.3, 0.4, 0.2, 8, 9])
    assert tuned(*CELL, tmp_path) == (0.001, []), "the two seeds that come later change nothing"


@pytest.mark.parametrize(
    ("ours", "theirs", "spared"),
    [((1, 2), (3, 4), True), ((1, 3), (2, 4), False), ((1, 2), (3, None), True), ((None, 2), (3, 4), False)],
)
def test_a_third_seed_is_spared_where_two_decide(tmp_path, ours, theirs, spared):
    try_rates(tmp_path, [5, 4, 1, 0.5, 2, None, 9])
    finals(tmp_path, 0.003, ours)
    finals(tmp_path, 0.001, theirs)
    missing = [("race-copy-gru-0.003", 2), ("race-copy-gru-0.001", 2)]
    assert asked(tuned(*CELL, tmp_path)[1]) == missing[: 1 if spared else 2]


def test_the_one_rate_between_the_two_best_is_run_too(tmp_path):
    assert tuning.finalists({0.001: 3.0, 0.003: 5.0, 0.01: 1.0, 0.03: 9.0}) == [0.01, 0.001, 0.003]
    assert tuning.finalists({0.001: 3.0, 0.003: 5.0, 0.01: 4.0, 0.03: 1.0}) == [0.03, 0.001], "two are left out"
    try_rates(tmp_path, [9, 8, 2, 7, 1, 6, 5])
    assert {recipe.lr for recipe, _ in tuned(*CELL, tmp_path)[1]} == {0.001, 0.003, 0.01}


def test_a_lane_that_is_best_at_an_end_tries_on_beyond_it(tmp_path):
    try_rates(tmp_path, [1, 2, 3, 4, 5, 6, 7])
    assert asked(tuned(*CELL, tmp_path)[1]) == [("trial-copy-gru-3e-05", 0)]
    put(tmp_path, plan.trial(*CELL, 3e-5), 0.5)
    assert asked(tuned(*CELL, tmp_path)[1]) == [("trial-copy-gru-1e-05", 0)]
    put(tmp_path, plan.trial(*CELL, 1e-5), 0.7)
    assert {name for name, _ in asked(tuned(*CELL, tmp_path)[1])} == {"race-copy-gru-3e-05", "race-copy-gru-1e-05"}


def test_a_final_that_is_won_at_an_end_is_run_beyond_it_too(tmp_path):
    try_rates(tmp_path, [9, 8, 7, 6, 5, 1, 2])  # best: 0.03, then 0.1
    finals(tmp_path, 0.03, [2, 2, 2])
    finals(tmp_path, 0.1, [1, 1, 1])
    won, runs = tuned(*CELL, tmp_path)
    assert won is None and asked(runs) == [("race-copy-gru-0.3", seed) for seed in (0, 1)]
    finals(tmp_path, 0.3, [3, 0.5, 3])
    won, runs = tuned(*CELL, tmp_path)
    assert won == 0.1 and [seed for _, seed in asked(runs)] == [3, 4]


def test_ranked_and_beyond():
    assert ranked({0.1: 2.0, 0.01: 1.0, 0.001: 1.0, 1e-4: math.inf}) == [0.001, 0.01, 0.1, 1e-4]
    assert beyond(0.01, plan.RATES) is None
    assert beyond(0.1, plan.RATES) == 0.3 and beyond(1e-4, plan.RATES) == 3e-5
    assert beyond(GRID[0], GRID) is None and beyond(GRID[-1], GRID[1:]) is None


@pytest.mark.parametrize(
    ("keep", "rows", "expected"), [(None, [3.0, 1.0, 2.0], 2.0), ("loss", [3.0, 1.0, 2.0], 1.0), (None, None, math.inf)]
)
def test_what_a_run_is_judged_by(keep, rows, expected):
    recipe = plan.race("chorales" if keep else "copy", "rnn", 0.01)
    record = {"evaluations": [{"loss": value} for value in rows or [1.0]], "diverged": None if rows else {"step": 1}}
    assert recipe.keep_best == keep and tuning.loss(record, recipe) == expected


def test_whoever_has_a_rate_runs_again_with_fresh_seeds_on_both_sets_of_instructions(tmp_path, monkeypatch):
    monkeypatch.setattr(
        tuning, "tuned", lambda task, lane, folder: (0.01 if (task, lane) == ("parity", "gru") else None, [])
    )
    monkeypatch.setattr(returns, "REPEATED", [])
    names = [f"again-{own}-race-parity-gru-0.01" for own in AGAIN_SETS]
    assert asked(tuning.next_again(tmp_path)) == [(name, seed) for seed in AGAIN_SEEDS for name in names]
    assert len(AGAIN_SEEDS) >= 20 and not set(AGAIN_SEEDS) & {*plan.SEEDS, *returns.TUNING_SEEDS}
    put(tmp_path, again(plan.race("parity", "gru", 0.01), AGAIN_SETS[0]), 1, seed=5)
    assert asked(tuning.next_again(tmp_path))[0] == (names[1], 5)


def test_a_mixer_has_the_rate_of_the_least_median_on_validation_and_looks_beyond_the_last_one(tmp_path, monkeypatch):
    recipe = returns.TUNED[0]
    trials = around(recipe, eval_batches=4)

    def tries(lr, *values):
        for seed, value in zip(returns.TUNING_SEEDS, values, strict=True):
            put(tmp_path, trials[lr], value, seed)

    won, runs = tuning.returned(trials, tmp_path)
    assert won is None and len(runs) == len(returns.RATES) * len(returns.TUNING_SEEDS)
    for lr, values in zip(returns.RATES, [(5, 5, 5), (0.1, 3, 3), (2, 2, None)], strict=True):
        tries(lr, *values)
    won, runs = tuning.returned(trials, tmp_path)
    assert won is None and {own.lr for own, _ in runs} == {0.1}
    monkeypatch.setattr(tuning, "TUNED", {returns.TUNING_SEEDS: [recipe]})
    assert [run for run in tuning.next_rates(tmp_path) if run in runs] == runs
    tries(0.1, 9, 1, 9)
    assert tuning.returned(trials, tmp_path) == (0.03, [])
    tries(0.01, 1, 2.0005, 3)  # as good as the best
    assert tuning.returned(trials, tmp_path) == (0.01, [])


def test_the_rate_in_use_and_its_neighbours_are_tried_and_then_what_lies_beyond(tmp_path):
    recipe = replace(NEAR[0], lr=0.02)
    for lr, value in ((0.006, 3), (0.02, 2), (0.06, 1)):
        assert tuning.nearest(recipe, tmp_path)[0] is None
        put(tmp_path, around(recipe)[lr], value, *tuning.SEED)
    assert asked(tuning.nearest(recipe, tmp_path)[1]) == [(around(recipe)[0.2].name, *tuning.SEED)]
    put(tmp_path, around(recipe)[0.2], 0.996, *tuning.SEED)  # better by less than one seed can tell
    assert tuning.nearest(recipe, tmp_path) == (0.06, []) == tuning.nearest(replace(recipe, lr=0.06), tmp_path)


def test_every_rate_is_the_one_that_its_trials_chose():
    tuned = [(recipe, seeds) for seeds, recipes in tuning.TUNED.items() for recipe in recipes]
    chosen = {r.name: (tuning.returned(around(r, eval_batches=4), runs_folder(), s)[0], r.lr) for r, s in tuned}
    forecast = [recipe for recipe in series.TUNED if find(recipe.name, 0, runs_folder())]
    chosen |= {recipe.name: (tuning.series_rate(recipe, runs_folder())[0], recipe.lr) for recipe in forecast}
    chosen |= {recipe.name: (tuning.nearest(recipe, runs_folder())[0], recipe.lr) for recipe in NEAR}
    assert {name for name, (won, own) in chosen.items() if won != own} == set() and len(forecast) >= 56


@pytest.mark.parametrize("recipe", pretraining.VECTORS, ids=lambda recipe: recipe.name)
def test_word_vectors_have_the_settings_of_the_least_median_loss(recipe):
    own = [trial for trial in pretraining.TRIALS if trial.about == recipe.about]
    found = [statistics.median(tuning._losses(trial, returns.TUNING_SEEDS, runs_folder())) for trial in own]
    assert own[found.index(min(found))].model_arguments == recipe.model_arguments and len(own) >= 6


def test_lengths_and_sizes_follow_from_the_rate_that_is_decided(tmp_path, monkeypatch):
    assert tuning.next_lengths(tmp_path) == tuning.next_large(tmp_path) == []
    monkeypatch.setattr(tuning, "tuned", lambda task, lane, folder: (0.01 if lane == "gru" else None, []))
    others = (("adding", 50), ("adding", 200), ("copy", 10), ("copy", 100))
    names = [f"race-{task}-gru-{length}-0.01" for task, length in others]
    assert asked(tuning.next_lengths(tmp_path)) == [(name, seed) for seed in (0, 1, 2) for name in names]
    first = asked(tuning.next_large(tmp_path))
    assert first == [(f"large-{task}-gru-{lr}", 0) for task in plan.LARGE_TASKS for lr in (0.003, 0.01, 0.03)]
    for lr, value in ((0.003, 3), (0.01, 2), (0.03, 1)):
        put(tmp_path, plan.large("text", "gru", lr), value)
    then = asked(tuning.next_large(tmp_path))
    assert [run for run in then if "text" in run[0]] == [("large-text-gru-0.1", 0)], "the best one was at the end"
    put(tmp_path, plan.large("text", "gru", 0.1), 2)
    won, then = tuning.large_tuned("text", "gru", tmp_path)
    assert won == 0.03 and asked(then) == [("large-text-gru-0.03", seed) for seed in (1, 2, 3, 4)]
