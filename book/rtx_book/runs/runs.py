"""One run of a recipe: build it, train it, test it, and write its record.

How records are packed, read and checked stands in :mod:`rtx_book.records.records`.
"""

import copy
import hashlib
import json
import math
import platform
import subprocess
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import rtx_lib
from rtx_book.paths import PACKAGE, runs_folder
from rtx_book.records.records import Record, find, thin
from rtx_book.runs import pretrained
from rtx_book.runs.builders import TASKS, build, rule
from rtx_book.runs.instructions import VARIABLES, available
from rtx_book.runs.recipes import RECIPES, Recipe, recipe_of
from rtx_book.runs.side_by_side import Side, fit_side_by_side
from rtx_book.runs.statisticians import Statistician
from rtx_lib.diagnostics.context import loss_by_position
from rtx_lib.diagnostics.probe import layer_probes, neighbours
from rtx_lib.tasks.vocabulary import SPECIAL
from rtx_lib.training import History, Processes, TrainingDiverged, fit
from rtx_lib.training.checkpoints import in_one_step
from rtx_lib.training.evaluation import evaluate, parameter_count
from rtx_lib.training.processes import ALONE

# What a recipe and `fit` call by one name.
ALIKE = ("steps", "batch_size", "clip", "eval_every", "eval_batches", "eval_batch_size", "keep_best", "stream_length")


def run(
    recipe: Recipe,
    seed: int = 0,
    *,
    out: str | Path | None = None,
    device: str = "cpu",
    progress: bool = True,
    processes: Processes = ALONE,
    keep: Callable[[nn.Module, Any], None] | None = None,
) -> Path:
    """Train one recipe with one seed and write its record; return the record's path.

    Nothing is done if the record is there already with the same configuration, in whatever precision. A run that
    diverges is a result too: its record says at which step, and its metrics are empty.

    ``keep`` is called with the trained model and its task, before the record is written; with it the run is made even
    if its record is there.

    Several processes that all call this train one model together (:mod:`rtx_lib.training.processes`). All of them test
    it and the main one writes the record. Only the main one needs the folder.

    Raises
    ------
    ValueError
        For a device that torch cannot use, a recipe with an unknown model, task or schedule, or one at equal time in
        several processes or mixed precision, or beside a reference that diverges; for other instructions of the
        processor than the program was started with.
    """
    if recipe.equal_time and not processes.plain:
        got = f"{processes.count} processes, {processes.precision!r}"
        raise ValueError(f"processes must be one, without mixed precision, for {recipe.name} at equal time, got {got}")
    path, there = made(Path(out) if out else runs_folder(), recipe, seed)
    if processes.agree(there) and keep is None:
        return path
    if recipe.instructions not in ("", had := available()[0]):
        asked = " ".join(f"{name}={value}" for name, value in VARIABLES[recipe.instructions].items())
        raise ValueError(f"instructions must be {had!r} here, got {recipe.instructions!r}: start the run with {asked}")
    configuration, code = asdict(recipe), commit()  # of the code that runs: the checkout may move on meanwhile
    model, task = build(recipe, seed)
    for settings in recipe.tested_with.values():
        _changed(model, settings)  # what is wrong with them is said before hours of training
    # A checkpoint of the same recipe with other settings must not be taken up.
    digest = hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()
    checkpoint = path.with_name(f".{path.stem}.{digest[:8]}.ckpt")
    record: dict[str, Any] = {"format": 1, "recipe": recipe.name, "configuration": configuration, "seed": seed}
    how: dict[str, Any] = {"device": device, "progress": progress, "processes": processes, "checkpoint": checkpoint}
    record |= {"commit": code} | trained(recipe, model, task, seed, **how)
    if processes.main:
        if keep is not None:
            keep(model, task)
        with in_one_step(path) as temporary:
            temporary.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")
        for file in (*path.parent.glob(f".{path.stem}.*"), *path.parent.glob(f"{path.name}.*.part")):
            file.unlink(missing_ok=True)  # checkpoint and half-written files
    return path


def pretrain(name: str, folder: Path | None = None, **how: Any) -> Path:
    """Run a recipe of pre-training with seed 0, keep its weights, and return their path.

    Parameters
    ----------
    name
        Of a recipe whose model is one of ``pretrained.KINDS``.
    folder
        For the weights; that of the book's if None.
    how
        As in :func:`run`.
    """
    recipe = RECIPES[name]
    path, code = (folder or pretrained.weights_folder()) / f"{name}.npz", commit()
    arguments = {key: value for key, value in recipe.model_arguments.items() if key != "start"}
    about = {"recipe": name, "seed": 0, "commit": code, "model": recipe.model, "arguments": arguments}
    about["licence"] = pretrained.LICENCE
    run(recipe, 0, keep=lambda model, task: pretrained.save(path, model, task.words, about), **how)
    return path


def trained(
    recipe: Recipe,
    model: nn.Module,
    task: Any,
    seed: int = 0,
    *,
    device: str = "cpu",
    progress: bool = False,
    processes: Processes = ALONE,
    checkpoint: Path | None = None,
) -> Record:
    """Train and test a model that is built already, as its recipe says: what a record holds of the run itself.

    Raises
    ------
    ValueError
        As :func:`run` does.
    """
    if isinstance(model, Statistician):
        history, metrics = model.judged()
        tested = {"baselines": task.baselines(), "diverged": None, "metrics": finite(metrics)}
        return _measured(model, history, recipe, device) | tested
    constrain = getattr(model, "constrain_", None)
    how = {name: getattr(recipe, name) for name in ALIKE} | rule(recipe, model)
    how |= {"seed": seed, "device": device, "progress": progress, "processes": processes}
    diverged = None
    try:
        if recipe.equal_time:
            history = _beside(model, task, recipe, seed, device)
        else:
            after_step = constrain and (lambda step, net, loss: constrain())
            history = fit(model, task, **how, checkpoint=checkpoint, after_step=after_step)
    except TrainingDiverged as error:
        history, diverged = error.history, {"step": error.step, "reason": str(error).partition(";")[0]}
    record = _measured(model, history, recipe, device) | {"baselines": task.baselines(), "diverged": diverged}
    if not processes.plain:
        record["device"] |= {"processes": processes.count, "precision": processes.precision}
    return record if diverged else record | _tested(model, task, recipe, device)


def made(folder: Path, recipe: Recipe, seed: int) -> tuple[Path, Record | None]:
    """Where the record of a run is, or will be, and what is there: None unless it is of this very recipe, and whole.

    A record that is packed is there, too.
    """
    path = folder / f"{recipe.name}-s{seed}.json"
    try:
        record = find(recipe.name, seed, folder)
        return path, record if record and recipe_of(record) == recipe else None
    except (KeyError, TypeError, ValueError):  # for settings that there are no more
        return path, None


def _beside(model: nn.Module, task: Any, recipe: Recipe, seed: int, device: str) -> History:
    """Train at equal wall time with the reference, whose metrics stand beside ours in each evaluation."""
    reference = RECIPES[str(recipe.equal_time)]
    if reference.steps != recipe.steps:
        raise ValueError(f"steps must be the {reference.steps} of {reference.name}, got {recipe.steps}")

    def side(own: Recipe, model: nn.Module, task: Any) -> Side:
        how = {name: getattr(own, name) for name in ("batch_size", "clip", "stream_length")} | rule(own, model)
        return Side(model, task, **how, eval_batch_size=own.eval_batch_size, seed=seed, device=device)

    theirs, ours = side(reference, *build(reference, seed)), side(recipe, model, task)
    try:
        fit_side_by_side(theirs, ours, steps=recipe.steps, seed=seed, eval_every=recipe.eval_every)
    except TrainingDiverged as error:
        if error.history is theirs.history:  # it says nothing about our recipe
            what = str(error).partition(";")[0]
            raise ValueError(f"equal_time must name a recipe that trains, got {reference.name}: {what}") from error
        raise
    for row, their_row in zip(ours.history.evaluations, theirs.history.evaluations, strict=True):
        row |= {f"reference_{name}": value for name, value in their_row.items() if name != "split"}
    return ours.history


def _measured(model: nn.Module, history: History, recipe: Recipe, device: str) -> dict[str, Any]:
    """What the record says of the training itself."""
    packages = {"torch": torch.__version__, "numpy": np.__version__, "rtx_lib": rtx_lib.__version__}
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else "CPU"
    curves = ("step", "loss", "gradient_norm", "lr")
    return {
        "versions": {"python": platform.python_version(), **packages},
        "device": {"name": name, "threads": torch.get_num_threads()},
        "seconds": round(history.seconds, 1),
        "parameters": parameter_count(model),
        "curves": {name: thin(getattr(history, name), recipe.curve_points) for name in curves},
        "evaluations": [finite(row) for row in history.evaluations],
        "metrics": {},
    }


def _tested(model: Any, task: Any, recipe: Recipe, device: str) -> dict[str, Any]:
    """What the record says of the trained model: on the test split, elsewhere, with other settings, by position."""

    def scores(net: nn.Module, length: int | None = recipe.stream_length) -> dict[str, float]:
        size = recipe.eval_batch_size
        return finite(evaluate(net, task, "test", batch_size=size, device=device, stream_length=length))

    tested: dict[str, Any] = {"metrics": scores(model)}
    elsewhere = {}
    for name, arguments in recipe.elsewhere.items():
        other = TASKS[recipe.task](**recipe.task_arguments | arguments)
        # Small batches: attention over a long sequence needs memory. 400 sequences are enough for two digits.
        elsewhere[name] = finite(evaluate(model, other, "test", batch_size=10, device=device, batches=40))
    for name, settings in recipe.tested_with.items():
        elsewhere[name] = scores(_changed(model, settings), settings.get("stream_length", recipe.stream_length))
    for name, arguments in recipe.probed.items():
        kind = TASKS[arguments["task"]]
        labels = kind(words=task.words, **{key: value for key, value in arguments.items() if key != "task"})
        if recipe.model == "vector-sentences":  # a table of vectors, and no layers
            elsewhere[name] = neighbours(model.embedding.weight, labels, first=len(SPECIAL))
            continue
        shares = layer_probes(model.eval().layers, labels)
        elsewhere |= {f"{name}, layer {place}": {"accuracy": share} for place, share in enumerate(shares)}
        elsewhere[f"{name}, baselines"] = labels.baselines()
    tested |= {"elsewhere": elsewhere} if elsewhere else {}
    if recipe.stream_length:
        losses = loss_by_position(model, task.stream("test", recipe.eval_batch_size, recipe.stream_length))
        if losses.isfinite().all():  # else left out, as a metric is
            tested["loss_by_position"] = [round(loss, 6) for loss in losses.tolist()]
    return tested


def _changed(model: nn.Module, settings: dict[str, Any]) -> nn.Module:
    """A shallow copy with other values of these attributes; a ``stream_length`` is none of them."""
    changed = copy.copy(model)
    for name in (name for name in settings if name != "stream_length"):
        if not hasattr(model, name):
            raise ValueError(f"tested_with must name attributes of {type(model).__name__}, got {name!r}")
        setattr(changed, name, settings[name])
    return changed


def finite(row: dict[str, Any]) -> dict[str, Any]:
    """``row`` without numbers that JSON cannot hold."""
    return {name: value for name, value in row.items() if not isinstance(value, float) or math.isfinite(value)}


def commit(*more: str) -> str:
    """The checkout's commit, with "-dirty" if a package, or ``more``, differs from it; "unknown" outside git."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=PACKAGE, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        dirty = git("status", "--porcelain", "--", ".", ":/rtx_lib", *more)
        return git("rev-parse", "HEAD") + ("-dirty" if dirty else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
