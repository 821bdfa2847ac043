"""Recipes of captions: a language model that is told a picture once, at every step, or by attention."""

from dataclasses import replace
from typing import Any

from .recipe import COSINE, Recipe
from .returns import trials

ABOUT = {"first": "told once, before the first word", "every": "told at every word", "attention": "that looks back"}
RATES = {"first": 1e-2, "every": 1e-2, "attention": 1e-2}


def _told(way: str, lr: float) -> Recipe:
    settings: dict[str, Any] = COSINE | {"warmup": 50, "eval_every": 800}
    settings["elsewhere"] = {str(n): {"count": [n, n]} for n in (2, 3)}
    about = f"LSTM {ABOUT[way]}, on scenes of digits"
    return Recipe(f"scenes-{way}", about, "captioner", "scenes", 3200, 32, lr, {"told": way}, **settings)


RECIPES = [_told(way, lr) for way, lr in RATES.items()]
TUNED = [replace(recipe, steps=recipe.steps // 8) for recipe in RECIPES]
"""What tries rates: the same training, an eighth as long."""

TRIALS = trials(TUNED)
