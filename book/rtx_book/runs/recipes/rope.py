"""Recipes of the rope: models of about 40,000 parameters that repeat a word behind noise."""

from dataclasses import replace
from typing import Any

from rtx_book.paths import texts

from .recipe import COSINE, Recipe, around
from .returns import TUNING_SEEDS

_TABLE = texts("runs/recipes/rope.json")
MODELS: dict[str, dict[str, Any]] = _TABLE["models"]
"""By the ends of their recipes' names. The rate is that of the least loss on the validation split, after fewer steps
and with a seed that is not shown."""
# Stacks in which only the mixer differs, before which stands a short convolution; cells, which are one layer, take more
# steps. Tested with six letters behind each pause, and with each number of letters before 30 steps of noise.
_STACK: dict[str, Any] = {"width": 48, "layers": 2, "kernel_size": 4}
_STEPS, _TRIED = {True: 600, False: 2000}, {600: 400, 2000: 1000}
_TESTED = {f"pause {pause}": {"letters": [6, 6], "pause": [pause, pause]} for pause in _TABLE["tested"]["pause"]}
_TESTED |= {f"letters {n}": {"letters": [n, n], "pause": [30, 30]} for n in _TABLE["tested"]["letters"]}
_HOW: dict[str, Any] = COSINE | {"batch_size": 32, "warmup": 50, "curve_points": 1, "eval_batch_size": 50}


def _recipe(key: str) -> Recipe:
    own, stack = MODELS[key], "model" not in MODELS[key]
    how, steps = (_STACK if stack else {}) | own["model_arguments"], _STEPS[stack]
    named = (f"rope-{key}", f"{own['name']}, a word behind noise", own.get("model", "mixers"), "copy-behind-noise")
    short: dict[str, Any] = _HOW | {"elsewhere": _TESTED, "eval_every": steps}
    return Recipe(*named, lr=own["lr"], steps=steps, model_arguments=how, **short)


RECIPES = [_recipe(key) for key in MODELS]
SEEDS = TUNING_SEEDS[:1]
"""The seed that tries rates."""


def trials(recipe: Recipe) -> dict[float, Recipe]:
    """A shorter training at each rate."""
    return around(replace(recipe, steps=_TRIED[recipe.steps]), eval_batches=None)


TRIALS = [trial for recipe in RECIPES for trial in trials(recipe).values()]
