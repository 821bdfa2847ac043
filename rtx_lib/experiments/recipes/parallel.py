"""Recipes of the chapter on models that read in parallel, without recurrence."""

from typing import Any

from .recipe import COSINE, Recipe

# --- binary addition: Neural GPU, GRU, QRNN

# --- stories: memory networks

# --- sentiment

# --- number words: ByteNet and ConvS2S

RECIPES: list[Recipe] = [
    # --- binary addition
    # --- stories
    # --- sentiment
    # --- number words
]
