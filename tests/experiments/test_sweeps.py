"""Sweeps: no run twice, none lost, the same numbers after a kill, and clear words when the disk is full."""

import errno
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from support.helpers import ROOT, killed
from support.sweep_workers import BUDGET, PLAN, SHORT, NoLock

from rtx_lib.evidence.records import find
from rtx_lib.experiments import runs as experiments
from rtx_lib.experiments import sweeps
from rtx_lib.experiments.__main__ import main
from rtx_lib.experiments.recipes import RECIPES, race
from rtx_lib.experiments.recipes.recipe import Recipe
from rtx_lib.experiments.sweeps import SWEEPS, Sweep, Tally, best_rate, claim, made, record_path, table, work
from rtx_lib.training import History, TrainingDiverged
from rtx_lib.training.processes import Processes

NAMES = ["tiny-rnn-s0", "tiny-transformer-s0", "tiny-rnn-s1", "tiny-transformer-s1"]


def record(recipe, seed=0, *, metrics=None, evaluations=(), diverged=None, seconds=10.0):
    """As much of a record as a sweep looks at."""
    configuration = {name: getattr(recipe, name) for name in recipe.__dataclass_fields__}
    return {
        "recipe": recipe.name,
        "configuration": configuration,
        "seed": seed,
        "metrics": metrics or {},
        "evaluations": [{"step": 50 * i, **row} for i, row in enumerate(evaluations, start=1)],
        "diverged": diverged,
        "seconds": seconds,
        "parameters": 1234,
    }


def write(folder, recipe, seed=0, **settings):
    folder.mkdir(parents=True, exist_ok=True)
    path = record_path(folder, recipe, seed)
    path.write_text(json.dumps(record(recipe, seed, **settings)))
    return path


class Runner:
    """Makes records at once, and remembers the order."""

    def __init__(self, folder, *, meanwhile=None):
        self.folder, self.order, self.meanwhile = folder, [], meanwhile

    def __call__(self, recipe, seed):
        self.order.append(f"{recipe.name}-s{seed}")
        if self.meanwhile:
            self.meanwhile(recipe, seed)
        return write(self.folder, recipe, seed, metrics={"mse": 0.5})


# Processes


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """What real workers did, killed, without space and side by side."""
    if sys.platform != "linux":
        pytest.skip("the workers of this test are forked and killed, which is safe on Linux alone")
    root = tmp_path_factory.mktemp("workers")
    command = [sys.executable, str(ROOT / "tests" / "support" / "sweep_workers.py"), str(root)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads((root / "scenes.json").read_text())


def numbers(scene):
    """All records of a scene but for what no two runs share."""
    found = {}
    for path in sorted(Path(scene["folder"]).glob("*.json")):
        found[path.stem] = json.loads(path.read_text())
        assert found[path.stem].pop("seconds") >= 0
    return found


@pytest.mark.parametrize("kind", ["step", "checkpoint", "record"])
def test_a_sweep_that_was_killed_ends_with_the_numbers_of_one_that_was_not(scenes, kind):
    killed, resumed = scenes[f"killed at {kind}"], scenes[f"resumed at {kind}"]
    assert killed["statuses"] == [-9] and any(name.endswith(".lock") for name in killed["files"])
    assert resumed["statuses"] == [0] and resumed["files"] == ["tiny-rnn-s0.json", "tiny-transformer-s0.json"]
    whole = numbers(scenes["whole"])
    assert numbers(resumed) == whole and len(whole) == 2
    again = len(resumed["log"].split()) - 2
    assert again == (0 if killed["at"] == "after .json" else 1), "only the run that was killed is begun once more"


def test_two_workers_share_a_sweep(scenes):
    two = scenes["two"]
    assert two["statuses"] == [0, 0] and two["files"] == sorted(f"{name}.json" for name in NAMES)
    assert sorted(two["log"].split()) == sorted(NAMES)
    tallies = re.findall(r"made (\d), there already 0, left to other workers (\d)", two["stdout"])
    assert len(tallies) == 2 and all(int(mine) + int(theirs) == 4 for mine, theirs in tallies)
    assert {name: one for name, one in numbers(two).items() if name.endswith("-s0")} == numbers(scenes["whole"])


def test_workers_without_locks_would_be_seen(scenes):
    begun = scenes["two without locks"]["log"].split()
    assert len(begun) > len(set(begun))


@pytest.mark.parametrize("file", ["checkpoint", "record"])
def test_a_full_disk_ends_in_one_line_and_what_was_there_is_kept(scenes, file):
    full, emptied = scenes[f"full at {file}"], scenes[f"emptied at {file}"]
    assert full["statuses"] == [1] and len(full["stderr"].splitlines()) == 1
    name = {"checkpoint": r"\.tiny-transformer-s0\.\w+\.ckpt", "record": r"tiny-transformer-s0\.json"}[file]
    assert re.search(rf"^sweep tiny stopped: \S.*/{name} could not be written.*; kept: 1 records", full["stderr"])
    assert "made 1, there already 0, left to other workers 0, not made 1" in full["stdout"]
    assert [re.sub(r"\w{8}(?=\.ckpt)", "", name) for name in full["files"]] == [
        ".tiny-transformer-s0..ckpt",
        ".tiny-transformer-s0.lock",
        "tiny-rnn-s0.json",
    ]
    assert emptied["statuses"] == [0] and numbers(emptied) == numbers(scenes["whole"])


# One process


def test_seeds_come_first_and_what_is_there_is_left_alone(tmp_path):
    run = Runner(tmp_path)
    write(tmp_path, PLAN.recipes[0], 0)
    assert work(PLAN, run, tmp_path) == Tally(made=3, there=1) and run.order == NAMES[1:]
    assert work(PLAN, run, tmp_path) == Tally(there=4) and len(run.order) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(f"{name}.json" for name in NAMES)


def test_at_most_so_many_runs(tmp_path):
    tally = work(PLAN, Runner(tmp_path), tmp_path, max_runs=3)
    assert tally == Tally(made=3, undone=1) and "not made 1" in str(tally)
    assert str(work(PLAN, Runner(tmp_path), tmp_path, max_runs=3)) == "made 1, there already 3, left to other workers 0"
    with pytest.raises(ValueError, match="max_runs must be at least 1, got 0"):
        work(PLAN, Runner(tmp_path), tmp_path, max_runs=0)


@pytest.mark.parametrize("text", ["", "{", "{}", '{"configuration": {"gone": 1}}', "other", "seed", "half"])
def test_a_record_of_another_configuration_is_made_again(tmp_path, text):
    recipe = PLAN.recipes[0]
    path = write(tmp_path, replace(recipe, steps=7))
    if text == "seed":
        write(tmp_path, recipe, 1).replace(path)
    elif text == "half":
        path.write_text(json.dumps({"configuration": record(recipe)["configuration"], "seed": 0}))
    elif text != "other":
        path.write_text(text)
    run = Runner(tmp_path)
    assert made(path, recipe) is None and work(Sweep("", [recipe], (0,)), run, tmp_path) == Tally(made=1)
    assert made(path, recipe)["configuration"]["steps"] == 6


def test_a_locked_run_is_left_to_its_worker_and_looked_at_again(tmp_path):
    path = record_path(tmp_path, PLAN.recipes[0], 0)
    with claim(path) as mine:
        assert mine
        run = Runner(tmp_path)
        assert work(PLAN, run, tmp_path) == Tally(made=3, others=1) and NAMES[0] not in run.order
        with claim(path) as twice:
            assert not twice
    other = FileLock(tmp_path / ".tiny-rnn-s0.lock")
    other.acquire()
    run = Runner(tmp_path / "b", meanwhile=lambda recipe, seed: other.release())
    other = FileLock(tmp_path / "b" / ".tiny-rnn-s0.lock")
    (tmp_path / "b").mkdir()
    other.acquire()  # by a worker that dies while we are busy with the second run
    assert work(SHORT, run, tmp_path / "b") == Tally(made=2) and run.order == [NAMES[1], NAMES[0]]


def test_the_record_is_looked_for_once_more_after_the_lock_was_taken(tmp_path):
    """While the first run is made, another worker makes the second, wholly."""
    run = Runner(tmp_path, meanwhile=lambda recipe, seed: write(tmp_path, PLAN.recipes[1], 0))
    assert work(SHORT, run, tmp_path) == Tally(made=1, others=1) and run.order == NAMES[:1]


def test_the_command_run_takes_the_same_lock(tmp_path, capsys, monkeypatch):
    """Else it would train beside a worker, on the same checkpoint."""
    recipe = PLAN.recipes[0]
    monkeypatch.setitem(RECIPES, recipe.name, recipe)
    monkeypatch.setattr(experiments, "evaluate", lambda *a, **k: {"mse": 0.5})
    command = ["run", recipe.name, "--out", str(tmp_path), "--seed", "0", "1"]
    with claim(record_path(tmp_path, recipe, 0)):
        assert main(command) == 1
    assert "tiny-rnn-s0 is being made by another process, and left to it\n" in capsys.readouterr().err
    assert [path.name for path in tmp_path.glob("*.json")] == ["tiny-rnn-s1.json"], "the others are made"
    assert main(command) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny-rnn-s0.json", "tiny-rnn-s1.json"], "nothing else"


@pytest.mark.parametrize("error", [OSError(errno.ENOSYS, "Function not implemented"), NotImplementedError("no flock")])
def test_a_file_system_without_locks_stops_the_sweep(tmp_path, monkeypatch, error):
    def without(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    if isinstance(error, NotImplementedError):  # an older version of the package
        monkeypatch.setattr(sweeps.FileLock, "acquire", lambda *_, **settings: (_ for _ in ()).throw(error))
    else:
        monkeypatch.setattr(pytest.importorskip("fcntl"), "flock", without)
    tally = work(PLAN, Runner(tmp_path), tmp_path)
    assert tally.made == 0
    assert tally.stopped == f"{tmp_path / '.tiny-rnn-s0.lock'} could not be locked: {error.args[-1]}"


def test_a_stale_lock_file_never_lets_two_workers_in(tmp_path):
    """One holds the file that was removed, another a new one: both see the record, so nothing is made."""
    path = record_path(tmp_path, PLAN.recipes[0], 0)
    with claim(path) as first:
        write(tmp_path, PLAN.recipes[0])
        sweeps.tidy(path)
        with claim(path) as second:
            assert first and second, "the locks alone do not keep them apart"
            assert work(SHORT, Runner(tmp_path), tmp_path, max_runs=1) == Tally(made=1, there=1)


FAILURES = [
    FileNotFoundError(2, "not there", "a.txt"),
    ValueError("lr must be\npositive"),
    KeyError("gone"),
    RuntimeError("CUDA out of memory."),
    TypeError("unexpected keyword"),
]


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_a_run_that_cannot_be_made_is_named_and_the_others_go_on(tmp_path, capsys, monkeypatch, error):
    def missing(recipe, seed):
        if recipe.name == "tiny-rnn":
            raise error

    monkeypatch.setitem(SWEEPS, "tiny", PLAN)
    runner = Runner(tmp_path, meanwhile=missing)
    monkeypatch.setattr(experiments, "run", lambda recipe, seed, **settings: runner(recipe, seed))
    assert main(["sweep", "tiny", "--out", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 2 and err.startswith(f"tiny-rnn-s0 failed: {type(error).__name__}: ")
    assert "sweep tiny: made 2, there already 0, left to other workers 0, failed 2" in out
    assert runner.order == NAMES, "a failure is not tried twice"
    monkeypatch.setattr(experiments, "run", lambda recipe, seed, **settings: Runner(tmp_path)(recipe, seed))
    assert main(["sweep", "tiny", "--out", str(tmp_path)]) == 0
    assert len(list(tmp_path.iterdir())) == 4, "the locks of the failed are gone too"


@pytest.mark.parametrize("damaged", [True, False])
def test_a_damaged_checkpoint_is_removed_and_one_of_another_run_is_kept(tmp_path, capsys, monkeypatch, damaged):
    """What is not damaged may be somebody's hours: in bf16, for one."""
    fit = experiments.fit

    monkeypatch.setattr(experiments, "fit", killed(fit))
    monkeypatch.setattr(experiments, "evaluate", lambda *a, **k: {"mse": 0.5})
    monkeypatch.setitem(SWEEPS, "tiny", Sweep("", PLAN.recipes[:1], (0,)))
    with pytest.raises(KeyboardInterrupt):
        experiments.run(
            PLAN.recipes[0], 0, out=tmp_path, progress=False, processes=Processes(precision="no" if damaged else "bf16")
        )
    (checkpoint,) = tmp_path.glob(".*.ckpt")
    if damaged:
        checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    monkeypatch.setattr(experiments, "fit", fit)
    assert main(["sweep", "tiny", "--out", str(tmp_path)]) == (0 if damaged else 1)
    (line,) = capsys.readouterr().err.splitlines()
    if damaged:
        assert line.startswith("tiny-rnn-s0 begins anew, without its damaged checkpoint: ") and checkpoint.name in line
        assert [path.name for path in tmp_path.iterdir()] == ["tiny-rnn-s0.json"]
    else:
        assert "belongs to another run" in line and "('bf16', 'no')" in line and checkpoint.exists()


class Full:
    """An output on a full disk."""

    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")

    flush = isatty = lambda self: False


def test_an_output_that_cannot_be_written_ends_no_worker(tmp_path, monkeypatch):
    monkeypatch.setitem(SWEEPS, "tiny", PLAN)
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, Full())
    runner = Runner(tmp_path, meanwhile=lambda recipe, seed: 1 / seed)  # the first seed fails
    monkeypatch.setattr(experiments, "run", lambda recipe, seed, **settings: runner(recipe, seed))
    assert main(["sweep", "tiny", "--out", str(tmp_path)]) == 1
    assert runner.order == NAMES and len(list(tmp_path.glob("*.json"))) == 2


def test_a_run_that_diverges_is_a_result_and_the_sweep_goes_on(tmp_path, capsys, monkeypatch):
    fit = experiments.fit

    def diverging(model, task, **settings):
        if settings["seed"] == 0:
            raise TrainingDiverged("loss is nan", 5, None, History())
        return fit(model, task, **settings)

    monkeypatch.setattr(experiments, "fit", diverging)
    monkeypatch.setattr(experiments, "evaluate", lambda *a, **k: {"mse": 0.5})
    monkeypatch.setitem(SWEEPS, "tiny", replace(PLAN, recipes=PLAN.recipes[:1]))
    assert main(["sweep", "tiny", "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "tiny-rnn-s0: diverged at step 5" in out and 'tiny-rnn-s1: {"mse": 0.5}' in out and err == ""
    assert main(["table", "tiny", "--out", str(tmp_path)]) == 0
    assert "| `tiny-rnn` | mse | 0.5 | 2 of 2, 1 diverged |" in capsys.readouterr().out


@pytest.mark.parametrize("place", ["torch.save", "write_text", "lock"])
def test_no_space_left_is_told_and_stops_the_sweep(tmp_path, capsys, monkeypatch, place):
    def full(*arguments, **settings):
        if place == "torch.save":
            arguments[1].write_bytes(b"half")
            raise RuntimeError("[enforce fail at inline_container.cc] . PytorchStreamWriter failed writing file data/1")
        raise OSError(errno.ENOSPC, "No space left on device")

    owner = {"torch.save": torch, "write_text": Path, "lock": sweeps.FileLock}[place]
    monkeypatch.setattr(owner, {"torch.save": "save", "write_text": "write_text", "lock": "acquire"}[place], full)
    monkeypatch.setattr(experiments, "evaluate", lambda *a, **k: {"mse": 0.5})
    monkeypatch.setitem(SWEEPS, "tiny", PLAN)
    assert main(["sweep", "tiny", "--out", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"sweep tiny stopped: {tmp_path}/") and "kept: 0 records" in line
    assert "is the disk full?" in line or "No space left on device" in line
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith((".part", ".json"))]


def test_the_command_run_tells_it_too(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(RECIPES, "tiny-rnn", PLAN.recipes[0])
    monkeypatch.setattr(experiments, "evaluate", lambda *a, **k: {"mse": 0.5})
    monkeypatch.setattr(torch, "save", lambda *a: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on it")))
    assert main(["run", "tiny-rnn", "--out", str(tmp_path)]) == 1
    said = r"^stopped: .*ckpt could not be written: No space left on it; kept: "
    assert re.search(said, capsys.readouterr().err, re.MULTILINE)


def test_unknown_names_are_told(capsys):
    for command in ("sweep", "table"):
        assert main([command, "nothing"]) == 2
        assert "unknown sweep 'nothing'; known: recurrence, attention, between, race" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "option"), [("run", "--threads"), ("sweep", "--threads"), ("sweep", "--max-runs")])
def test_numbers_of_the_command_line_are_at_least_one(capsys, command, option):
    with pytest.raises(SystemExit):
        main([command, "race", option, "0"])
    assert f"argument {option}: must be at least 1, got 0" in capsys.readouterr().err


# Tables and rates


def test_a_device_that_is_not_there_and_a_launcher_are_told_once(tmp_path, capsys, monkeypatch):
    assert main(["sweep", "race", "--out", str(tmp_path), "--device", "abacus"]) == 2
    assert capsys.readouterr().err.count("device must be one that torch can use") == 1
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["sweep", "race", "--out", str(tmp_path)]) == 2
    assert "not for accelerate launch" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_table_of_none_of_some_and_of_all_records(tmp_path, monkeypatch):
    monkeypatch.setitem(race.FINISH, "adding", ("mse", 0.05))
    recipes = [race.race("adding", lane) for lane in ("rnn", "lstm")]
    plan = Sweep("", recipes, (0, 1, 2))
    assert table(plan, tmp_path) == "There are no records of this sweep yet."
    values = {"evaluations": [{"mse": 0.1}, {"mse": 0.04}], "metrics": {"mse": 0.03}}
    write(tmp_path, recipes[0], 0, **values)
    head, rule, first, second = table(plan, tmp_path).splitlines()
    assert head.count("|") == rule.count("|") == first.count("|") == second.count("|") == 9
    assert first == "| `race-adding-rnn` | mse | 0.03 | 1 of 3 | 1/1 | 100 | 10 | 1,234 |"
    assert second == "| `race-adding-lstm` | mse | none | 0 of 3 | 0/0 | none | none | none |"
    write(tmp_path, recipes[0], 1, metrics={"mse": 0.2}, seconds=20.0)
    write(tmp_path, recipes[0], 2, diverged={"step": 3, "reason": "x"}, seconds=1.0)
    for seed in plan.seeds:
        write(tmp_path, recipes[1], seed, **values)
    *_, first, second = table(plan, tmp_path).splitlines()
    assert first == "| `race-adding-rnn` | mse | 0.115 [0.03, 0.2] | 3 of 3, 1 diverged | 1/3 | 100 | 10 | 1,234 |"
    assert second == "| `race-adding-lstm` | mse | 0.03 [0.03, 0.03] | 3 of 3 | 3/3 | 100 | 10 | 1,234 |"
    write(tmp_path, replace(recipes[1], steps=1), 0)
    assert "| 2 of 3 | 2/2 |" in table(plan, tmp_path), "a record of another configuration is none"


def test_a_recipe_outside_the_race_is_judged_by_its_first_metric(tmp_path):
    recipe = Recipe("tiny", "", "rnn", "adding", **BUDGET)
    write(tmp_path, recipe, metrics={"loss": 0.25, "accuracy": 0.5})
    assert "| `tiny` | loss | 0.25 | 1 of 3 | none | none | 10 | 1,234 |" in table(Sweep("", [recipe]), tmp_path)


def trials(folder, task, lane, rows):
    """The trials of a lane: for each rate the validation losses of its evaluations."""
    metric = "mse" if task == "adding" else "loss"
    for rate, losses in zip(race.RATES, rows, strict=True):
        diverged = {"step": 3, "reason": "loss is nan"} if losses is None else None
        evaluations = [{metric: loss} for loss in losses or ()]
        write(folder, race.trial(task, lane, rate), evaluations=evaluations, diverged=diverged)


def test_the_best_rate_is_that_of_the_last_evaluation_or_of_the_best_where_it_is_kept(tmp_path):
    assert best_rate("adding", "rnn", tmp_path) is None
    rows = [(0.5, 0.3), (0.1, 0.2), (0.3, 0.3), None]
    trials(tmp_path, "adding", "rnn", rows)
    trials(tmp_path, "chorales", "rnn", [(0.5, 0.3), (0.2, 0.2), (0.1, 0.4), None])
    assert best_rate("adding", "rnn", tmp_path) == race.RATES[1]
    assert best_rate("chorales", "rnn", tmp_path) == race.RATES[2]
    trials(tmp_path, "text", "gru", [(0.3,), (0.2,), (0.2,), (0.9,)])
    assert best_rate("text", "gru", tmp_path) == race.RATES[1], "of equal ones the lower"
    record_path(tmp_path, race.trial("text", "gru", race.RATES[3]), 0).unlink()
    assert best_rate("text", "gru", tmp_path) is None


def test_a_rate_that_diverged_is_never_the_best(tmp_path):
    trials(tmp_path, "text", "gru", [None, None, (5.0,), None])
    assert best_rate("text", "gru", tmp_path) == race.RATES[2]


# The book's sweeps


def test_the_sweeps_are_those_of_the_book():
    assert len(SWEEPS["race"].runs()) == 275 and len(SWEEPS["race-lengths"].runs()) == 2 * 2 * 11 * 3
    assert len(SWEEPS["race-rates"].runs()) == 5 * 11 * 4
    names = [recipe.name for sweep in SWEEPS.values() for recipe in sweep.recipes]
    assert len(names) == len(set(names)) and set(names) - set(RECIPES) == {r.name for r in race.TRIALS}


@pytest.mark.parametrize("name", ["recurrence", "attention", "between"])
def test_the_sweep_of_a_part_is_what_the_book_has_records_of(name):
    part = getattr(sweeps, name).RECIPES
    there = [r.name for r in part if find(r.name, 0)]
    assert [recipe.name for recipe in SWEEPS[name].recipes] == there


def test_a_lock_that_is_not_taken_is_seen_by_the_test_in_one_process(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "FileLock", NoLock)
    with pytest.raises(AssertionError):
        test_a_locked_run_is_left_to_its_worker_and_looked_at_again(tmp_path)
