"""Sweeps: no run twice, none lost, the same numbers after a kill, and clear words when something fails."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict, replace

import pytest
from support.helpers import ROOT
from support.tiny_sweep import PLANS, RNN

from rtx_book.__main__ import main
from rtx_book.records.records import find, pack
from rtx_book.runs import runs, sweeps
from rtx_book.runs.recipes import RECIPES, race
from rtx_book.runs.recipes.recipe import again
from rtx_book.runs.runs import made
from rtx_book.runs.sweeps import SWEEPS, Sweep, missing, table

NAMES = ["tiny-rnn-s0", "tiny-transformer-s0", "tiny-rnn-s1", "tiny-transformer-s1"]


def write(folder, recipe, seed=0, *, metrics=None, evaluations=(), diverged=None, seconds=10.0):
    """As much of a record as a sweep looks at."""
    rows = [{"step": 50 * i, **row} for i, row in enumerate(evaluations, start=1)]
    record = {"recipe": recipe.name, "configuration": asdict(recipe), "seed": seed, "metrics": metrics or {}}
    record |= {"evaluations": rows, "diverged": diverged, "seconds": seconds, "parameters": 1234}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{recipe.name}-s{seed}.json"
    path.write_text(json.dumps(record))
    return path


# With Snakemake, in processes of its own

needs_signals = pytest.mark.skipif(os.name == "nt", reason="Windows knows neither SIGKILL nor limits of a file")


def needs_snakemake(test):
    absent = importlib.util.find_spec("snakemake") is None
    return pytest.mark.slow(pytest.mark.skipif(absent, reason="Snakemake 9 comes with Python 3.11 to 3.13")(test))


def start(folder, *arguments, mishaps=""):
    """A sweep at work, with its runs' log in ``folder``."""
    folder.mkdir(exist_ok=True)
    arguments = ["sweep", "--out", folder, *arguments]
    path = os.pathsep.join(map(str, (ROOT, ROOT / "book", ROOT / "tests")))
    environment = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "LOG": str(folder / "log"), "MISHAPS": mishaps}
    line = [sys.executable, ROOT / "tests" / "support" / "tiny_sweep.py", *arguments]
    said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(line, env=os.environ | environment, **said)


def end(process):
    """Its exit status and what it said."""
    said, _ = process.communicate(timeout=600)
    return process.returncode, said


def files(folder):
    """What a sweep left, but for what belongs to Snakemake and this test."""
    return sorted(path.name for path in folder.iterdir() if path.name not in (".snakemake", "Snakefile", "log"))


def numbers(folder):
    """All records, but for what no two runs share."""
    records = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    return {f"{r['recipe']}-s{r['seed']}": {k: r[k] for k in r if k not in ("seconds", "commit")} for r in records}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A sweep that nothing befell but that a second one was started meanwhile: folder, both ends."""
    folder = tmp_path_factory.mktemp("whole")
    first = start(folder, "tiny", mishaps="tiny-rnn-s0:step:1:wait")
    while "tiny-rnn-s0" not in ((folder / "log").read_text() if (folder / "log").exists() else ""):
        assert first.poll() is None, first.communicate()
        time.sleep(0.1)
    second = end(start(folder, "tiny"))
    (folder / "GO").touch()
    ends = end(first), second
    (folder / "GO").unlink()
    return folder, *ends


def test_what_no_seed_changes_runs_once():
    seeds = [seed for recipe, seed in SWEEPS["series"].runs() if recipe.model == "statistician"]
    assert len(seeds) == 20 and {*seeds} == {0}


@pytest.mark.weekly
@needs_snakemake
def test_of_two_sweeps_at_once_the_second_is_refused_and_nothing_is_made_twice(whole):
    folder, (status, said), (refused, why) = whole
    assert status == 0 and said.splitlines()[-1] == "sweep tiny: 4 of 4 records, 0 of them diverged"
    assert refused == 1 and "cannot be locked" in why and "missing: tiny-rnn-s0" in why.splitlines()[-1]
    begun = (folder / "log").read_text().split()
    assert sorted(begun) == sorted(NAMES) and set(begun[:2]) == set(NAMES[:2]), "the first seed of all comes first"
    assert files(folder) == sorted(f"{name}.json" for name in NAMES) and numbers(folder).keys() == set(NAMES)


MISHAPS = {
    "tiny-rnn-s0": "step:3:die",
    "tiny-transformer-s0": "before .ckpt:2:die",
    "tiny-rnn-s1": "after .json:1:die",
    "tiny-transformer-s1": "after .ckpt:2:no space",
}


@pytest.mark.weekly
@needs_snakemake
@needs_signals
def test_runs_that_were_killed_or_found_no_space_are_named_and_end_with_the_same_numbers(tmp_path, whole):
    write(tmp_path, replace(RNN, steps=7))  # of another configuration, which is no record of this sweep
    status, said = end(start(tmp_path, "tiny", mishaps=",".join(map(":".join, MISHAPS.items()))))
    assert status == 1 and said.splitlines()[-1] == f"sweep tiny: missing: {', '.join(NAMES)}"
    assert re.search(r"^stopped: .*could not be written.*; kept: finished records and the last", said, re.MULTILINE)
    kept = {re.sub(r"^\.|\.\w{8}\.ckpt.*", "", name) for name in files(tmp_path)}
    assert kept == set(NAMES), "a checkpoint of each"
    status, said = end(start(tmp_path, "tiny"))
    assert status == 0 and files(tmp_path) == files(whole[0]) and numbers(tmp_path) == numbers(whole[0])


@needs_snakemake
def test_a_run_that_diverges_is_a_result_and_one_that_fails_is_named_last(tmp_path):
    status, said = end(start(tmp_path, "mixed"))
    assert status == 1 and "unexpected keyword argument 'hidden_sizes'" in said
    last = ["sweep mixed: 2 of 3 records, 1 of them diverged", "sweep mixed: missing: tiny-broken-s0"]
    assert said.splitlines()[-2:] == last
    assert '"reason": "loss is inf at step 2"' in said
    # The last one refuses to run with other instructions of the processor than those of its name.
    assert files(tmp_path) == ["again-default-tiny-rnn-s0.json", "tiny-exploding-s0.json"]


@pytest.mark.weekly
@needs_snakemake
def test_what_follows_from_a_record_is_made_in_the_same_call_and_what_failed_is_not_tried_again(tmp_path):
    status, said = end(start(tmp_path, "follow"))
    assert files(tmp_path) == ["tiny-rnn-s0.json", "tiny-transformer-s0.json"] and status == 1
    last = ["sweep follow: 2 of 3 records, 0 of them diverged", "sweep follow: missing: tiny-broken-s0"]
    assert said.splitlines()[-2:] == last
    begun = (tmp_path / "log").read_text().split()
    assert begun[0] == "tiny-rnn-s0" and sorted(begun) == ["tiny-broken-s0", "tiny-rnn-s0", "tiny-transformer-s0"]


# Without


def test_what_is_there_or_packed_is_not_made_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(SWEEPS, "tiny", replace(PLANS["tiny"], recipes=[RNN]))
    monkeypatch.setattr(runs, "evaluate", lambda *a, **k: {"mse": 0.5})
    for seed in (0, 1):
        assert [path.stem for path in missing(SWEEPS["tiny"], tmp_path / "runs")] == NAMES[0:3:2][seed:]
        runs.run(RNN, seed, out=tmp_path / "runs", progress=False)
    assert pack(tmp_path, {"tiny": ["tiny-rnn"]}) == {"tiny": 2} and not list((tmp_path / "runs").iterdir())
    assert main(["sweep", "tiny", "--out", str(tmp_path / "runs")]) == 0
    assert capsys.readouterr().out == "sweep tiny: 2 of 2 records, 0 of them diverged\n"


@pytest.mark.parametrize("text", ["", "{", "{}", '{"configuration": {"gone": 1}}', "other", "seed", "half"])
def test_a_record_of_another_configuration_is_none(tmp_path, text):
    path = write(tmp_path, replace(RNN, steps=7))
    if text == "seed":
        write(tmp_path, RNN, 1).replace(path)
    elif text == "half":
        path.write_text(json.dumps({"configuration": asdict(RNN), "seed": 0}))
    elif text != "other":
        path.write_text(text)
    assert made(tmp_path, RNN, 0) == (path, None) and missing(PLANS["one"], tmp_path) == [path]
    assert missing(PLANS["one"], write(tmp_path, RNN).parent) == []


def test_what_keeps_a_sweep_from_starting_is_told(tmp_path, capsys, monkeypatch):
    def told(*arguments):
        assert main([*arguments]) == 2
        return capsys.readouterr().err

    monkeypatch.setitem(sys.modules, "snakemake.cli", None)
    race = ("sweep", "race", "--out", str(tmp_path))
    assert "a sweep needs Snakemake and Python 3.11: pip install '.[sweep]'" in told(*race)
    assert "device must be one that torch can use here, got 'abacus'" in told(*race, "--device", "abacus")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "not for accelerate launch" in told(*race)
    for command in ("run", "sweep"):
        with pytest.raises(SystemExit):
            main([command, "race", "--threads", "0"])
        assert "argument --threads: must be at least 1, got 0" in capsys.readouterr().err
    for command in ("sweep", "table"):
        with pytest.raises(SystemExit):
            main([command, "nothing"])
        assert "argument NAME: invalid choice: 'nothing' (choose from " in capsys.readouterr().err


# Tables and rates


def test_a_table_of_none_of_some_and_of_all_records(tmp_path, monkeypatch):
    monkeypatch.setitem(race.FINISH, "adding", ("mse", 0.05))
    recipes = [race.race("adding", lane, 0.01) for lane in ("rnn", "lstm")]
    plan = Sweep("", recipes, (0, 1, 2))
    assert table(plan, tmp_path) == "There are no records of this sweep yet."
    values = {"evaluations": [{"mse": 0.1}, {"mse": 0.04}], "metrics": {"mse": 0.03}}
    write(tmp_path, recipes[0], 0, **values)
    head, rule, first, second = table(plan, tmp_path).splitlines()
    assert head.count("|") == rule.count("|") == first.count("|") == second.count("|") == 9
    assert first == "| `race-adding-rnn-0.01` | mse | 0.03 | 1 of 3 | 1/1 | 100 | 10 | 1,234 |"
    assert second == "| `race-adding-lstm-0.01` | mse | none | 0 of 3 | 0/0 | none | none | none |"
    write(tmp_path, recipes[0], 1, metrics={"mse": 0.2}, seconds=20.0)
    write(tmp_path, recipes[0], 2, diverged={"step": 3, "reason": "x"}, seconds=1.0)
    for seed in plan.seeds:
        write(tmp_path, recipes[1], seed, **values)
    *_, first, second = table(plan, tmp_path).splitlines()
    assert first == "| `race-adding-rnn-0.01` | mse | 0.115 [0.03, 0.2] | 3 of 3, 1 diverged | 1/3 | 100 | 10 | 1,234 |"
    assert second == "| `race-adding-lstm-0.01` | mse | 0.03 [0.03, 0.03] | 3 of 3 | 3/3 | 100 | 10 | 1,234 |"
    write(tmp_path, replace(recipes[1], steps=1), 0)
    assert "| 2 of 3 | 2/2 |" in table(plan, tmp_path), "a record of another configuration is none"
    write(tmp_path, RNN, metrics={"loss": 0.25, "accuracy": 0.5})  # outside the race the first metric counts
    assert "| `tiny-rnn` | loss | 0.25 | 1 of 3 | none | none | 10 | 1,234 |" in table(Sweep("", [RNN]), tmp_path)
    kinds = [make("adding", "gru", 0.01) for make in (race.trial, race.large)]
    kinds += [again(race.race("adding", "gru", 0.01), "default")]
    assert table(Sweep("", [RNN, *kinds]), tmp_path).count("| mse |") == 3, "every kind of race has the finish line"


# The book's sweeps


def test_the_sweeps_are_those_of_the_book():
    names = [recipe.name for name, sweep in SWEEPS.items() if not sweep.follow for recipe in sweep.recipes]
    assert len(names) == len(set(names)) and {*names} <= {*RECIPES}


@pytest.mark.parametrize("name", ["recurrence", "attention", "between"])
def test_the_sweep_of_a_part_is_what_the_book_has_records_of(name):
    there = [r.name for r in getattr(sweeps.parts, name).RECIPES if find(r.name, 0)]
    assert [recipe.name for recipe in SWEEPS[name].recipes] == there
