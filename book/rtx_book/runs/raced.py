"""The race as it was run: which rate each lane won with, and the records of what has won.

``results/chosen.json`` says which recipe each plain name, such as ``race-adding-gru``, stands for. It follows from the
records by the rules of :mod:`rtx_book.runs.tuning`, and :func:`choose` writes it.
"""

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rtx_book.race.race import BASELINES, SOLVED, Race
from rtx_book.records.records import Record, load, load_costs
from rtx_book.records.records import chosen as plain_names
from rtx_book.runs import tuning
from rtx_book.runs.recipes import BESIDE, Recipe
from rtx_book.runs.recipes import race as plan

Records = dict[str, list[Record]]


def winner(task: str, lane: str, folder: Path | None = None) -> Recipe:
    """The recipe that a lane has raced with on a task, at the rate that has won.

    Parameters
    ----------
    task, lane
        A cell of the race.
    folder
        Of the results; the book's if None.

    Raises
    ------
    ValueError
        If no rate of this lane has won on this task.
    """
    won = plain_names(folder).get(f"race-{task}-{lane}")
    if won is None:
        raise ValueError(f"task and lane must be a cell of the race whose rate is decided, got {task!r} and {lane!r}")
    return BESIDE[won]


def recorded(records: Records | None = None, *, lengths: bool = False) -> Race:
    """The book's race: the runs that won, with what a step costs.

    With ``lengths`` the other lengths are there, too, as tasks of their own, "adding-50" behind "adding"; of these no
    step was timed.
    """
    records = load() if records is None else records
    tasks = [(task, "") for task in plan.TASKS]
    if lengths:
        tasks = [(task, end) for task, _ in tasks for end in ("", *(f"-{n}" for n in plan.LENGTHS.get(task, ())[::2]))]
    return Race(
        plan.LANES,
        {task + end: plan.FINISH[task] for task, end in tasks},
        {(task + end, lane): records.get(f"race-{task}-{lane}{end}", []) for task, end in tasks for lane in plan.LANES},
        load_costs(),
        {task + end: BASELINES[task] for task, end in tasks},
        [task + end for task, end in tasks if task in SOLVED],
    )


def of_lengths(task: str, records: Records | None = None) -> dict[int, dict[str, Sequence[Any]]]:
    """By length and lane the runs of a task of ``LENGTHS``."""
    race, (_, usual, _) = recorded(records, lengths=True), plan.LENGTHS[task]
    names = {length: task if length == usual else f"{task}-{length}" for length in plan.LENGTHS[task]}
    return {length: {lane: race.of(name, lane) for lane in plan.LANES} for length, name in names.items()}


def tried(records: Records | None = None) -> dict[str, dict[str, dict[float, float]]]:
    """By task, lane and rate the validation loss by which a trial is judged; infinite for one that diverged."""
    records = load() if records is None else records
    found: dict[str, dict[str, dict[float, float]]] = {}
    for (task, lane), lr in itertools.product(plan.CELLS, tuning.GRID):
        recipe = plan.trial(task, lane, lr)
        for run in records.get(recipe.name, []):
            found.setdefault(task, {}).setdefault(lane, {})[lr] = tuning.loss(run, recipe)
    return found


def choose(folder: Path) -> dict[str, str]:
    """Write ``chosen.json`` into a folder of results, from its records, and return what it says.

    A name is there when its rate is decided; that of other lengths, sizes or seeds has the rate of the same rule.
    """
    names = {}
    for task, lane in plan.CELLS:
        lr, _ = tuning.tuned(task, lane, folder)
        if lr is not None:
            names[f"race-{task}-{lane}"] = plan.race(task, lane, lr).name
            for length in plan.LENGTHS.get(task, ())[::2]:
                names[f"race-{task}-{lane}-{length}"] = plan.race(task, lane, lr, length).name
    for task, lane in itertools.product(plan.LARGE_TASKS, plan.LARGE):
        won, _ = tuning.large_tuned(task, lane, folder)
        if won is not None:
            names[f"large-{task}-{lane}"] = plan.large(task, lane, won).name
    for task, lane in plan.AGAIN:
        for recipe in tuning.repeated(task, lane, folder)[0]:
            names[f"again-{recipe.instructions}-race-{task}-{lane}"] = recipe.name
    if names:
        (folder / "chosen.json").write_text(json.dumps(names, indent=1) + "\n", encoding="utf-8")
    return names
