"""Sweeps: many recipes with several seeds each, which Snakemake runs on one machine or on a cluster.

``python -m rtx_book sweep race`` makes the records of a sweep that are not there yet, and ``table race``
prints what they say. Each record is a target of Snakemake, which knows what is running, goes on after a failed run
and begins again after a kill; options after ``--`` are Snakemake's.
"""

import fnmatch
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtx_book.records.seeds import summarise
from rtx_book.runs import recipes as parts
from rtx_book.runs import tuning
from rtx_book.runs.recipes import Recipe
from rtx_book.runs.recipes.recipe import AGAIN_SEEDS
from rtx_book.runs.runs import made
from rtx_lib.training import check_device


@dataclass(frozen=True)
class Sweep:
    """Recipes, the seeds with which to run each, and the folder of their records inside the folder of results.

    Where ``follow`` is given, not all of these are run, but what it names: the runs that follow from the records in a
    folder and are not among them, to be asked again when they are made.
    """

    about: str
    recipes: Sequence[Recipe]
    seeds: Sequence[int] = (0, 1, 2)
    folder: str = "."
    follow: Callable[[Path], list[tuple[Recipe, int]]] | None = None

    def runs(self) -> list[tuple[Recipe, int]]:
        """Every recipe with the first seed, then with the second: what is unfinished is as far everywhere.

        What no seed changes has the first alone.
        """
        first, fixed = self.seeds[0], "statistician"
        return [(own, seed) for seed in self.seeds for own in self.recipes if seed == first or own.model != fixed]


PROGRAM = "-m rtx_book"  # that a job gives to Python
_OPTIONS = ["--keep-going", "--rerun-incomplete", "--rerun-triggers", "mtime", "--scheduler", "greedy"]

# Recipes for a GPU and for readers: the book has no records of them.
UNRECORDED = ("paper-*", "shakespeare-gpt", "shakespeare-large", "shakespeare-xl-64-long", "ptb-char-xl-large")


def _recorded(recipes: Sequence[Recipe]) -> list[Recipe]:
    return [recipe for recipe in recipes if not any(fnmatch.fnmatch(recipe.name, name) for name in UNRECORDED)]


_AGAIN = [*parts.race.REPEATED, *parts.returns.REPEATED]
SWEEPS: dict[str, Sweep] = {
    "recurrence": Sweep("the part on recurrence", _recorded(parts.recurrence.RECIPES)),
    "topics": Sweep("words with a topic and without", parts.topics.RECIPES, parts.topics.SEEDS),
    "attention": Sweep("the part on attention", _recorded(parts.attention.RECIPES)),
    "between": Sweep("R-Transformer and Transformer-XL", _recorded(parts.between.RECIPES)),
    "parallel": Sweep("in parallel", _recorded(parts.parallel.RECIPES), (0, 1, 2, 3, 4)),
    "pretraining": Sweep("weights", parts.pretraining.FIRST, parts.pretraining.SEEDS, follow=tuning.next_pretrained),
    "fine-tuning": Sweep("pre-training: what begins from them", parts.pretraining.COMPARED, (0, 1, 2, 3, 4)),
    "orders": Sweep("orders and units", _recorded(parts.orders.RECIPES), (0, 1, 2, 3, 4)),
    "choice": Sweep("what a chosen step is for", [*parts.state_space.CHOICE, parts.state_space.LONGER], range(20)),
    "wait": Sweep("a long wait", parts.state_space.WAIT, (0, 1, 2, 3, 4)),
    "rope": Sweep("a word behind noise", parts.rope.RECIPES, (0, 1, 2, 3, 4)),
    "hybrids": Sweep("layers that are mixed", parts.hybrids.RECIPES, parts.hybrids.SEEDS),
    "rates": Sweep(
        "rates, by seeds that no page shows", parts.TRIALS, parts.returns.TUNING_SEEDS, follow=tuning.next_rates
    ),
    "returns": Sweep("recurrence returns", _recorded(parts.returns.RECIPES), (0, 1, 2, 3, 4)),
    "scenes": Sweep("captions of scenes", parts.scenes.RECIPES, (0, 1, 2, 3, 4)),
    "series": Sweep("time series", [*parts.series.RECIPES, *parts.drawn.RECIPES], parts.series.SEEDS),
    "race-rates": Sweep("rates that the lanes of the race tried", parts.race.TRIALS, (0,), follow=tuning.next_trials),
    "race": Sweep("the race: trials and finals", parts.race.CANDIDATES, parts.race.SEEDS, follow=tuning.next_runs),
    "race-lengths": Sweep("the race: shorter and longer sequences", parts.race.LENGTHENED, follow=tuning.next_lengths),
    "race-sizes": Sweep("the race: larger models", parts.race.ENLARGED, parts.race.SEEDS, follow=tuning.next_large),
    "again": Sweep("fresh seeds, elsewhere", _AGAIN, AGAIN_SEEDS, follow=tuning.next_again),
}
"""What the book measured, by name."""


def missing(plan: Sweep, folder: Path) -> list[Path]:
    """Where the records of a sweep will be that are not there yet, neither packed nor in ``folder``.

    Those that follow from missing ones are not known yet.
    """
    looked_up = (made(folder, recipe, seed) for recipe, seed in (plan.follow(folder) if plan.follow else plan.runs()))
    return [path for path, record in looked_up if record is None]


def found(plan: Sweep, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The records of a sweep that are in ``folder``, for each of its recipes by seed; not those that need no run."""
    records = {
        recipe.name: [record for seed in plan.seeds if (record := made(folder, recipe, seed)[1]) is not None]
        for recipe in plan.recipes
    }
    return {name: group for name, group in records.items() if group or not plan.follow}


def table(plan: Sweep, folder: Path) -> str:
    """What the records of a sweep say, as a table in Markdown; one sentence if there is no record.

    Where the race has a finish line, a recipe is judged by its metric, any other by the first metric of its records.
    """
    records, lines = found(plan, folder), []
    for name, group in records.items():
        metric, line = _finish(name) or (next((m for r in group for m in r["metrics"]), ""), None)
        told = summarise(group, metric, line)
        median = f"{told['median']:.3g}" if told["values"] else "none"
        median += f" [{told['low']:.3g}, {told['high']:.3g}]" if len(told["values"]) > 1 else ""
        seeds = f"{told['seeds']} of {len(plan.seeds)}" + (f", {told['diverged']} diverged" if told["diverged"] else "")
        solved = "none" if line is None else f"{told['solved']}/{told['seeds']}"
        cells = [f"`{name}`", metric or "none", median, seeds, solved]
        cells += ["none" if told[key] is None else f"{told[key]:,.0f}" for key in ("steps_to", "seconds", "parameters")]
        lines.append(f"| {' | '.join(cells)} |")
    if not any(records.values()):
        return "There are no records of this sweep yet."
    head = "| Recipe | Metric | Median [range] | Seeds | Solved | Steps to the line | Seconds | Parameters |"
    return "\n".join([head, f"| --- | --- |{' ---: |' * 6}", *lines])


def _finish(name: str) -> tuple[str, float] | None:
    """Metric and value of a finish line, for recipes of the race and of hybrids, which do its tasks."""
    kind, task, *_ = re.sub(r"^again-\w+-", "", name).split("-")
    return parts.race.FINISH.get(task) if kind in ("race", "trial", "large", "hybrid") else None


def sweep(name: str, folder: Path, device: str, threads: int, engine: Sequence[str] = ()) -> int:
    """Make the records of a sweep that are missing, and say which are there; returns the exit status."""
    plan, folder = SWEEPS[name], folder.resolve()
    status = make(plan, folder, device, threads, engine)
    records = [record for group in found(plan, folder).values() for record in group]
    diverged, left = sum(record["diverged"] is not None for record in records), missing(plan, folder)
    count = len(records) + len(left) if plan.follow else len(plan.runs())
    print(f"sweep {name}: {len(records)} of {count} records, {diverged} of them diverged")
    if left:
        print(f"sweep {name}: missing: {', '.join(path.stem for path in left)}")
    return status


def make(plan: Sweep, folder: Path, device: str, threads: int, engine: Sequence[str]) -> int:
    """Let Snakemake make the records that are missing, a target each (``Snakefile``); returns its exit status.

    What follows from them is made in the same way, until nothing does; what failed is not tried again.
    """
    tried: set[Path] = set()
    status = 0
    while wanted := [path for path in missing(plan, folder) if path not in tried]:
        status = max(status, snakemake(wanted, folder, device, threads, engine))
        tried |= set(wanted)
        if not plan.follow or "--dry-run" in engine:
            break
    return status


def snakemake(wanted: list[Path], folder: Path, device: str, threads: int, engine: Sequence[str]) -> int:
    """Have these files made, in or below ``folder``; returns the exit status."""
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:  # its runs would wait for each other
        print("a sweep is not for accelerate launch: start it without", file=sys.stderr)
        return 2
    try:
        if "--executor" not in engine:  # a machine that hands out jobs may have none
            for name in device.split(","):
                check_device(name)
        from snakemake.cli import main as start
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    except ImportError:
        print("a sweep needs Snakemake and Python 3.11: pip install '.[sweep]'", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    snakefile = shutil.copy(Path(__file__).with_name("Snakefile"), folder)  # it must lie there to reach other machines
    targets = [path.relative_to(folder).as_posix() for path in wanted]
    arguments = [*targets, "--snakefile", str(snakefile), "--directory", str(folder), *_OPTIONS]
    if other := [name for name in targets if (folder / name).exists()]:  # of another configuration
        arguments += ["--forcerun", *other]
    arguments += ["--config", f"device={device}", f"threads={threads}", f"program={PROGRAM}"]
    try:
        start([*arguments, *(engine or ["--cores", "all"])])
    except SystemExit as end:
        return int(end.code or 0)
    return 0
