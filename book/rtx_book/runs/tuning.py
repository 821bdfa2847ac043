"""How models come to their rates: which runs follow from the records that are there, and which rate won.

The race's rules stand in :mod:`rtx_book.runs.recipes.race`. A run is judged on the validation split, by the loss
that is trained, because a model at chance has an accuracy of chance at any rate, or by what its recipe keeps.
"""

import itertools
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rtx_book.records.records import Record
from rtx_book.runs.recipes import NEAR, TUNED, Recipe, returns, rope, scenes, series
from rtx_book.runs.recipes import pretraining as texts
from rtx_book.runs.recipes import race as plan
from rtx_book.runs.recipes.recipe import AGAIN_SEEDS, GRID, again, around
from rtx_book.runs.runs import made

Runs = list[tuple[Recipe, int]]

SEED = returns.TUNING_SEEDS[:1]


def loss(record: Record, recipe: Recipe) -> float:
    """By which a run is judged: that of the model which is tested; infinite for a run that diverged.

    The model tested is that of the best evaluation where the recipe keeps it, else that of the last one.
    """
    metric = recipe.keep_best or ("mse" if recipe.task == "adding" else "loss")
    losses = [row.get(metric, float("inf")) for row in record["evaluations"]]
    return float("inf") if record["diverged"] else min(losses) if recipe.keep_best else losses[-1]


def ranked(losses: Mapping[float, float]) -> list[float]:
    """The rates by their losses, the best first; of equal ones the lower first."""
    return sorted(losses, key=lambda lr: (losses[lr], lr))


def beyond(lr: float, tried: Iterable[float], grid: Sequence[float] = GRID) -> float | None:
    """The next rate of the grid on the side on which none was tried; None for a rate with tried ones around it."""
    tried, place = set(tried), grid.index(lr)
    sides = [grid[i] for i in (place - 1, place + 1) if 0 <= i < len(grid)]
    return next((other for other in sides if other not in tried), None)


def finalists(losses: Mapping[float, float]) -> list[float]:
    """The two best rates, and the one between them where only one is left out there."""
    best = ranked(losses)[:2]
    between = GRID[GRID.index(min(best)) + 1 : GRID.index(max(best))] if len(best) > 1 else []
    return [*best, *between] if len(between) == 1 else best


def tuned(task: str, lane: str, folder: Path) -> tuple[float | None, Runs]:
    """The rate that a lane has won with on a task, None while runs are missing that decide it, and the next runs.

    Parameters
    ----------
    task, lane
        A cell of the race.
    folder
        Where the records are.
    """
    tried, missing = _searched(plan.RATES, partial(plan.trial, task, lane), (0,), folder)
    finals = finalists(tried)
    *first, third = plan.FINAL_SEEDS
    while not missing:
        recipes = {lr: plan.race(task, lane, lr) for lr in finals}
        if missing := _missing(recipes.values(), first, folder):
            break
        found = {lr: _losses(own, first, folder) for lr, own in recipes.items()}
        # Whoever has two seeds behind both of another has the worse median, whatever the third ones say.
        least = min(max(own) for own in found.values())
        left = {lr: recipes[lr] for lr, own in found.items() if min(own) <= least}
        if missing := _missing(left.values(), [third], folder):
            break
        won = ranked({lr: statistics.median(_losses(own, plan.FINAL_SEEDS, folder)) for lr, own in left.items()})[0]
        further = beyond(won, (*tried, *finals))
        if further is None:
            return won, _missing([recipes[won]], plan.SEEDS[len(plan.FINAL_SEEDS) :], folder)
        finals.append(further)
    return None, missing


def large_tuned(task: str, lane: str, folder: Path) -> tuple[float | None, Runs]:
    """As :func:`tuned`, of a larger model.

    It tries the rate of the small one and both its neighbours with one seed, where the best is the last of its side the
    next one beyond it, too; the best is run with all seeds.
    """
    small, _ = tuned(task, lane, folder)
    if small is None:
        return None, []
    place = GRID.index(small)
    rates = GRID[max(0, place - 1) : place + 2]
    tried, missing = _searched(rates, partial(plan.large, task, lane), plan.SEEDS[:1], folder)
    if missing:
        return None, missing
    won = ranked(tried)[0]
    return won, _missing([plan.large(task, lane, won)], plan.SEEDS, folder)


def repeated(task: str, lane: str, folder: Path) -> tuple[list[Recipe], Runs]:
    """What a lane runs again, nothing while its rate is not decided, and the runs of it that are missing."""
    won, _ = tuned(task, lane, folder)
    sets = plan.AGAIN[task, lane]
    recipes = [] if won is None else [again(plan.race(task, lane, won), own) for own in sets]
    return recipes, _missing(recipes, AGAIN_SEEDS[: 10 * len(sets)], folder)


def returned(
    trials: Mapping[float, Recipe], folder: Path, seeds: Sequence[int] = returns.TUNING_SEEDS, near: float = 1e-3
) -> tuple[float | None, Runs]:
    """The rate of the trial of the least median loss, or the middle one of ``RATES`` if that comes as ``near``.

    It is None while runs are missing that decide it; these are returned beside it.
    """
    tried, missing = _searched(returns.RATES, trials.__getitem__, seeds, folder)
    if missing:
        return None, missing
    won, middle = ranked(tried)[0], returns.RATES[1]
    return middle if tried[middle] <= tried[won] + near else won, []


def series_rate(recipe: Recipe, folder: Path) -> tuple[float | None, Runs]:
    """The rate of a forecaster: that of the least loss, whatever the units."""
    return returned(around(recipe), folder, SEED, near=0.0)


def nearest(recipe: Recipe, folder: Path) -> tuple[float | None, Runs]:
    """The rate next to the one in use, or itself, among those within 0.5 % or 0.001 of the least loss.

    Tried are that in use, the two beside it, and those beyond while the last one would win.
    """
    trials, tried = around(recipe), dict[float, float]()
    grid = [*trials]
    place = grid.index(recipe.lr)
    rates = grid[place - 1 : place + 2]
    while True:
        if missing := _missing([trials[lr] for lr in rates], SEED, folder):
            return None, missing
        tried |= {lr: _losses(trials[lr], SEED, folder)[0] for lr in rates}
        least = min(tried.values())
        equal = [lr for lr, found in tried.items() if found <= least + max(0.005 * least, 1e-3)]
        won = min(equal, key=lambda lr: abs(grid.index(lr) - place))
        if (further := beyond(won, tried, grid)) is None:
            return won, []
        rates = [further]


def _searched(
    rates: Iterable[float], trial: Callable[[float], Recipe], seeds: Sequence[int], folder: Path
) -> tuple[dict[float, float], Runs]:
    """The median loss by rate, of these rates and beyond the best one while it is the last; none while runs miss."""
    tried: dict[float, float] = {}
    while rates:
        trials = {lr: trial(lr) for lr in rates}
        if missing := _missing(trials.values(), seeds, folder):
            return {}, missing
        tried |= {lr: statistics.median(_losses(own, seeds, folder)) for lr, own in trials.items()}
        further = beyond(ranked(tried)[0], tried)
        rates = [] if further is None else [further]
    return tried, []


def _losses(recipe: Recipe, seeds: Iterable[int], folder: Path) -> list[float]:
    """What the runs of a recipe, which are all there, are judged by."""
    return [loss(made(folder, recipe, seed)[1] or {}, recipe) for seed in seeds]


def _missing(recipes: Iterable[Recipe], seeds: Iterable[int], folder: Path) -> Runs:
    pairs = itertools.product(recipes, seeds)
    return [(recipe, seed) for recipe, seed in pairs if made(folder, recipe, seed)[1] is None]


def _lengthened(task: str, lane: str, folder: Path) -> tuple[None, Runs]:
    won, _ = tuned(task, lane, folder)
    recipes = [] if won is None else [plan.race(task, lane, won, length) for length in plan.LENGTHS[task][::2]]
    return None, _missing(recipes, plan.FINAL_SEEDS, folder)


def _in_order(rule: Callable[..., tuple[Any, Runs]], cells: Iterable[tuple[str, str]], folder: Path) -> Runs:
    """What follows of several cells by a rule, the trials first, then seed by seed."""
    runs = [run for task, lane in cells for run in rule(task, lane, folder)[1]]
    return sorted(runs, key=lambda run: (not run[0].name.startswith("trial-"), run[1]))


def next_runs(folder: Path) -> Runs:
    """All runs of the race that follow from the records in ``folder``, the trials first."""
    return _in_order(tuned, plan.CELLS, folder)


def next_trials(folder: Path) -> Runs:
    """Those of them that are trials."""
    return [run for run in next_runs(folder) if run[0].name.startswith("trial-")]


def next_lengths(folder: Path) -> Runs:
    """Runs of other lengths, at the rates that are decided."""
    return _in_order(_lengthened, itertools.product(plan.LENGTHS, plan.LANES), folder)


def next_large(folder: Path) -> Runs:
    """Runs of larger models that follow from the records in ``folder``."""
    return _in_order(large_tuned, itertools.product(plan.LARGE_TASKS, plan.LARGE), folder)


def next_rates(folder: Path) -> Runs:
    """Trials of what is ``TUNED``, of captions and of word vectors, seed by seed."""
    own = [returned(around(one, eval_batches=4), folder, seeds)[1] for seeds, of in TUNED.items() for one in of]
    own += [returned(scenes.trials(recipe), folder, scenes.SEEDS)[1] for recipe in scenes.RECIPES]
    own += [returned(rope.trials(recipe), folder, rope.SEEDS)[1] for recipe in rope.RECIPES]
    own += [series_rate(recipe, folder)[1] for recipe in series.TUNED]
    own.append(_missing(texts.TRIALS, returns.TUNING_SEEDS, folder))
    own += [nearest(recipe, folder)[1] for recipe in NEAR]
    return sorted(itertools.chain(*own), key=lambda run: run[1])


def next_pretrained(folder: Path) -> Runs:
    """What pre-trains, with one seed, and word vectors with several."""
    return _missing(texts.PRETRAINED, (0,), folder) + _missing(texts.VECTORS, texts.SEEDS, folder)


def next_again(folder: Path) -> Runs:
    """Runs with fresh seeds, of the cells of the race that are in ``AGAIN``, then of mixers."""
    lanes = _in_order(repeated, plan.AGAIN, folder)
    return lanes + sorted(_missing(returns.REPEATED, AGAIN_SEEDS, folder), key=lambda run: run[1])
