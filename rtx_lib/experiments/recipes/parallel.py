"""Recipes of the chapter on models that read in parallel, without recurrence."""

from dataclasses import replace
from typing import Any

from . import attention
from .recipe import COSINE, Recipe

# --- binary addition: Neural GPU, GRU, QRNN

# --- stories: memory networks

# --- sentiment

# --- number words: ByteNet and ConvS2S


def _digits_of(model: str, about: str, lr: float, **arguments: Any) -> Recipe:
    """English number words to digits as in chapter 5: only the model and its rate are others."""
    like = next(recipe for recipe in attention.RECIPES if recipe.name == "numbers-additive")
    about = f"{about} from number words to digits"
    return replace(like, name=f"numbers-{model}", about=about, model=model, lr=lr, model_arguments=arguments)


RECIPES: list[Recipe] = [
    # --- binary addition
    # --- stories
    # --- sentiment
    # --- number words
    # 101,462 and 98,828 parameters outside the tables, where numbers-additive has 100,622.
    _digits_of("bytenet", "ByteNet", 3e-3, width=72),
    _digits_of("convs2s", "ConvS2S", 3e-3, width=40, encoder=[[40, 3]] * 4, decoder=[[40, 3]] * 4, length=128),
]
