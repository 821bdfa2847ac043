"""Recipes and their records: what the book measured, with everything needed to measure it again.

``python -m rtx_lib.experiments list`` shows the recipes; ``run RECIPE --seed 0 1 2`` trains one and writes one
JSON record a seed. A killed run goes on from its checkpoint; a record is written in one step or not at all.
"""

import argparse
import hashlib
import json
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import rtx_lib
from rtx_lib.checkpoints import in_one_step
from rtx_lib.layers import RNN, Readout
from rtx_lib.records import commit, finite, load_records, results_folder, thin
from rtx_lib.tasks import MNIST, AddingProblem, SequentialDigits
from rtx_lib.training import TrainingDiverged, evaluate, fit, parameter_count, warmup_cosine

TASKS: dict[str, Callable[..., Any]] = {
    "adding": AddingProblem,
    "digits": SequentialDigits,
    "mnist": MNIST,
}

MODELS: dict[str, Callable[..., nn.Module]] = {
    "rnn": lambda task, **arguments: Readout(
        RNN(task.input_size, **arguments), task.output_size, vocabulary=task.vocabulary
    ),
}


@dataclass(frozen=True)
class Recipe:
    """One training run up to its seed: names in ``MODELS`` and ``TASKS`` with their arguments, and the budget.

    ``lr`` is Adam's; ``clip`` the largest gradient norm or None; ``schedule`` "constant" or "cosine".
    """

    name: str
    about: str
    model: str
    task: str
    steps: int
    batch_size: int
    lr: float
    model_arguments: dict[str, Any] = field(default_factory=dict)
    task_arguments: dict[str, Any] = field(default_factory=dict)
    clip: float | None = None
    schedule: str = "constant"
    eval_every: int = 250


def _adding(kind: str, length: int, about: str, **settings: Any) -> Recipe:
    """The adding problem at one length; all lengths of a kind share one budget."""
    return Recipe(
        name=f"adding-{kind}-t{length}",
        about=f"{about} on the adding problem, T = {length}",
        model="rnn",
        task="adding",
        task_arguments={"length": length},
        batch_size=50,
        **{"clip": 1.0} | settings,
    )


_IRNN = {"hidden_size": 128, "nonlinearity": "relu", "init": "identity", "input_std": 0.03}

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in [
        # The tanh RNN's limit lies between 30 and 50 steps.
        *(
            _adding("rnn", length, "tanh RNN", steps=4000, lr=1e-3, model_arguments={"hidden_size": 128})
            for length in (10, 20, 30, 50, 100, 200)
        ),
        # One rate for all lengths: the larger one learns T = 100 sooner and diverges at T = 200.
        *(
            _adding("irnn", length, "IRNN (identity, ReLU)", steps=3000, lr=3e-4, model_arguments=_IRNN)
            for length in (10, 50, 100, 200)
        ),
        _adding("irnn-fast", 200, "IRNN with a larger rate", steps=3000, lr=1e-3, model_arguments=_IRNN),
        _adding(
            "irnn-noclip", 200, "IRNN with a larger rate, not clipped,", steps=3000, lr=1e-3, clip=None,
            model_arguments=_IRNN,
        ),
        _adding(
            "orthogonal", 50, "tanh RNN from an orthogonal start", steps=4000, lr=1e-3,
            model_arguments={"hidden_size": 128, "init": "orthogonal"},
        ),
        Recipe(
            "digits-rnn", "tanh RNN on 8 x 8 digits, pixel by pixel", "rnn", "digits", steps=2000, batch_size=64,
            lr=5e-3, model_arguments={"hidden_size": 64}, clip=1.0, schedule="cosine",
        ),
        Recipe(
            "row-mnist-rnn", "tanh RNN on MNIST, row by row", "rnn", "mnist", steps=1500, batch_size=100, lr=2e-3,
            model_arguments={"hidden_size": 128}, task_arguments={"rows": True}, clip=1.0, schedule="cosine",
        ),
    ]
}  # fmt: skip

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
) -> Path:
    """Train one recipe with one seed and write its record; return the record's path.

    Nothing is done if the record is there already with the same configuration. A run that diverges is a
    result too: its record says at which step, and its metrics are empty.

    Raises
    ------
    ValueError
        For a device that torch does not know, or a recipe with an unknown model, task or schedule.
    """
    if recipe.schedule not in ("constant", "cosine"):
        raise ValueError(f"schedule must be 'constant' or 'cosine', got {recipe.schedule!r}")
    folder = Path(out) if out else results_folder()
    path = folder / f"{recipe.name}-s{seed}.json"
    configuration = json.loads(json.dumps(asdict(recipe)))
    if path.exists() and json.loads(path.read_text())["configuration"] == configuration:
        return path
    try:
        torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device must be one that torch knows, got {device!r}") from error
    code = commit()  # of the code that runs: the checkout may move on meanwhile
    model, task = build(recipe, seed)
    # A checkpoint of the same recipe with other settings must not be taken up.
    digest = hashlib.sha256(json.dumps(configuration, sort_keys=True).encode()).hexdigest()
    checkpoint = folder / f".{path.stem}.{digest[:8]}.ckpt"
    diverged = None
    try:
        history = fit(
            model, task, steps=recipe.steps, batch_size=recipe.batch_size, lr=recipe.lr, clip=recipe.clip,
            schedule=warmup_cosine(recipe.steps) if recipe.schedule == "cosine" else None, seed=seed,
            device=device, eval_every=recipe.eval_every, checkpoint=checkpoint, progress=progress,
            after_step=_constrain if hasattr(model, "constrain_") else None,
        )  # fmt: skip
    except TrainingDiverged as error:
        history, diverged = error.history, {"step": error.step, "reason": str(error).partition(";")[0]}
    record = {
        "format": 1,
        "recipe": recipe.name,
        "configuration": configuration,
        "seed": seed,
        "commit": code,
        "versions": {
            "python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__,
            "rtx_lib": rtx_lib.__version__,
        },
        "device": {
            "name": torch.cuda.get_device_name(device) if device.startswith("cuda") else "CPU",
            "threads": torch.get_num_threads(),
        },
        "seconds": round(history.seconds, 1),
        "parameters": parameter_count(model),
        "curves": {
            name: thin(getattr(history, name)) for name in ("step", "loss", "gradient_norm", "lr")
        },
        "evaluations": [finite(row) for row in history.evaluations],
        "metrics": {} if diverged else finite(evaluate(model, task, "test", device=device)),
        "baselines": task.baselines(),
        "diverged": diverged,
    }  # fmt: skip
    with in_one_step(path) as temporary:
        temporary.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n")
    for made in folder.glob(f".{path.stem}.*.ckpt"):
        made.unlink(missing_ok=True)
    return path


def _constrain(step: int, model: Any, loss: float) -> None:
    model.constrain_()


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rtx_lib.experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name every recipe and say which seeds have a record")
    runner = commands.add_parser("run", help="train a recipe and write its records")
    runner.add_argument("recipe")
    runner.add_argument("--seed", type=int, nargs="+", default=[0])
    runner.add_argument("--out", help="folder of the records (default: the book's)")
    runner.add_argument("--device", default="cpu")
    runner.add_argument("--threads", type=int, default=1, help="torch threads (default 1)")
    options = parser.parse_args(arguments)
    if options.command == "list":
        for recipe in RECIPES.values():
            seeds = " ".join(str(r["seed"]) for r in load_records(recipe.name)) or "none"
            print(f"{recipe.name:24} {recipe.about} (records of seeds: {seeds})")
        return 0
    if options.recipe not in RECIPES:
        print(f"unknown recipe {options.recipe!r}; known: {', '.join(RECIPES)}", file=sys.stderr)
        return 2
    torch.set_num_threads(options.threads)
    for seed in options.seed:
        path = run(RECIPES[options.recipe], seed, out=options.out, device=options.device)
        print(path, json.dumps(json.loads(path.read_text())["metrics"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
