"""Recipes of the rope: models of about 40,000 parameters that repeat a word behind noise."""

from dataclasses import replace
from typing import Any

from .recipe import COSINE, Recipe
from .returns import RATES, TUNING_SEEDS
from .returns import trial as tried

# Stacks in which only the mixer differs; before each mixer stands a short convolution. Cells are one layer.
_STACK: dict[str, Any] = {"width": 48, "layers": 2, "kernel_size": 4}
_ATTENTION: dict[str, Any] = _STACK | {"mixer": "attention"}
_CELL, _MIXER = {"steps": 2000}, {"steps": 600}
_TRIED = {2000: 1000, 600: 400}  # steps of a trial
PAUSES, WORDS = (0, 60, 120, 250, 500), (3, 6, 9, 12, 16, 24)
"""At which a model is tested: steps of noise behind six letters, and letters before 30 steps."""
_TESTED = {f"pause {pause}": {"letters": [6, 6], "pause": [pause, pause]} for pause in PAUSES}
_TESTED |= {f"letters {count}": {"letters": [count, count], "pause": [30, 30]} for count in WORDS}
_HOW: dict[str, Any] = COSINE | {"batch_size": 32, "warmup": 50, "curve_points": 1, "eval_batch_size": 50}

# Rate of the least loss on the validation split, after fewer steps and with a seed that is not shown.
MODELS: dict[str, tuple[str, str, float, dict[str, int], dict[str, Any]]] = {
    "rnn": ("tanh RNN", "rnn", 1e-2, _CELL, {"hidden_size": 168}),
    "gru": ("GRU", "gru", 1e-2, _CELL, {"hidden_size": 96}),
    "lstm": ("LSTM", "lstm", 1e-2, _CELL, {"hidden_size": 80, "backend": "torch"}),
    "linear": (
        "Linear attention",
        "mixers",
        1e-2,
        _MIXER,
        _STACK | {"mixer": "linear-attention", "options": {"heads": 4}},
    ),
    "delta": (
        "DeltaNet",
        "mixers",
        1e-2,
        _MIXER,
        _STACK | {"mixer": "delta-net", "options": {"heads": 2, "kernel_size": None}},
    ),
    "transformer": ("Transformer", "mixers", 1e-2, _MIXER, _ATTENTION | {"options": {"heads": 4}}),
    "alibi": (
        "Transformer, ALiBi",
        "mixers",
        1e-2,
        _MIXER,
        _ATTENTION | {"options": {"heads": 4, "positions": "alibi"}},
    ),
}
RECIPES = [
    Recipe(
        f"rope-{name}",
        f"{about}, a word behind noise",
        model,
        "copy-behind-noise",
        lr=lr,
        model_arguments=how,
        elsewhere=_TESTED,
        eval_every=steps["steps"],
        **steps,
        **_HOW,
    )
    for name, (about, model, lr, steps, how) in MODELS.items()
]
SHOWN: dict[str, int] = {}
"""The seed whose weights the page has, where it is not 0: the middle one of five."""
SEEDS = TUNING_SEEDS[:1]
"""The seed that tries rates."""


def trial(recipe: Recipe, lr: float) -> Recipe:
    """A shorter training at one rate."""
    return replace(tried(replace(recipe, steps=_TRIED[recipe.steps]), lr), eval_batches=None)


TRIALS = [trial(recipe, lr) for recipe in RECIPES for lr in (3e-4, 1e-3, *RATES, 1e-1)]
