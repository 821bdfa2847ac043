"""Recipes of the part between recurrence and attention, chapters 8 and 9."""

from .recipe import Recipe

RECIPES: list[Recipe] = []
