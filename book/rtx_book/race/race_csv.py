"""All runs of a race as one table of comma-separated values, a row a run, for readers who compute for themselves."""

import csv
import io
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rtx_book.records.seeds import Record, best, final, steps_to

STAGES = ("trial", "race", "large", "again")
"""Shorter runs that try a rate, whole ones, larger ones, and whole ones again with fresh seeds."""

HEADER = (
    *("task", "lane", "name", "stage", "lr", "chosen", "length", "seed", "instructions", "metric", "test"),
    *("validation_best", "validation_last", "steps", "steps_to_line", "seconds", "parameters"),
    *("flops_per_step", "seconds_per_step", "diverged_at", "recipe", "commit"),
)
"""The columns.

``chosen`` says whether this ``lr`` is the one that the lane, or the larger lane, won with, 1 or 0; ``length`` is that
of the sequences, or of what is kept, where a task has one; ``instructions`` are those of the processor that a run was
restricted to, if it was; ``test`` and both of ``validation`` are values of
``metric``; ``steps_to_line`` is the first evaluation beyond the finish line; ``seconds`` are those of the whole run,
evaluations included. What there is not is empty: the metric of a run that diverged, a line that was not reached, the
cost of a step at another length than that which was measured.
"""

_COSTS = ("flops_per_step", "seconds_per_step")
_LENGTHS = ("delay", "places", "length")  # the arguments of tasks that say how long a sequence is, the first counts


def race_rows(
    records: Mapping[str, Sequence[Record]],
    lanes: Mapping[str, str],
    finish: Mapping[str, tuple[str, float]],
    costs: Mapping[tuple[str, str], Mapping[str, float]],
    chosen: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """A row for each run of the race, whatever its stage, with the entries of ``HEADER``, None for what there is not.

    They are in the order of tasks and lanes, trials first, then by length, rate and seed.

    Parameters
    ----------
    records
        The runs by recipe, as :func:`rtx_book.records.records.load` gives them. Left out are those that are not called
        ``STAGE-TASK-LANE``, a length and the rate behind or not; of a run again ``again-INSTRUCTIONS-race-TASK-LANE``.
    lanes
        Their names by key.
    finish
        Of each task the metric and its finish line.
    costs
        By task and lane ``flops_per_step`` and ``seconds_per_step``, at the length of the race.
    chosen
        Which recipe has won, by ``race-TASK-LANE`` or ``large-TASK-LANE``, as
        :func:`rtx_book.records.records.chosen` knows it.
    """
    starts, tasks, keys = ("|".join(map(re.escape, names)) for names in (STAGES[:-1], finish, lanes))
    shape = re.compile(rf"(?:(again)-(\w+)-)?({starts})-({tasks})-({keys})(-\d+)?")
    rows = []
    for recipe, runs in records.items():
        lr = runs[0]["configuration"].get("lr", 0.0)
        named = shape.fullmatch(recipe.removesuffix(f"-{lr:g}"))
        if not named or runs[0]["recipe"] != recipe:  # what has won is there under its plain name, too
            continue
        again, instructions, stage, task, lane, other_length = named.groups()
        plain, stage = f"{'large' if stage == 'large' else 'race'}-{task}-{lane}", again or stage
        won = (chosen or {}).get(plain)
        of_recipe = {"task": task, "lane": lane, "name": lanes[lane], "stage": stage, "lr": lr, "recipe": recipe}
        of_recipe["instructions"] = instructions
        of_recipe["chosen"] = int(won == f"{plain}-{lr:g}") if won else None
        if stage in ("race", "again") and not other_length:
            of_recipe |= {name: costs.get((task, lane), {}).get(name) for name in _COSTS}
        rows += [dict.fromkeys(HEADER) | of_recipe | _of_run(run, *finish[task]) for run in runs]
    place = {cell: n for n, cell in enumerate(itertools.product(finish, lanes, STAGES))}

    def order(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return place[row["task"], row["lane"], row["stage"]], row["length"] or 0, row["lr"], row["seed"], row["recipe"]

    return sorted(rows, key=order)


def _of_run(run: Record, metric: str, line: float) -> dict[str, Any]:
    settings = run["configuration"]
    arguments = settings.get("task_arguments") or {}
    values = [row[metric] for row in run["evaluations"] if metric in row]
    return {
        "length": next((arguments[name] for name in _LENGTHS if name in arguments), None),
        "seed": run["seed"],
        "metric": metric,
        "test": final(run, metric),
        "validation_best": best(run, metric),
        "validation_last": None if run["diverged"] or not values else values[-1],
        "steps": settings["steps"],
        "steps_to_line": steps_to(run, metric, line),
        "seconds": run["seconds"],
        "parameters": run["parameters"],
        "diverged_at": run["diverged"]["step"] if run["diverged"] else None,
        "commit": run["commit"],
    }


def write_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows under ``HEADER`` as text; numbers have all their digits, so that they read back as they were."""
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADER, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
