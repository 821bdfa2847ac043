"""Recipes of the forecasters that go on in the page with what the reader draws."""

from typing import Any

from .recipe import COSINE, Recipe

ABOUT: dict[str, tuple[str, float, dict[str, Any]]] = {
    "nlinear": ("NLinear", 4e-3, {"core": "nlinear"}),
    "gru": ("GRU", 4e-3, {"core": "gru", "norm": "instance"}),
    "gru-level": ("GRU, level left in", 4e-3, {"core": "gru", "norm": None}),
    "transformer": ("Transformer", 2e-3, {"core": "transformer", "norm": "instance"}),
}
"""What the panel calls each, its rate, and its arguments."""

_HOW: dict[str, Any] = COSINE | {"steps": 3000, "batch_size": 128, "warmup": 100, "eval_every": 1000}
RECIPES = [
    Recipe(f"drawn-{name}", f"{about}, on made series", "forecaster", "made-series", lr=lr, model_arguments=how, **_HOW)
    for name, (about, lr, how) in ABOUT.items()
]
