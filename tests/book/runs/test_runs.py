"""Records: whole or not there, resumable, of one format."""

import itertools
import json
import math
import shutil
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
import torch
from statsmodels.datasets import sunspots
from support.helpers import killed
from support.made_records import whole, write

from rtx_book import __main__ as command
from rtx_book.__main__ import main
from rtx_book.records.records import SCHEMA, find
from rtx_book.runs import run
from rtx_book.runs import runs as experiments
from rtx_book.runs.builders import optimizer
from rtx_book.runs.instructions import SETS, available
from rtx_book.runs.recipes import RECIPES, Recipe
from rtx_lib.models import STL
from rtx_lib.models.indrnn import PlainIndRNN
from rtx_lib.training import History, TrainingDiverged
from rtx_lib.training.processes import Processes

TINY = Recipe("tiny", "a test", "rnn", "adding", 6, 8, 1e-3, {"hidden_size": 4}, {"length": 5}, 1.0, "cosine", 3)

STREAM = replace(TINY, task="text", steps=2, task_arguments={"source": "pydoc", "length": 8}, stream_length=8)
STREAM = replace(STREAM, clip=None, schedule="constant", eval_every=2, eval_batch_size=100)


@pytest.fixture
def quick(monkeypatch):
    """Do not evaluate on the 10,000 sequences of the test split."""
    scores = {"test": {"mse": 0.5, "never": float("inf")}}
    monkeypatch.setattr(experiments, "evaluate", lambda model, task, split, **settings: scores[split])


def recorded(recipe, folder):
    """The record of a run, which follows the schema."""
    record = json.loads(run(recipe, 0, out=folder, progress=False).read_text())
    jsonschema.validate(record, SCHEMA)
    return record


def test_a_statistician_is_the_form_that_errs_least_on_valid_tested_on_every_window(tmp_path):
    forms = [["ETS", {"trend": None}], ["STL", {"trend": None}]]
    recipe = RECIPES["series-sunspots-smoothing"]
    record = recorded(replace(recipe, model_arguments=recipe.model_arguments | {"forms": forms}), tmp_path)
    seasonal, decomposed = (row["mse"] for row in record["evaluations"])
    assert decomposed < seasonal and record["parameters"] == 2, "a rate and a first level"
    years, (start, end) = sunspots.load_pandas().data["SUNACTIVITY"].to_numpy(), (248, 309)
    origins = range(start, end - 10)
    scaled = (years - years[:216].mean()) / years[:216].std()
    mean, deviation = (part[..., 0] for part in STL(11, trend=None).fit(scaled[:216]).forecast(scaled, origins, 11))
    off = np.abs(mean - [scaled[at : at + 11] for at in origins])
    assert record["metrics"]["mse"] == pytest.approx((off**2).mean(), rel=1e-4)
    assert record["metrics"]["coverage"] == pytest.approx((off < 1.28155 * deviation).mean(), abs=2e-3)


def test_run_writes_one_record_and_does_not_run_twice(tmp_path, quick, monkeypatch):
    path = run(TINY, 3, out=tmp_path, progress=False)
    record = json.loads(path.read_text())
    jsonschema.validate(record, SCHEMA)
    assert path.name == "tiny-s3.json" and record["seed"] == 3 and record["metrics"] == {"mse": 0.5}
    assert record["curves"]["lr"][0] < 1e-3 and record["curves"]["lr"][-1] == 0, "the schedule is the recipe's"
    assert [file.name for file in tmp_path.iterdir()] == ["tiny-s3.json"]
    before = path.stat().st_mtime_ns
    monkeypatch.setattr(experiments, "fit", None)
    assert run(TINY, 3, out=tmp_path) == path and path.stat().st_mtime_ns == before
    with pytest.raises(TypeError):  # another configuration is trained again
        run(replace(TINY, steps=7), 3, out=tmp_path)


def test_other_instructions_than_the_recipe_s_are_refused(tmp_path, quick):
    with pytest.raises(ValueError, match=r"instructions must be .* start the run with ATEN_CPU_CAPABILITY=\w+"):
        run(replace(TINY, instructions=next(name for name in SETS if name != available()[0])), out=tmp_path)
    run(replace(TINY, instructions=available()[0]), out=tmp_path)


def test_a_killed_run_resumes(tmp_path, quick, monkeypatch):
    unbroken = recorded(TINY, tmp_path / "whole")
    fit = experiments.fit

    monkeypatch.setattr(experiments, "fit", killed(fit))
    with pytest.raises(KeyboardInterrupt):
        run(TINY, 0, out=tmp_path / "killed", progress=False)
    assert [file.suffix for file in (tmp_path / "killed").iterdir()] == [".ckpt"]
    shutil.copytree(tmp_path / "killed", tmp_path / "changed")
    monkeypatch.setattr(experiments, "fit", fit)
    resumed = recorded(TINY, tmp_path / "killed")
    assert resumed["curves"] == unbroken["curves"] and resumed["evaluations"] == unbroken["evaluations"]
    other = replace(TINY, model_arguments={"hidden_size": 4, "nonlinearity": "relu"})
    anew = recorded(other, tmp_path / "changed")
    assert anew["curves"]["loss"][:2] != unbroken["curves"]["loss"][:2], "not from the other recipe's checkpoint"
    assert [file.name for file in (tmp_path / "changed").iterdir()] == ["tiny-s0.json"]


def test_the_command_says_that_a_record_was_made_in_another_precision(tmp_path, quick, monkeypatch, capsys):
    monkeypatch.setitem(RECIPES, "tiny", TINY)
    run(TINY, 0, out=tmp_path, progress=False, processes=Processes(precision="bf16"))
    for arguments, note in (([], " (was there, in precision 'bf16')"), (["--mixed-precision", "bf16"], "")):
        assert main(["run", "tiny", "--out", str(tmp_path), *arguments]) == 0
        assert capsys.readouterr().out == f'{tmp_path / "tiny-s0.json"} {{"mse": 0.5}}{note}\n'


def test_the_commit_is_that_of_the_start(tmp_path, quick, monkeypatch):
    start, fit = "0" * 40, experiments.fit
    monkeypatch.setattr(experiments, "commit", lambda: start)

    def moved_on(*arguments, **settings):
        monkeypatch.setattr(experiments, "commit", lambda: "1" * 40)
        return fit(*arguments, **settings)

    monkeypatch.setattr(experiments, "fit", moved_on)
    assert recorded(TINY, tmp_path)["commit"] == start


def test_a_record_that_cannot_be_written_leaves_the_old_one(tmp_path, quick, monkeypatch, capsys):
    path = run(TINY, 0, out=tmp_path, progress=False)
    before = path.read_bytes()

    def broken(file, text):
        file.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(type(path), "write_text", broken)
    with pytest.raises(OSError, match="disk full"):
        run(replace(TINY, steps=7), 0, out=tmp_path, progress=False)
    assert path.read_bytes() == before and not list(tmp_path.glob("*.part"))
    monkeypatch.setitem(RECIPES, "tiny", replace(TINY, steps=7))
    assert main(["run", "tiny", "--out", str(tmp_path)]) == 1
    assert "stopped: " in (said := capsys.readouterr().err) and "disk full; kept: finished records" in said


def test_a_run_that_diverges_is_a_record_too(tmp_path, monkeypatch):
    def diverging(model, task, **settings):
        history = History([1], [0.5], [1.0], [0.1], [{"step": 1, "split": "valid", "mse": math.inf}])
        raise TrainingDiverged("loss is nan", 5, None, history)

    monkeypatch.setattr(experiments, "fit", diverging)
    record = recorded(TINY, tmp_path)
    assert record["diverged"] == {"step": 5, "reason": "loss is nan at step 5"} and record["metrics"] == {}
    assert record["evaluations"] == [{"step": 1, "split": "valid"}]


def test_command_line(capsys):
    assert main(["list"]) == 0
    named = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert named >= {*RECIPES, "race-digits-gru"}
    assert main(["run", "nothing"]) == 2
    assert "unknown recipe 'nothing'; 'list' names them all" in capsys.readouterr().err
    assert main(["run", "race-digits-gruu"]) == 2
    assert "did you mean race-digits-gru or " in capsys.readouterr().err
    with pytest.raises(ValueError, match="device must be one that torch can use here, got 'abacus'"):
        run(TINY, 9, out="unused", device="abacus")


def test_a_plain_name_runs_what_has_won_and_says_what_the_seeds_of_the_book_reached(tmp_path, monkeypatch, capsys):
    ran = []
    runs = [{"seed": seed, "diverged": None, "metrics": {"mse": seed / 8}} for seed in (1, 2)]
    lost = {"seed": 3, "diverged": {"step": 1}, "metrics": {}}
    monkeypatch.setattr(command, "load_records", lambda name: [*runs, lost] if name == TINY.name else [])
    monkeypatch.setattr(command, "chosen", lambda: {"plain": TINY.name})
    monkeypatch.setattr(command, "RECIPES", {TINY.name: TINY})
    monkeypatch.setattr(command, "run", lambda recipe, seed, **how: ran.append((recipe, seed)) or tmp_path / "none")
    monkeypatch.setattr(command, "find", lambda name, seed, folder: {"device": {}, "diverged": None, "metrics": {}})
    assert main(["run", "plain", "--seed", "7", "--out", str(tmp_path)]) == 0 and ran == [(TINY, 7)]
    assert capsys.readouterr().out.endswith("seeds of the book, 1 2 3: mse 0.125 to 0.25 (test split)\n")


@pytest.mark.parametrize("name", ["model", "task", "schedule", "optimizer"])
def test_a_recipe_with_an_unknown_name_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match=f"{name} must be .*, got 'nothing'"):
        run(replace(TINY, **{name: "nothing"}), out=tmp_path / "unused")
    assert not (tmp_path / "unused").exists()


def test_some_parameters_learn_at_a_rate_of_their_own(tmp_path, quick, monkeypatch):
    models, fit = [], experiments.fit
    monkeypatch.setattr(experiments, "fit", lambda model, *a, **how: models.append(model) or fit(model, *a, **how))
    run(replace(TINY, slow=["core.weight_hh*"], slow_lr=1e-9), 0, out=tmp_path, progress=False)
    before, after = experiments.build(TINY, 0)[0].state_dict(), models[0].state_dict()
    moved = {name: float((after[name] - before[name]).abs().max()) for name in before}
    assert moved["core.weight_hh_l0"] < 1e-7 and moved["core.weight_ih_l0"] > 1e-4 and moved["linear.weight"] > 1e-4


@pytest.mark.parametrize(
    "slow, slow_lr", [(["nothing*"], 1e-3), (["core.*", "nothing*"], 1e-3), (["core.*"], None), ([], 1e-3)]
)
def test_a_slow_rate_needs_parameters_and_the_other_way_round(tmp_path, slow, slow_lr):
    with pytest.raises(ValueError, match="slow must name parameters"):
        run(replace(TINY, slow=slow, slow_lr=slow_lr), out=tmp_path)


def test_a_constraint_is_renewed_after_every_step(tmp_path, quick, monkeypatch):
    calls = []
    monkeypatch.setattr(PlainIndRNN, "constrain_", lambda net: calls.append(net))
    recipe = replace(TINY, model="indrnn", model_arguments={"hidden_size": 4, "num_layers": 1, "length": 5})
    run(recipe, 0, out=tmp_path, progress=False)
    assert len(calls) == recipe.steps


def test_weight_decay_is_for_matrices_alone():
    model, _ = experiments.build(TINY, 0)
    adam = optimizer(replace(TINY, weight_decay=0.1, betas=[0.9, 0.99]), model)
    decays = {id(p): group["weight_decay"] for group in adam.param_groups for p in group["params"]}
    assert isinstance(adam, torch.optim.AdamW) and adam.defaults["betas"] == (0.9, 0.99)
    assert all(decays[id(p)] == (0.1 if p.ndim >= 2 else 0.0) for p in model.parameters())
    assert not isinstance(optimizer(TINY, model), torch.optim.AdamW)


@pytest.mark.parametrize(
    ("settings", "rates"),
    [
        ({"schedule": "constant"}, [1] * 6),
        ({"schedule": "constant", "warmup": 3}, [1 / 3, 2 / 3, 1, 1, 1, 1]),
        ({"schedule": "cosine", "floor": 1.0}, [1] * 6),
        ({"schedule": "staircase", "drop_every": 2, "optimizer": "sgd"}, [1, 1, 0.1, 0.1, 0.01, 0.01]),
    ],
)
def test_each_schedule_is_followed(tmp_path, quick, settings, rates):
    path = run(replace(TINY, **settings), 0, out=tmp_path, progress=False)
    assert json.loads(path.read_text())["curves"]["lr"] == pytest.approx([1e-3 * rate for rate in rates], rel=1e-5)


def test_a_recipe_may_wait_for_a_plateau_and_keep_its_best_model(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(experiments, "evaluate", lambda *_, **settings: asked.append(settings) or {"mse": 0.5})
    fit = experiments.fit
    monkeypatch.setattr(experiments, "fit", lambda *a, **settings: asked.append(settings) or fit(*a, **settings))
    recipe = replace(TINY, schedule="plateau", drop_every=3, drop_after=4, keep_best="mse")
    recipe = replace(recipe, eval_batches=2, eval_batch_size=5)
    run(recipe, 0, out=tmp_path, progress=False)
    assert [asked[0]["plateau"]([{"mse": 1.0}] * number) for number in (4, 5)] == [1, 0.1]
    assert [asked[0][name] for name in ("keep_best", "eval_batches", "eval_batch_size")] == ["mse", 2, 5]
    assert asked[1]["batch_size"] == 5, "the test split is read in pieces of the same size, and whole"


def test_a_model_is_tested_elsewhere_too(tmp_path, monkeypatch):
    seen = []

    def scores(model, task, split, **settings):
        seen.append((task.name, split, settings.get("batches")))
        return {"mse": float(task.length)}

    monkeypatch.setattr(experiments, "evaluate", scores)
    record = recorded(replace(TINY, elsewhere={"9 steps": {"length": 9}, "12 steps": {"length": 12}}), tmp_path)
    assert record["elsewhere"] == {"9 steps": {"mse": 9.0}, "12 steps": {"mse": 12.0}}
    assert seen[-2:] == [("adding-9", "test", 40), ("adding-12", "test", 40)]


def test_a_model_trained_on_streams_is_tested_on_streams_and_with_other_settings(tmp_path, monkeypatch):
    changed = {"memory 4": {"memory": 4}, "memory 0": {"memory": 0}, "by fours": {"stream_length": 4}}
    arguments = {"width": 8, "heads": 2, "layers": 1, "memory": 4}
    recipe = replace(STREAM, model="transformer-xl", model_arguments=arguments, eval_batches=3, tested_with=changed)
    record = recorded(recipe, tmp_path)
    elsewhere, loss = record["elsewhere"], record["metrics"]["loss"]
    assert elsewhere["memory 4"]["loss"] == loss and len({row["loss"] for row in elsewhere.values()}) == 3
    assert len(record["loss_by_position"]) == 8
    assert sum(record["loss_by_position"]) / 8 == pytest.approx(loss, rel=1e-5)
    monkeypatch.setattr(experiments, "fit", None)  # it is said before any training
    with pytest.raises(ValueError, match="tested_with must name attributes of TransformerXL, got 'memories'"):
        run(replace(recipe, tested_with={"longer": {"memories": 8}}), 0, out=tmp_path, progress=False)


def test_a_loss_by_position_that_is_not_finite_is_left_out(tmp_path, monkeypatch):
    """The last update may blow up a model all of whose losses were finite."""
    monkeypatch.setattr(experiments, "evaluate", lambda *_, **settings: {"loss": math.nan})
    monkeypatch.setattr(experiments, "loss_by_position", lambda *_: torch.tensor([1.0, math.inf]))
    record = recorded(STREAM, tmp_path)
    assert record["metrics"] == {} and not record["diverged"] and "loss_by_position" not in record


def test_a_reference_that_diverges_is_named(tmp_path, quick, monkeypatch):
    """And no record says that it was the recipe beside it; if that one diverges, its record does."""
    monkeypatch.setitem(RECIPES, "yardstick", replace(TINY, name="yardstick", lr=1e30, optimizer="sgd"))
    with pytest.raises(ValueError, match=r"equal_time must name a recipe that trains, got yardstick: .* at step \d$"):
        run(replace(TINY, equal_time="yardstick"), 0, out=tmp_path, progress=False)
    assert not list(tmp_path.iterdir())
    monkeypatch.setitem(RECIPES, "yardstick", replace(TINY, name="yardstick"))
    path = run(replace(TINY, lr=1e30, optimizer="sgd", equal_time="yardstick"), 0, out=tmp_path, progress=False)
    assert json.loads(path.read_text())["diverged"]


def test_a_run_at_equal_time_holds_both_curves(tmp_path, quick, monkeypatch):
    monkeypatch.setitem(RECIPES, "yardstick", replace(TINY, name="yardstick"))
    # A clock of its own: six real steps of this size take less than the hundredth of a second that records keep.
    monkeypatch.setattr("time.perf_counter", itertools.count().__next__)
    last = recorded(replace(TINY, equal_time="yardstick"), tmp_path)["evaluations"][-1]
    assert last["reference_step"] == TINY.steps and last["mse"] > 0 and last["reference_mse"] > 0
    assert last["seconds"] >= last["reference_seconds"] > 0
    with pytest.raises(ValueError, match="steps must be the 6 of yardstick, got 7"):
        run(replace(TINY, equal_time="yardstick", steps=7), 0, out=tmp_path / "b")


def test_pack_takes_the_runs_of_the_book_s_sweeps(tmp_path, capsys):
    write(tmp_path / "runs", whole("copy-gru"), whole("race-copy-gru-0.01"), whole("mine"))
    assert main(["pack", "--out", str(tmp_path)]) == 0 and capsys.readouterr().out == "recurrence: 1, race: 1\n"
    assert main(["pack", "--out", str(tmp_path)]) == 0 and capsys.readouterr().out == "nothing to pack\n"
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mine-s0.json"]
    assert find("race-copy-gru-0.01", 0, tmp_path)["metrics"] == {"mse": 0.01}
