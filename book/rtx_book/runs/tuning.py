"""How a lane of the race comes to its rate: which runs follow from the records that are there, and which rate won.

The rules stand in :mod:`rtx_book.runs.recipes.race`. A run is judged on the validation split, by the loss
that is trained, because a model at chance has an accuracy of chance at any rate.
"""

import itertools
import statistics
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rtx_book.paths import runs_folder
from rtx_book.records.records import Record
from rtx_book.runs.recipes import Recipe, hybrids, parallel, returns, scenes, state_space, topics
from rtx_book.runs.recipes import race as plan
from rtx_book.runs.recipes.recipe import AGAIN_SEEDS, AGAIN_SETS, again
from rtx_book.runs.runs import made

GRID = sorted((*plan.RATES, *plan.BEYOND))
Runs = list[tuple[Recipe, int]]

TUNED = {
    returns.TUNING_SEEDS: [*topics.TUNED, *state_space.TUNED, *hybrids.TUNED],
    returns.TUNING_SEEDS[:1]: [*returns.TUNED, *parallel.ADDERS, hybrids.LONGER],
}
"""What comes to its rate as :func:`returned` says, by the seeds of its trials."""


def loss(record: Record, recipe: Recipe) -> float:
    """By which a run is judged: that of the model which is tested; infinite for a run that diverged.

    The model tested is that of the best evaluation where the recipe keeps it, else that of the last one.
    """
    metric = "mse" if recipe.task == "adding" else "loss"
    losses = [row.get(metric, float("inf")) for row in record["evaluations"]]
    return float("inf") if record["diverged"] else min(losses) if recipe.keep_best else losses[-1]


def ranked(losses: Mapping[float, float]) -> list[float]:
    """The rates by their losses, the best first; of equal ones the lower first."""
    return sorted(losses, key=lambda lr: (losses[lr], lr))


def beyond(lr: float, tried: Iterable[float]) -> float | None:
    """The next rate of the grid on the side on which none was tried; None for a rate with tried ones around it."""
    tried, place = set(tried), GRID.index(lr)
    sides = [GRID[i] for i in (place - 1, place + 1) if 0 <= i < len(GRID)]
    return next((other for other in sides if other not in tried), None)


def finalists(losses: Mapping[float, float]) -> list[float]:
    """The two best rates, and the one between them where only one is left out there."""
    best = ranked(losses)[:2]
    between = GRID[GRID.index(min(best)) + 1 : GRID.index(max(best))] if len(best) > 1 else []
    return [*best, *between] if len(between) == 1 else best


def tuned(task: str, lane: str, folder: Path | None = None) -> tuple[float | None, Runs]:
    """The rate that a lane has won with on a task, None while runs are missing that decide it, and the next runs.

    Parameters
    ----------
    task, lane
        A cell of the race.
    folder
        Where the records are; the book's results if None.
    """
    folder = folder or runs_folder()

    def losses(recipe: Recipe, seeds: Iterable[int], next_runs: Runs) -> list[float]:
        found = []
        for seed in seeds:
            _, record = made(folder, recipe, seed)
            if record is None:
                next_runs.append((recipe, seed))
            else:
                found.append(loss(record, recipe))
        return found

    def trials(rates: Iterable[float], next_runs: Runs) -> dict[float, float]:
        own = {lr: losses(plan.trial(task, lane, lr), (0,), next_runs) for lr in rates}
        return {lr: found[0] for lr, found in own.items() if found}

    next_runs: Runs = []
    tried = trials(plan.RATES, next_runs)
    while not next_runs and (further := beyond(ranked(tried)[0], tried)):
        tried |= trials([further], next_runs)
    finals = finalists(tried)
    *first, third = plan.FINAL_SEEDS
    while not next_runs:
        found = {lr: losses(plan.race(task, lane, lr), first, next_runs) for lr in finals}
        if next_runs:
            break
        # Whoever has two seeds behind both of another has the worse median, whatever the third ones say.
        least = min(max(own) for own in found.values())
        left = {
            lr: own + losses(plan.race(task, lane, lr), [third], next_runs)
            for lr, own in found.items()
            if min(own) <= least
        }
        if next_runs:
            break
        won = ranked({lr: statistics.median(own) for lr, own in left.items()})[0]
        if further := beyond(won, (*tried, *finals)):
            finals.append(further)
            continue
        losses(plan.race(task, lane, won), plan.SEEDS[len(plan.FINAL_SEEDS) :], next_runs)
        return won, next_runs
    return None, next_runs


def chosen(folder: Path | None = None) -> dict[str, dict[str, float]]:
    """By task and lane the rates that are decided."""
    rates: dict[str, dict[str, float]] = {task: {} for task in plan.TASKS}
    for task, lane in plan.CELLS:
        won, _ = tuned(task, lane, folder)
        if won is not None:
            rates[task][lane] = won
    return rates


def large_tuned(task: str, lane: str, folder: Path | None = None) -> tuple[float | None, Runs]:
    """As :func:`tuned`, of a larger model.

    It tries the rate of the small one and both its neighbours with one seed, where the best is the last of its side the
    next one beyond it, too; the best is run with all seeds.
    """
    small, _ = tuned(task, lane, folder)
    if small is None:
        return None, []
    place = GRID.index(small)
    rates = GRID[max(0, place - 1) : place + 2]
    while not (missing := _missing([plan.large(task, lane, lr) for lr in rates], plan.SEEDS[:1], folder)):
        tried = {lr: plan.large(task, lane, lr) for lr in rates}
        losses = {lr: loss(made(folder or runs_folder(), own, 0)[1] or {}, own) for lr, own in tried.items()}
        won = ranked(losses)[0]
        if further := beyond(won, rates):
            rates.append(further)
            continue
        return won, _missing([tried[won]], plan.SEEDS, folder)
    return None, missing


def repeated(task: str, lane: str, folder: Path | None = None) -> tuple[list[Recipe], Runs]:
    """What a lane runs again, nothing while its rate is not decided, and the runs of it that are missing."""
    won, _ = tuned(task, lane, folder)
    recipes = [] if won is None else [again(plan.race(task, lane, won), own) for own in AGAIN_SETS]
    return recipes, _missing(recipes, AGAIN_SEEDS, folder)


def returned(
    recipe: Recipe, folder: Path | None = None, by: Any = None, seeds: Iterable[int] = returns.TUNING_SEEDS
) -> tuple[float | None, Runs]:
    """The rate of a mixer: of the least median loss; None while runs are missing that decide it, and these."""
    tried: dict[float, float] = {}
    rates: list[float] = [*returns.RATES]
    while rates:
        trials = {lr: (by or returns).trial(recipe, lr) for lr in rates}
        if missing := _missing(trials.values(), seeds, folder):
            return None, missing
        for lr, own in trials.items():
            runs = (made(folder or runs_folder(), own, seed)[1] or {} for seed in seeds)
            tried[lr] = statistics.median(loss(run, own) for run in runs)
        further = beyond(ranked(tried)[0], tried)
        rates = [] if further is None else [further]
    return ranked(tried)[0], []


def _lengthened(task: str, lane: str, folder: Path | None) -> tuple[None, Runs]:
    won, _ = tuned(task, lane, folder)
    recipes = [] if won is None else [plan.race(task, lane, won, length) for length in plan.LENGTHS[task][::2]]
    return None, _missing(recipes, plan.FINAL_SEEDS, folder)


def _missing(recipes: Iterable[Recipe], seeds: Iterable[int], folder: Path | None) -> Runs:
    pairs = itertools.product(recipes, seeds)
    return [(recipe, seed) for recipe, seed in pairs if made(folder or runs_folder(), recipe, seed)[1] is None]


def _in_order(rule: Callable[..., tuple[Any, Runs]], cells: Iterable[tuple[str, str]], folder: Path | None) -> Runs:
    """What follows of several cells by a rule, the trials first, then seed by seed."""
    runs = [run for task, lane in cells for run in rule(task, lane, folder)[1]]
    return sorted(runs, key=lambda run: (not _is_trial(run), run[1]))


def _is_trial(run: tuple[Recipe, int]) -> bool:
    return run[0].name.startswith("trial-")


def next_runs(folder: Path | None = None) -> Runs:
    """All runs of the race that follow from the records in ``folder``, the trials first."""
    return _in_order(tuned, plan.CELLS, folder)


def next_trials(folder: Path | None = None) -> Runs:
    """Those of them that are trials."""
    return [run for run in next_runs(folder) if _is_trial(run)]


def next_lengths(folder: Path | None = None) -> Runs:
    """Runs of other lengths, at the rates that are decided."""
    return _in_order(_lengthened, itertools.product(plan.LENGTHS, plan.LANES), folder)


def next_large(folder: Path | None = None) -> Runs:
    """Runs of larger models that follow from the records in ``folder``."""
    return _in_order(large_tuned, itertools.product(plan.LARGE_TASKS, plan.LARGE), folder)


def next_rates(folder: Path | None = None) -> Runs:
    """Trials of what is ``TUNED``, seed by seed."""
    own = [returned(recipe, folder, seeds=seeds)[1] for seeds, recipes in TUNED.items() for recipe in recipes]
    return sorted(itertools.chain(*own), key=lambda run: run[1])


def next_returned_again(folder: Path | None = None) -> Runs:
    """Its runs with fresh seeds, on two sets of instructions."""
    return sorted(_missing(returns.REPEATED, AGAIN_SEEDS, folder), key=lambda run: run[1])


def next_told(folder: Path | None = None) -> Runs:
    """Trials of the models that caption scenes."""
    return [run for recipe in scenes.RECIPES for run in returned(recipe, folder, scenes, scenes.SEEDS)[1]]


def next_again(folder: Path | None = None) -> Runs:
    """Runs of the lanes of ``AGAIN_TASKS`` with fresh seeds, on two sets of instructions."""
    return _in_order(repeated, itertools.product(plan.AGAIN_TASKS, plan.LANES), folder)
