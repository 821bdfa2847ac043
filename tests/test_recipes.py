"""Recipes: what they name exists, and what they repeat is the same."""

from rtx_lib.experiments import MODELS, TASKS
from rtx_lib.layers import positions
from rtx_lib.recipes import RECIPES
from rtx_lib.recipes.attention import SCHEMES


def test_the_lab_has_every_position_scheme():
    assert set(SCHEMES) == set(positions.SCHEMES)


def test_names_exist():
    for recipe in RECIPES.values():
        assert recipe.model in MODELS and recipe.task in TASKS
        assert recipe.equal_time is None or RECIPES[recipe.equal_time].steps == recipe.steps
