"""Recipes of the forecasters that go on in the page with what the reader draws."""

from typing import Any

from .recipe import COSINE, Recipe

ABOUT: dict[str, tuple[str, dict[str, Any]]] = {
    "nlinear": ("NLinear", {"core": "nlinear"}),
    "gru": ("GRU", {"core": "gru", "norm": "instance"}),
    "gru-level": ("GRU, level left in", {"core": "gru", "norm": None}),
    "transformer": ("Transformer", {"core": "transformer", "norm": "instance"}),
}
"""What the panel calls each, and its arguments."""


def _drawn(name: str, about: str, how: dict[str, Any]) -> Recipe:
    lr, settings = 2e-3 if name == "transformer" else 4e-3, COSINE | {"warmup": 100, "eval_every": 1000}
    words = f"{about}, on made series"
    return Recipe(f"drawn-{name}", words, "forecaster", "made-series", 3000, 128, lr, how, **settings)


RECIPES = [_drawn(name, *told) for name, told in ABOUT.items()]
