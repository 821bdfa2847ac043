"""The race as it was run: the names of what has won, and its records."""

import json
import math
from dataclasses import asdict

import pytest
from support.made_records import whole, write

from rtx_book.records.records import load
from rtx_book.runs import raced, tuning
from rtx_book.runs.recipes import race as plan


def put(folder, recipe, loss, seed=0, **changes):
    rows = [{"step": 1, "split": "valid", "loss": loss, "accuracy": 1 - loss}]
    write(folder, whole(recipe.name, seed, configuration=asdict(recipe), evaluations=rows, **changes))


@pytest.fixture
def results(tmp_path):
    """A folder in which the GRU's rate on copy memory is decided, and nothing else."""
    for place, lr in enumerate(plan.RATES):
        put(tmp_path, plan.trial("copy", "gru", lr), abs(place - 4.2) / 10)  # best: 0.01, then 0.03
    for lr in (0.01, 0.03):
        for seed in plan.SEEDS:
            put(tmp_path, plan.race("copy", "gru", lr), 0.1 if lr == 0.03 else 0.2, seed, metrics={"accuracy": lr})
    put(tmp_path, plan.race("copy", "gru", 0.03, 100), 0.5, metrics={"accuracy": 0.3})
    return tmp_path


def test_the_plain_names_are_those_of_what_has_won(results):
    names = raced.choose(results)
    plain = [f"race-copy-gru{end}" for end in ("", "-10", "-100")]
    assert names == {name: f"{name}-0.03" for name in plain}
    assert json.loads((results / "chosen.json").read_text()) == names
    assert raced.winner("copy", "gru", results) == plan.race("copy", "gru", 0.03)
    with pytest.raises(ValueError, match="task and lane must be a cell of the race whose rate is decided"):
        raced.winner("copy", "lstm", results)


def test_without_a_decided_rate_no_file_is_written(tmp_path):
    assert raced.choose(tmp_path) == {} and not (tmp_path / "chosen.json").exists()


def test_a_larger_model_has_its_name_when_its_rate_is_decided(results, monkeypatch):
    monkeypatch.setattr(tuning, "tuned", lambda task, lane, folder: (0.01 if lane == "gru" else None, []))
    assert "large-text-gru" not in raced.choose(results)
    for lr, loss in ((0.003, 0.2), (0.01, 0.1), (0.03, 0.3)):
        put(results, plan.large("text", "gru", lr), loss)
    assert raced.choose(results)["large-text-gru"] == "large-text-gru-0.01"


def test_who_runs_again_has_its_name_there(results, monkeypatch):
    monkeypatch.setattr(tuning, "tuned", lambda task, lane, folder: (0.01 if lane == "gru" else None, []))
    assert raced.choose(results)["again-avx2-race-parity-gru"] == "again-avx2-race-parity-gru-0.01"


def test_the_race_is_made_of_what_has_won(results):
    raced.choose(results)
    records = load(results)
    race = raced.recorded(records)
    assert race.values("copy", "gru") == [0.03] * 5 and race.results["adding"] == {}
    lengths = raced.of_lengths("copy", records)
    assert {length: len(own["gru"]) for length, own in lengths.items()} == {10: 0, 30: 5, 100: 1}
    assert lengths[30]["gru"] == list(race.of("copy", "gru"))


def test_other_lengths_are_tasks_of_their_own(results):
    raced.choose(results)
    race = raced.recorded(load(results), lengths=True)
    assert list(race.finish)[:6] == ["adding", "adding-50", "adding-200", "copy", "copy-10", "copy-100"]
    assert race.values("copy-100", "gru") == [0.3] and race.finish["copy-100"] == plan.FINISH["copy"]
    assert race.baseline("copy-100") == race.baseline("copy") == 1 / 8
    assert plan.described("copy-100", {})["name"] == "Copy, pause 100"
    assert plan.described("adding-50", {})["name"] == "Adding, T = 50" and plan.described("copy", {})["name"] == "Copy"


def test_what_was_tried_is_told_by_task_lane_and_rate(results):
    put(results, plan.trial("copy", "gru", 0.1), 9.0, diverged={"step": 1, "reason": "loss is nan"})
    found = raced.tried(load(results))
    assert list(found) == ["copy"] and list(found["copy"]["gru"]) == list(plan.RATES)
    assert found["copy"]["gru"][0.01] == pytest.approx(0.02) and math.isinf(found["copy"]["gru"][0.1])
