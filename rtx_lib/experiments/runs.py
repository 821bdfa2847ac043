"""One run of a recipe: build it, train it, test it, and write its record."""

import copy
import fnmatch
import hashlib
import json
import platform
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import rtx_lib
from rtx_lib.diagnostics.context import loss_by_position
from rtx_lib.evidence.records import runs_folder, thin
from rtx_lib.experiments import sweeps
from rtx_lib.experiments.recipes import RECIPES, Recipe
from rtx_lib.experiments.records import as_text, commit, finite
from rtx_lib.layers import GRU, LSTM, RNN, Readout, SampleStdNorm
from rtx_lib.models.deep_transition import DeepTransitionGRU
from rtx_lib.models.indrnn import PlainIndRNN
from rtx_lib.models.plain_gpt import PlainGPT
from rtx_lib.models.r_transformer import RTransformer
from rtx_lib.models.seq2seq import Seq2Seq
from rtx_lib.models.tcn import TCN
from rtx_lib.models.transformer import CausalTransformer, Transformer
from rtx_lib.models.transformer_xl import TransformerXL
from rtx_lib.tasks import (
    MNIST,
    AddingProblem,
    CharacterText,
    CopyMemory,
    Enwik8,
    Lag,
    NumberWords,
    PennTreebank,
    PolyphonicMusic,
    SequentialDigits,
)
from rtx_lib.training import History, TrainingDiverged, check_device, evaluate, fit, parameter_count
from rtx_lib.training.checkpoints import in_one_step
from rtx_lib.training.processes import ALONE, Processes
from rtx_lib.training.schedules import (
    Plateau,
    Schedule,
    drop_on_plateau,
    inverse_sqrt,
    staircase,
    warmup_constant,
    warmup_cosine,
)
from rtx_lib.training.side_by_side import Side, fit_side_by_side

TASKS: dict[str, Callable[..., Any]] = {
    "adding": AddingProblem,
    "copy": CopyMemory,
    "digits": SequentialDigits,
    "mnist": MNIST,
    "lag": Lag,
    "number-words": NumberWords,
    "text": CharacterText,
    "music": PolyphonicMusic,
    "ptb": PennTreebank,
    "enwik8": Enwik8,
}


def _with_readout(core: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    return lambda task, **arguments: Readout(
        core(task.input_size, **arguments), task.output_size, vocabulary=task.vocabulary
    )


# A recipe is written to a file, so it names the norm.
NORM_LAYERS: dict[str, Callable[..., nn.Module]] = {"layer": nn.LayerNorm, "sample-std": SampleStdNorm}
MODELS: dict[str, Callable[..., nn.Module]] = {
    "rnn": _with_readout(RNN),
    "lstm": _with_readout(LSTM),
    "gru": _with_readout(GRU),
    "deep-gru": _with_readout(DeepTransitionGRU),
    "indrnn": lambda task, **arguments: PlainIndRNN(
        task.input_size, output_size=task.output_size, vocabulary=task.vocabulary, **arguments
    ),
    "seq2seq": lambda task, **arguments: Seq2Seq(task.input_size, task.output_size, **arguments),
    "transformer": lambda task, **arguments: Transformer(task.input_size, task.output_size, **arguments),
    "causal-transformer": lambda task, **arguments: CausalTransformer(
        task.input_size, task.output_size, vocabulary=task.vocabulary, **arguments
    ),
    "r-transformer": lambda task, norm_layer="layer", **arguments: RTransformer(
        task.input_size, task.output_size, vocabulary=task.vocabulary, norm_layer=NORM_LAYERS[norm_layer], **arguments
    ),
    "transformer-xl": lambda task, **arguments: TransformerXL(
        task.input_size, task.output_size, vocabulary=task.vocabulary, **arguments
    ),
    "tcn": lambda task, **arguments: TCN(task.input_size, task.output_size, vocabulary=task.vocabulary, **arguments),
    "plain-gpt": lambda task, **arguments: PlainGPT(task.vocabulary, **arguments),
}


def build(recipe: Recipe, seed: int) -> tuple[nn.Module, Any]:
    """The recipe's model, initialised from the seed, and its task.

    Raises
    ------
    ValueError
        For a model or task that has no such name.
    """
    for kind, name, known in (("model", recipe.model, MODELS), ("task", recipe.task, TASKS)):
        if name not in known:
            raise ValueError(f"{kind} must be one of {sorted(known)}, got {name!r}")
    task = TASKS[recipe.task](**recipe.task_arguments)
    torch.manual_seed(seed)
    return MODELS[recipe.model](task, **recipe.model_arguments), task


def run(
    recipe: Recipe,
    seed: int = 0,
    *,
    out: str | Path | None = None,
    device: str = "cpu",
    progress: bool = True,
    processes: Processes = ALONE,
) -> Path:
    """Train one recipe with one seed and write its record; return the record's path.

    Nothing is done if the record is there already with the same configuration, in whatever precision. A run that
    diverges is a result too: its record says at which step, and its metrics are empty.

    Several processes that all call this train one model together (:mod:`rtx_lib.training.processes`). The main one
    tests it and writes the record, and the others return when it is there. Only the main one needs the folder.

    Raises
    ------
    ValueError
        For a device that torch cannot use, a recipe with an unknown model, task or schedule, or one at equal time in
        several processes or mixed precision, or beside a reference that diverges.
    """
    schedule = _schedule(recipe)
    most = 80 if recipe.equal_time else 200  # a row with the reference's columns is two and a half times as long
    if recipe.steps > most * recipe.eval_every:  # said before hours of training: as_text would refuse the record
        got = f"{recipe.eval_every} in {recipe.steps} steps"
        raise ValueError(f"eval_every must leave at most {most} evaluations, got {got}")
    if recipe.equal_time and not processes.plain:
        how = f"{processes.count} processes, {processes.precision!r}"
        raise ValueError(f"processes must be one, without mixed precision, for {recipe.name} at equal time, got {how}")
    device = device if processes.plain else processes.device
    folder = Path(out) if out else runs_folder()
    path = sweeps.record_path(folder, recipe, seed)
    if processes.on_main(lambda: sweeps.made(path, recipe) is not None):
        return path
    check_device(device)
    code = commit()  # of the code that runs: the checkout may move on meanwhile
    model, task = build(recipe, seed)
    for settings in recipe.tested_with.values():  # what is wrong with them is said before hours of training
        _changed(model, settings)
    configuration = asdict(recipe)
    # A checkpoint of the same recipe with other settings must not be taken up.
    digest = hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()
    checkpoint = folder / f".{path.stem}.{digest[:8]}.ckpt"
    diverged = None
    try:
        if recipe.equal_time:
            history = _beside(model, task, recipe, schedule, seed, device)
        else:
            history = fit(
                model,
                task,
                steps=recipe.steps,
                batch_size=recipe.batch_size,
                clip=recipe.clip,
                optimizer=_optimizer(model, recipe),
                schedule=schedule,
                plateau=_plateau(recipe),
                seed=seed,
                device=device,
                eval_every=recipe.eval_every,
                eval_batches=recipe.eval_batches,
                eval_batch_size=recipe.eval_batch_size,
                keep_best=recipe.keep_best,
                checkpoint=checkpoint,
                stream_length=recipe.stream_length,
                progress=progress,
                after_step=_constrain if hasattr(model, "constrain_") else None,
                processes=processes,
            )
    except TrainingDiverged as error:
        history, diverged = error.history, {"step": error.step, "reason": str(error).partition(";")[0]}
    record: dict[str, Any] = {
        "format": 1,
        "recipe": recipe.name,
        "configuration": configuration,
        "seed": seed,
        "commit": code,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
            "rtx_lib": rtx_lib.__version__,
        },
        "device": {
            "name": torch.cuda.get_device_name(device) if device.startswith("cuda") else "CPU",
            "threads": torch.get_num_threads(),
            **({} if processes.plain else {"processes": processes.count, "precision": processes.precision}),
        },
        "seconds": round(history.seconds, 1),
        "parameters": parameter_count(model),
        "curves": {
            name: thin(getattr(history, name), recipe.curve_points) for name in ("step", "loss", "gradient_norm", "lr")
        },
        "evaluations": [finite(row) for row in history.evaluations],
        "metrics": {},
        "baselines": {},
        "diverged": diverged,
    }
    processes.on_main(lambda: _test_and_write(path, record, model, task, recipe, device))
    return path


def _test_and_write(
    path: Path, record: dict[str, Any], model: nn.Module, task: Any, recipe: Recipe, device: str
) -> None:
    record["baselines"] = task.baselines()
    if not record["diverged"]:
        record["metrics"] = finite(_test(model, task, recipe, device))
        elsewhere = {name: finite(_elsewhere(model, recipe, name, device)) for name in recipe.elsewhere}
        for name, settings in recipe.tested_with.items():
            length = settings.get("stream_length", recipe.stream_length)
            changed = _changed(model, settings)
            elsewhere[name] = finite(_test(changed, task, replace(recipe, stream_length=length), device))
        record |= {"elsewhere": elsewhere} if elsewhere else {}
        if recipe.stream_length:
            stream = task.stream("test", recipe.eval_batch_size, recipe.stream_length)
            losses = loss_by_position(model, stream)
            if losses.isfinite().all():  # else left out, as a metric is
                record["loss_by_position"] = [round(loss, 6) for loss in losses.tolist()]
    with in_one_step(path) as temporary:
        temporary.write_text(as_text(record))
    sweeps.tidy(path)


def _schedule(recipe: Recipe) -> Schedule | None:
    if recipe.schedule == "constant":
        return warmup_constant(recipe.warmup) if recipe.warmup else None
    if recipe.schedule == "cosine":
        return warmup_cosine(recipe.steps, recipe.warmup, recipe.floor)
    if recipe.schedule == "inverse-sqrt":
        return inverse_sqrt(recipe.warmup)
    if recipe.schedule == "staircase":
        return staircase(recipe.drop_every, recipe.drop)
    if recipe.schedule == "plateau":
        return None
    known = "'constant', 'cosine', 'inverse-sqrt', 'staircase' or 'plateau'"
    raise ValueError(f"schedule must be {known}, got {recipe.schedule!r}")


def _plateau(recipe: Recipe) -> Plateau | None:
    if recipe.schedule != "plateau":
        return None
    return drop_on_plateau(recipe.drop_every, recipe.drop, recipe.keep_best or "loss", recipe.drop_after)


def _optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    groups = _parameter_groups(model, recipe)
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=recipe.lr, weight_decay=recipe.weight_decay)
    if recipe.optimizer != "adam":
        raise ValueError(f"optimizer must be 'adam' or 'sgd', got {recipe.optimizer!r}")
    betas = (recipe.betas[0], recipe.betas[1])
    if not recipe.weight_decay:
        return torch.optim.Adam(groups, lr=recipe.lr, betas=betas)
    groups = [
        {**group, "params": chosen, "weight_decay": decay}
        for group in groups
        for decay, chosen in (
            (recipe.weight_decay, [p for p in group["params"] if p.ndim >= 2]),
            (0.0, [p for p in group["params"] if p.ndim < 2]),  # norms and biases
        )
        if chosen
    ]
    return torch.optim.AdamW(groups, lr=recipe.lr, betas=betas)


def _beside(model: nn.Module, task: Any, recipe: Recipe, schedule: Schedule | None, seed: int, device: str) -> History:
    """Train at equal wall time with the reference, whose metrics stand beside ours in each evaluation."""
    reference = RECIPES[str(recipe.equal_time)]
    if reference.steps != recipe.steps:
        raise ValueError(f"steps must be the {reference.steps} of {reference.name}, got {recipe.steps}")
    their_model, their_task = build(reference, seed)
    theirs = _side(their_model, their_task, reference, _schedule(reference))
    ours = _side(model, task, recipe, schedule)
    try:
        fit_side_by_side(theirs, ours, steps=recipe.steps, seed=seed, device=device, eval_every=recipe.eval_every)
    except TrainingDiverged as error:
        if error.history is theirs.history:  # it says nothing about our recipe
            what = str(error).partition(";")[0]
            raise ValueError(f"equal_time must name a recipe that trains, got {reference.name}: {what}") from error
        raise
    for row, their_row in zip(ours.history.evaluations, theirs.history.evaluations, strict=True):
        row |= {f"reference_{name}": value for name, value in their_row.items() if name != "split"}
    return ours.history


def _side(model: nn.Module, task: Any, recipe: Recipe, schedule: Schedule | None) -> Side:
    return Side(
        model,
        task,
        _optimizer(model, recipe),
        recipe.batch_size,
        recipe.clip,
        schedule,
        recipe.stream_length,
        recipe.eval_batch_size,
    )


def _test(model: nn.Module, task: Any, recipe: Recipe, device: str) -> dict[str, float]:
    return evaluate(
        model, task, "test", batch_size=recipe.eval_batch_size, device=device, stream_length=recipe.stream_length
    )


def _changed(model: nn.Module, settings: dict[str, Any]) -> nn.Module:
    """A shallow copy with other values of these attributes; a ``stream_length`` is none of them."""
    settings = {name: value for name, value in settings.items() if name != "stream_length"}
    for name in settings:
        if not hasattr(model, name):
            raise ValueError(f"tested_with must name attributes of {type(model).__name__}, got {name!r}")
    changed = copy.copy(model)
    for name, value in settings.items():
        setattr(changed, name, value)
    return changed


def _elsewhere(model: nn.Module, recipe: Recipe, name: str, device: str) -> dict[str, float]:
    task = TASKS[recipe.task](**recipe.task_arguments | recipe.elsewhere[name])
    # Small batches: attention over a long sequence needs memory. 400 sequences are enough for two digits.
    return evaluate(model, task, "test", batch_size=10, device=device, batches=40)


def _parameter_groups(model: nn.Module, recipe: Recipe) -> list[dict[str, Any]]:
    named = dict(model.named_parameters())
    matches = [fnmatch.filter(named, pattern) for pattern in recipe.slow]
    if (recipe.slow_lr is None) != (not matches) or not all(matches):
        raise ValueError(f"slow must name parameters exactly if slow_lr is given, got {recipe.slow}, {recipe.slow_lr}")
    slow = {name for names in matches for name in names}
    groups = [{"params": [p for name, p in named.items() if name not in slow]}]
    return groups + ([{"params": [named[name] for name in sorted(slow)], "lr": recipe.slow_lr}] if slow else [])


def _constrain(step: int, model: Any, loss: float) -> None:
    model.constrain_()
