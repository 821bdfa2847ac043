"""What is trained for the records: for each recipe a model, a task and a budget, part by part of the book.

:mod:`rtx_book.runs.runs` runs them.
"""

from . import (
    attention,
    between,
    drawn,
    hybrids,
    orders,
    parallel,
    pretraining,
    race,
    recurrence,
    returns,
    rope,
    scenes,
    series,
    state_space,
    topics,
)
from .recipe import Recipe, around, recipe_of

_TRIED = (hybrids, parallel, pretraining, recurrence, returns, rope, scenes, series, state_space, topics)
_LATER = (state_space, hybrids, returns, series, drawn, rope)
_PARTS = (recurrence, topics, scenes, attention, between, parallel, pretraining, orders, *_LATER)

RECIPES: dict[str, Recipe] = {recipe.name: recipe for part in _PARTS for recipe in part.RECIPES}

NEAR = [recipe for part in (orders, parallel, recurrence, between, attention, pretraining) for recipe in part.TUNED]
"""What has the best rate near its own (:func:`rtx_book.runs.tuning.nearest`), as what is one change away from it."""

BESIDE: dict[str, Recipe] = {
    recipe.name: recipe
    for recipes in (
        *(part.TRIALS for part in _TRIED),
        race.RECIPES,
        returns.REPEATED,
        *(around(recipe).values() for recipe in NEAR),
    )
    for recipe in recipes
}
"""Runs by which rates are chosen, and all that may follow from them; most are never made."""
