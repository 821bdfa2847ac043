"""What a recipe is: a model, a task and a budget, named so that a record can hold them."""

import json
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

SEED = "of the run"


@dataclass(frozen=True, repr=False)
class Recipe:
    """One training run up to its seed: names in ``MODELS`` and ``TASKS`` with their arguments, and the budget.

    A task's argument that is ``SEED`` is the run's own: so each run draws other labels.

    ``lr`` is that of the ``optimizer``, "adam" or "sgd", and ``slow_lr`` that of the parameters whose names match a
    pattern in ``slow``, such as "units.*.u"; ``clip`` is the largest gradient norm or None. With a ``weight_decay`` it
    is AdamW, and matrices alone decay. ``schedule`` is "constant", "cosine" (down to ``floor``,
    after ``warmup`` steps), or divides the rate by ``drop``: "staircase" every ``drop_every`` steps, "plateau" when an
    evaluation is no better than the worst of the ``drop_every`` before it, the first ``drop_after`` spared.

    Evaluations take all of "valid", or ``eval_batches`` batches of ``eval_batch_size``. With ``keep_best`` the model
    tested is that of the evaluation with the least value of this metric.

    With a ``stream_length`` the model is trained on ``batch_size`` and tested on ``eval_batch_size`` contiguous
    streams in pieces of that length, and its state is carried from one to the next.

    ``elsewhere`` names variants of the task, as changes of its arguments, on which the trained model is tested too;
    ``tested_with`` names settings, as values of the trained model's attributes and of ``stream_length``, with which it
    is tested once more.
    ``equal_time`` names a recipe beside which this one is trained step by step, at equal wall time: ``steps`` must be
    that recipe's, and the schedule follows its progress, but how many steps are made depends on their cost.
    ``probed`` names tasks, with their arguments, whose labels are read off each layer of the trained model by
    :func:`rtx_lib.diagnostics.probe.class_probe`, or for a table of vectors compared between neighbours.
    ``curve_points`` is how many points of each curve the record keeps at most.
    ``instructions`` names the one set of :data:`rtx_book.runs.instructions.SETS` that the run may use; "": any.
    """

    name: str
    about: str = field(compare=False)  # words, which leave a run as it was
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
    slow: list[str] = field(default_factory=list)
    slow_lr: float | None = None
    warmup: int = 0
    floor: float = 0.0
    betas: list[float] = field(default_factory=lambda: [0.9, 0.999])
    weight_decay: float = 0.0
    elsewhere: dict[str, dict[str, Any]] = field(default_factory=dict)
    equal_time: str | None = None
    optimizer: str = "adam"
    drop: float = 10.0
    drop_every: int = 0
    drop_after: int = 0
    eval_batches: int | None = None
    eval_batch_size: int = 250
    keep_best: str | None = None
    stream_length: int | None = None
    tested_with: dict[str, dict[str, Any]] = field(default_factory=dict)
    curve_points: int = 200
    probed: dict[str, dict[str, Any]] = field(default_factory=dict)
    instructions: str = ""

    def __repr__(self) -> str:
        """What is set and differs from its default, so that a setting added later leaves older recipes as they were."""
        said = []
        for one in fields(self):
            default = one.default if one.default_factory is MISSING else one.default_factory()
            if (value := getattr(self, one.name)) != default:
                said.append(f"{one.name}={value!r}")
        return f"Recipe({', '.join(said)})"


def table(name: str) -> dict[str, Any]:
    """What a module of recipes leaves to the JSON file beside it: names, sizes, budgets, rates."""
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


COSINE: dict[str, Any] = {"clip": 1.0, "schedule": "cosine"}
"""How most recipes are trained."""


AGAIN_SETS = ("avx2", "default")
"""The instructions with which runs are made again: two sets that every x86 processor of the last ten years has."""

AGAIN_SEEDS = tuple(range(5, 25))
"""Seeds that no rate was chosen by."""


def again(recipe: Recipe, instructions: str) -> Recipe:
    """The same training with seeds that chose nothing, on one set of the processor's instructions.

    Its name begins with "again-" and the set. Of the way to its end the record keeps nothing.
    """
    short: dict[str, Any] = {"curve_points": 1} | ({} if recipe.keep_best else {"eval_every": recipe.steps})
    about = f"{recipe.about}, again with instructions {instructions}"
    return replace(recipe, name=f"again-{instructions}-{recipe.name}", about=about, instructions=instructions, **short)


GRID = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)


def around(recipe: Recipe, **changes: Any) -> dict[float, Recipe]:
    """The whole training at each rate of a grid through the recipe's own, judged on the validation split.

    The grid is ``GRID``, or two or five times that. A text that has none gets a validation split before its test text.
    ``changes`` are of the recipe, too.
    """
    grids = [[float(f"{scale * lr:g}") for lr in GRID] for scale in (1, 2, 5)]
    short: dict[str, Any] = {"elsewhere": {}, "tested_with": {}, "curve_points": 1}
    short |= {} if recipe.keep_best else {"eval_every": recipe.steps}
    short |= ({"task": "text-in-three"} if recipe.task == "text" else {}) | changes
    return {
        lr: replace(recipe, name=f"rate-{recipe.name}-{lr:g}", about=f"{recipe.about}, rate {lr:g}", lr=lr, **short)
        for lr in next(grid for grid in grids if recipe.lr in grid)
    }


def recipe_of(record: dict[str, Any]) -> Recipe:
    """The recipe that a record was made by; settings that are newer than the record have their defaults."""
    return Recipe(**record["configuration"])
