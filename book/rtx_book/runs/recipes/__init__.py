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
from .recipe import GRID, Recipe, around, recipe_of

_LATER = (state_space, hybrids, returns, series, drawn, rope)
_PARTS = (recurrence, topics, scenes, attention, between, parallel, pretraining, orders, *_LATER)

RECIPES: dict[str, Recipe] = {recipe.name: recipe for part in _PARTS for recipe in part.RECIPES}

NEAR = [recipe for part in (orders, parallel, recurrence, between, attention, pretraining) for recipe in part.TUNED]
"""What has the best rate near its own (:func:`rtx_book.runs.tuning.nearest`), as what is one change away from it."""

TUNED = {
    returns.TUNING_SEEDS: [*topics.TUNED, *state_space.TUNED, *hybrids.RECIPES],
    returns.TUNING_SEEDS[:1]: [*returns.TUNED, *parallel.ADDERS, *recurrence.TRANSLATORS],
}
"""What comes to its rate as :func:`rtx_book.runs.tuning.returned` says, by the seeds of its trials."""

TRIALS = [*pretraining.TRIALS, *rope.TRIALS, *scenes.TRIALS]
TRIALS += [trial for own in TUNED.values() for one in own for trial in around(one, eval_batches=4).values()]
TRIALS += [trial for one in (*NEAR, *series.TUNED) for trial in around(one).values()]
BESIDE = {recipe.name: recipe for recipes in (TRIALS, race.RECIPES, returns.REPEATED) for recipe in recipes}
"""Runs by which rates are chosen, and all that may follow from them; most are never made."""
