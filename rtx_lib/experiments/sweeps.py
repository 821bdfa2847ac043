"""Sweeps: many recipes with several seeds each, which any number of workers make together.

``python -m rtx_lib.experiments sweep race`` makes the records of a sweep that are not there yet, and ``table race``
prints what they say. Start the first as often as there are cores to spare, also on machines that share the folder
(its file system must know file locks): no run is made twice, and what was killed goes on when it is started again.
"""

import argparse
import fnmatch
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, TextIO

import torch
from filelock import FileLock, Timeout  # torch requires it

from rtx_lib.evidence.records import find, runs_folder
from rtx_lib.evidence.seeds import better, summarise
from rtx_lib.experiments.recipes import Recipe, attention, between, race, recipe_of, recurrence
from rtx_lib.training import check_device
from rtx_lib.training.checkpoints import NotWritten, Unreadable


@dataclass(frozen=True)
class Sweep:
    """Recipes, the seeds with which to run each, and the folder of their records inside the folder of results."""

    about: str
    recipes: Sequence[Recipe]
    seeds: Sequence[int] = (0, 1, 2)
    folder: str = "."

    def runs(self) -> list[tuple[Recipe, int]]:
        """Every recipe with the first seed, then with the second: what is unfinished is as far everywhere."""
        return [(recipe, seed) for seed in self.seeds for recipe in self.recipes]


# Recipes for a GPU and for readers: the book has no records of them.
UNRECORDED = ("paper-*", "shakespeare-gpt", "shakespeare-large", "shakespeare-xl-64-long", "ptb-char-xl-large")


def _recorded(recipes: Sequence[Recipe]) -> list[Recipe]:
    return [recipe for recipe in recipes if not any(fnmatch.fnmatch(recipe.name, name) for name in UNRECORDED)]


SWEEPS: dict[str, Sweep] = {
    "recurrence": Sweep("chapters 1 to 4", _recorded(recurrence.RECIPES)),
    "attention": Sweep("chapters 5 to 7", _recorded(attention.RECIPES)),
    "between": Sweep("chapters 8 and 9", _recorded(between.RECIPES)),
    "race-rates": Sweep("the learning rates that the lanes of the race tried", race.TRIALS, (0,)),
    "race": Sweep(
        "chapter 10: every model on every task",
        [race.race(task, lane) for task in race.TASKS for lane in race.LANES],
        race.SEEDS,
    ),
    "race-lengths": Sweep(
        "chapter 10: shorter and longer sequences",
        [
            race.race(task, lane, length)
            for task, lengths in race.LENGTHS.items()
            for length in (lengths[0], lengths[2])
            for lane in race.LANES
        ],
    ),
}
"""What the book measured, by name."""


def record_path(folder: Path, recipe: Recipe, seed: int) -> Path:
    """Where the record of a run is, or will be."""
    return folder / f"{recipe.name}-s{seed}.json"


def made(path: Path, recipe: Recipe) -> dict[str, Any] | None:
    """The record at ``path``, or the packed one, if it is whole and was made by this very recipe; else None."""
    try:
        record = find(recipe.name, int(path.stem.rpartition("-s")[2]), path.parent)
        return record if record and recipe_of(record) == recipe else None
    except (KeyError, TypeError, ValueError):  # for settings that there are no more
        return None


# Where there are no locks, newer versions take the existence of a file for one, and that of a dead worker stays.
_CHOICE = "fallback_to_soft"
_STRICT: dict[str, Any] = {_CHOICE: False} if _CHOICE in signature(FileLock.__init__).parameters else {}


@contextmanager
def claim(path: Path) -> Iterator[bool]:
    """Whether no other worker is making the record at ``path``; if so, none will until the end of the block.

    The lock is the operating system's, so that of a dead worker is free. A lock is worth nothing without a look at the
    record after it was taken: another worker may have made it meanwhile.

    Raises
    ------
    NotWritten
        If the folder cannot be written, or its file system has no locks.
    """
    lock = FileLock(_lock_file(path), **_STRICT)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    except (OSError, NotImplementedError) as error:  # the latter by older versions where there are no locks
        raise NotWritten(f"{_lock_file(path)} could not be locked: {getattr(error, 'strerror', 0) or error}") from error
    try:
        yield True
    finally:
        lock.release()


def _lock_file(path: Path) -> Path:
    return path.with_name(f".{path.stem}.lock")


def tidy(path: Path) -> None:
    """Remove lock, checkpoint and half-written files of a run, only once its record is there.

    Whichever file a worker has locked then, this one or a new one, it makes nothing. Before that, two workers could
    each hold a lock, one of them on the file that was removed.
    """
    for name in (f".{path.stem}.*", f"{path.name}.*.part"):
        for file in path.parent.glob(name):
            with suppress(OSError):  # on Windows, of a file that somebody has open
                file.unlink()


@dataclass
class Tally:
    """How many runs a worker made, found made, left to others and saw fail; how many it did not come to; and why it
    stopped, if it could not write any more."""

    made: int = 0
    there: int = 0
    others: int = 0
    failed: int = 0
    undone: int = 0
    stopped: str | None = None

    def __str__(self) -> str:
        parts = [f"made {self.made}", f"there already {self.there}", f"left to other workers {self.others}"]
        parts += [f"failed {self.failed}"] if self.failed else []
        return ", ".join(parts + ([f"not made {self.undone}"] if self.undone else []))


def work(plan: Sweep, run: Callable[[Recipe, int], Path], folder: Path, *, max_runs: int | None = None) -> Tally:
    """Make the records of a sweep that are not there, as one of any number of workers.

    A run that another worker has in hand is passed over. After the last one those are looked at again, in case that
    worker died, as long as there is something to do; nobody waits for another. A run that fails, for want of data or of
    memory perhaps, is named on standard error, and the others go on; when a file cannot be written, all stops. A
    checkpoint that is damaged is named and removed, and its run begins anew.

    Parameters
    ----------
    plan
        What to run.
    run
        Makes the record of a recipe and a seed in ``folder``, going on from a checkpoint if there is one.
    folder
        Of the records, and of locks and checkpoints while they are made.
    max_runs
        Make at most so many.

    Raises
    ------
    ValueError
        For ``max_runs`` below 1.
    """
    if max_runs is not None and max_runs < 1:
        raise ValueError(f"max_runs must be at least 1, got {max_runs}")
    tally, todo = Tally(), []
    for recipe, seed in plan.runs():
        path = record_path(folder, recipe, seed)
        if made(path, recipe):
            tally.there += 1
            tidy(path)  # after a worker that died before it could do so
        else:
            todo.append((recipe, seed, path))
    before = -1
    try:
        while before < tally.made and tally.made != max_runs:
            before = tally.made
            for entry in list(todo):
                if tally.made == max_runs:
                    break
                recipe, seed, path = entry
                with claim(path) as claimed:
                    if not claimed:
                        continue
                    if made(path, recipe):
                        tally.others += 1
                    elif _one(recipe, seed, path, run):
                        tally.made += 1
                    else:
                        tally.failed += 1
                    todo.remove(entry)
                if made(path, recipe):
                    tidy(path)
    except NotWritten as error:
        tally.stopped = str(error)
    if tally.stopped or tally.made == max_runs:
        tally.undone = len(todo)
    else:
        tally.others += len(todo)
    return tally


def _one(recipe: Recipe, seed: int, path: Path, run: Callable[[Recipe, int], Path]) -> bool:
    """Make one record; False, with a line on standard error, where that run cannot be made."""
    for name in (f".{path.stem}.*.part", f"{path.name}.*.part"):  # half-written by a worker that was killed
        for half in path.parent.glob(name):
            half.unlink(missing_ok=True)
    try:
        try:
            made_at = run(recipe, seed)
        except Unreadable as error:  # nobody else has it, since the lock is ours, and it would fail at every start
            _say(f"{path.stem} begins anew, without its damaged checkpoint: {error}", sys.stderr)
            error.path.unlink()
            made_at = run(recipe, seed)
        record = json.loads(made_at.read_text(encoding="utf-8"))
        said = f"diverged at step {record['diverged']['step']}" if record["diverged"] else json.dumps(record["metrics"])
    except NotWritten:
        raise
    except Exception as error:  # any: it would end this worker at every start, and nobody came to the runs behind
        _say(f"{path.stem} failed: {type(error).__name__}: {' '.join(str(error).split())}", sys.stderr)
        return False
    _say(f"{path.stem}: {said}")
    return True


def _say(line: str, stream: TextIO | None = None) -> None:
    with suppress(OSError):  # a log on a full disk ends no worker
        print(line, file=stream, flush=True)


def found(plan: Sweep, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The records of a sweep that are in ``folder``, for each of its recipes by seed."""
    return {
        recipe.name: [
            record for seed in plan.seeds if (record := made(record_path(folder, recipe, seed), recipe)) is not None
        ]
        for recipe in plan.recipes
    }


def table(plan: Sweep, folder: Path) -> str:
    """What the records of a sweep say, as a table in Markdown; one sentence if there is no record.

    A recipe of the race is judged by the metric of its finish line, any other by the first metric of its records.
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
    """Metric and value of a finish line, for recipes of the race."""
    kind, _, rest = name.partition("-")
    return race.FINISH[rest.partition("-")[0]] if kind in ("race", "rate") else None


def best_rate(task: str, lane: str, folder: Path | None = None) -> float | None:
    """The learning rate that was best for a lane of the race, by its trials' loss on the validation split.

    The loss that is trained decides, because a model at chance has an accuracy of chance at any rate. It is that of the
    model which is tested: at the best evaluation where the recipe keeps that, else at the last one. Of equal rates the
    lower one is better; one with which the run diverged is worst.

    Parameters
    ----------
    task, lane
        Keys of the race's TASKS and LANES.
    folder
        Where the trials' records are; the book's results if None.

    Returns
    -------
    float or None
        None unless all trials of this lane have their record.
    """
    folder = folder or runs_folder()
    chosen, least = min(race.RATES), float("inf")
    for rate in sorted(race.RATES):
        recipe = race.trial(task, lane, rate)
        record = made(record_path(folder, recipe, 0), recipe)
        if record is None:
            return None
        metric = "mse" if recipe.task == "adding" else "loss"
        losses = [row.get(metric, float("inf")) for row in record["evaluations"]]
        loss = float("inf") if record["diverged"] else min(losses) if recipe.keep_best else losses[-1]
        if better(metric, loss, least):
            chosen, least = rate, loss
    return chosen


def at_least_one(text: str) -> int:
    """The number of an argument of the command line."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return number


def add_commands(commands: Any) -> None:
    """Add ``sweep`` and ``table`` to the commands of :mod:`rtx_lib.experiments`."""
    worker = commands.add_parser("sweep", help="make the records of a sweep; several may do so at once")
    printer = commands.add_parser("table", help="print the table of a sweep")
    for command in (worker, printer):
        command.add_argument("name", metavar="NAME", help="; ".join(f"{name}: {s.about}" for name, s in SWEEPS.items()))
        command.add_argument("--out", type=Path, help="folder of the records (default: the book's)")
    worker.add_argument("--device", default="cpu")
    worker.add_argument("--threads", type=at_least_one, default=1, help="torch threads (default 1)")
    worker.add_argument("--max-runs", type=at_least_one, help="make at most so many records")


def command(options: argparse.Namespace, run: Callable[..., Path]) -> int:
    """Carry out ``sweep`` or ``table``; returns the exit status."""
    if options.name not in SWEEPS:
        print(f"unknown sweep {options.name!r}; known: {', '.join(SWEEPS)}", file=sys.stderr)
        return 2
    plan = SWEEPS[options.name]
    folder = options.out or runs_folder()
    if options.command == "table":
        print(table(plan, folder))
        return 0

    if int(os.environ.get("WORLD_SIZE", 1)) > 1:  # each process would be a worker, with the device of all
        print("a sweep is not for accelerate launch: start it without, once for each device", file=sys.stderr)
        return 2
    try:
        check_device(options.device)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    torch.set_num_threads(options.threads)

    def one(recipe: Recipe, seed: int) -> Path:
        return run(recipe, seed, out=folder, device=options.device, progress=sys.stderr.isatty())

    tally = work(plan, one, folder, max_runs=options.max_runs)
    _say(f"sweep {options.name}: {tally}")
    if tally.stopped:
        kept = f"kept: {tally.made + tally.there} records, and the last checkpoint of each run begun"
        _say(f"sweep {options.name} stopped: {tally.stopped}; {kept}", sys.stderr)
    return 1 if tally.stopped or tally.failed else 0
