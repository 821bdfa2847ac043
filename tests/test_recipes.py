"""Recipes: what they name exists, and what they repeat is the same."""

from types import SimpleNamespace

import pytest

from rtx_lib.experiments import MODELS, TASKS
from rtx_lib.layers import positions
from rtx_lib.recipes import RECIPES
from rtx_lib.recipes.attention import SCHEMES
from rtx_lib.training import parameter_count


def test_the_lab_has_every_position_scheme():
    assert set(SCHEMES) == set(positions.SCHEMES)


def test_names_exist():
    for recipe in RECIPES.values():
        assert recipe.model in MODELS and recipe.task in TASKS
        assert recipe.equal_time is None or RECIPES[recipe.equal_time].steps == recipe.steps


@pytest.mark.parametrize(
    ("prefix", "sizes"),
    [
        ("nottingham-", {"input_size": 88, "output_size": 88, "vocabulary": None}),
        ("jsb-", {"input_size": 88, "output_size": 88, "vocabulary": None}),
        ("ptb-char-", {"input_size": 49, "output_size": 49, "vocabulary": 49}),
    ],
)
def test_models_that_are_compared_have_equal_parameters(prefix, sizes):
    task = SimpleNamespace(**sizes)
    recipes = [recipe for name, recipe in RECIPES.items() if name.startswith(prefix)]
    counts = {r.name: parameter_count(MODELS[r.model](task, **r.model_arguments)) for r in recipes}
    ours = counts[f"{prefix}r-transformer"]
    assert len(counts) > 3 and all(abs(count / ours - 1) < 0.03 for count in counts.values()), counts


@pytest.mark.parametrize(
    ("name", "sizes", "live"),
    [
        ("mnist", (1, 10, None), 204_426),
        ("nottingham", (88, 88, None), 1_420_888),
        ("ptb-char", (49, 49, 49), 14_213_169 - 49),  # a tied readout of ours has no bias
        ("ptb-word", (10_000, 10_000, 10_000), 2_281_872 - 10_000),
    ],
)
def test_published_sizes_are_those_of_the_authors_live_parameters(name, sizes, live):
    """All parameters with a gradient, embeddings included."""
    recipe = RECIPES[f"paper-{name}"]
    task = SimpleNamespace(**dict(zip(("input_size", "output_size", "vocabulary"), sizes, strict=True)))
    model = MODELS[recipe.model](task, **recipe.model_arguments)
    assert sum(p.numel() for p in model.parameters()) == live


@pytest.mark.parametrize("name", ["ptb-char", "ptb-word"])
def test_published_recipes_drop_embedded_ids_as_the_authors_wrappers_do(name):
    assert RECIPES[f"paper-{name}"].model_arguments["embedding_dropout"] == 0.15
