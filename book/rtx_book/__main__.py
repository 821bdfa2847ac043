"""The command line: runs, sweeps and speed.

``python -m rtx_book list`` shows the recipes; ``run RECIPE --seed 0 1 2`` trains one, writes one
JSON record a seed, and says what the book's seeds reached; ``pretrain RECIPE`` also keeps the weights. A killed run
goes on from its checkpoint, but one at equal time, which has none, begins anew; a record is written in one step or not
at all.
``sweep NAME`` and ``table NAME`` are for many recipes (:mod:`rtx_book.runs.sweeps`), ``bench NAME`` measures speed
(:mod:`rtx_book.bench`).
"""

import argparse
import difflib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from rtx_book import bench
from rtx_book.bench import kept
from rtx_book.paths import results_folder, runs_folder
from rtx_book.records.records import Record, chosen, find, load, load_records, pack
from rtx_book.records.seeds import final
from rtx_book.runs import raced, sweeps
from rtx_book.runs.recipes import BESIDE, RECIPES, pretraining
from rtx_book.runs.runs import pretrain, run
from rtx_lib.training.checkpoints import NotWritten
from rtx_lib.training.processes import PRECISIONS, join


def _at_least_one(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {text}")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m rtx_book", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name every recipe and say which seeds have a record")
    runner = commands.add_parser("run", help="train a recipe and write its records")
    runner.add_argument("recipe", help="its name; that of a lane of the race, race-TASK-LANE, has the rate that won")
    runner.add_argument("--seed", type=int, nargs="+", default=[0], help="one or more (default 0)")
    of_autocast = "type of autocast (default: no; else that of accelerate launch)"
    runner.add_argument("--mixed-precision", choices=PRECISIONS, help=of_autocast)
    trainer = commands.add_parser("pretrain", help="train a model of the chapters on pre-training and keep its weights")
    trainer.add_argument("recipe", choices=[recipe.name for recipe in pretraining.PRETRAINED])
    packer = commands.add_parser("pack", help="move the records of finished runs into their sweeps' files")
    sweeper = commands.add_parser("sweep", help="make the records of a sweep that are missing")
    sweeper.epilog = "What follows -- are options of Snakemake (default: --cores all)."
    printer = commands.add_parser("table", help="print the table of a sweep")
    about = "speed and memory of one implementation against another"
    measurer = commands.add_parser("bench", help=about, description=bench.__doc__)
    measurer.add_argument("case", choices=[*sorted(bench.CASES), "all"])
    measurer.add_argument("--record", action="store_true", help="keep each case in a file, one after the other")
    for own in (sweeper, printer):
        about = "; ".join(f"{name}: {sweep.about}" for name, sweep in sweeps.SWEEPS.items())
        own.add_argument("name", choices=sweeps.SWEEPS, metavar="NAME", help=about)
    for own in (runner, trainer, packer, sweeper, printer, measurer):
        own.add_argument("--out", type=Path, help="folder of the files (default: the book's)")
    for own, where in ((runner, "what accelerate launch finds, else cpu"), (trainer, "cpu"), (measurer, "cpu")):
        own.add_argument("--device", default=None if own is runner else "cpu", help=f"cpu or cuda (default: {where})")
    sweeper.add_argument("--device", default="cpu", help="cpu, cuda, or several for the runs in turn: cuda:0,cuda:1")
    for own in (runner, trainer, sweeper):
        own.add_argument("--threads", type=_at_least_one, default=1, help="torch threads of each process (default 1)")
    for own in (runner, trainer):
        own.add_argument("--quiet", action="store_true", help="no progress bar")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = _parser().parse_args(arguments[:end])
    if options.command == "sweep":
        how = options.device, options.threads, arguments[end + 1 :]
        return sweeps.sweep(options.name, options.out or runs_folder(), *how)
    carry_out: dict[str, Callable[..., int | None]]
    carry_out = {"list": _list, "run": _run, "pretrain": _pretrain, "pack": _pack, "table": _table, "bench": _bench}
    return carry_out[options.command](options) or 0


def _list(options: argparse.Namespace) -> None:
    records, recipes = load(), BESIDE | RECIPES
    won = {name: recipe for name, recipe in chosen().items() if recipe in recipes}
    for name, recipe in ({name: name for name in RECIPES} | won).items():
        seeds = " ".join(str(record["seed"]) for record in records.get(recipe, [])) or "none"
        print(f"{name:24} {recipes[recipe].about} (records of seeds: {seeds})")


def _run(options: argparse.Namespace) -> int:
    recipes, plain = BESIDE | RECIPES, chosen()  # plain: of a lane of the race, with the rate that won
    if (name := plain.get(options.recipe, options.recipe)) not in recipes:
        close = difflib.get_close_matches(name, [*recipes, *plain], 3)
        meant = f"did you mean {' or '.join(close)}? " if close else ""
        print(f"unknown recipe {name!r}; {meant}'list' names them all", file=sys.stderr)
        return 2
    beside = _ranges(load_records(name))
    processes = join(options.device, options.mixed_precision)
    torch.set_num_threads(options.threads)
    for seed in options.seed:
        try:
            how: dict[str, Any] = {"device": processes.device, "processes": processes, "progress": not options.quiet}
            path = run(recipes[name], seed, out=options.out, **how)
        except NotWritten as error:
            print(f"stopped: {error}; kept: finished records and the last checkpoint", file=sys.stderr)
            return 1
        if processes.main:
            record = find(name, seed, path.parent) or {}  # it may be packed
            precision = record["device"].get("precision", "no")  # of a record that was there, perhaps another
            note = "" if precision == processes.precision else f" (was there, in precision {precision!r})"
            print(f"{path} {json.dumps(record['diverged'] or record['metrics'])}{note}")
    if processes.main and beside:
        print(beside)
    if processes.accelerator:
        processes.accelerator.end_training()
    return 0


def _ranges(records: Sequence[Record]) -> str:
    """What runs reached, to hold others against: their seeds, and from where to where each metric goes."""
    found: dict[str, list[float]] = {}
    for record in records:
        for metric in record["metrics"]:
            if (value := final(record, metric)) is not None:
                found.setdefault(metric, []).append(value)
    told = ", ".join(f"{metric} {min(own):.4g} to {max(own):.4g}" for metric, own in found.items())
    return f"seeds of the book, {' '.join(str(r['seed']) for r in records)}: {told} (test split)" if told else ""


def _pretrain(options: argparse.Namespace) -> None:
    torch.set_num_threads(options.threads)
    print(pretrain(options.recipe, options.out, out=options.out, device=options.device, progress=not options.quiet))


def _pack(options: argparse.Namespace) -> None:
    known = {name: [recipe.name for recipe in sweep.recipes] for name, sweep in sweeps.SWEEPS.items()}
    folder = options.out or results_folder()
    counts = pack(folder, known)
    raced.choose(folder)
    print(", ".join(f"{name}: {count}" for name, count in counts.items()) or "nothing to pack")


def _table(options: argparse.Namespace) -> None:
    print(sweeps.table(sweeps.SWEEPS[options.name], (options.out or runs_folder()).resolve()))


def _bench(options: argparse.Namespace) -> None:
    path = (options.out or results_folder() / "speed.jsonl") if options.record else None
    rows = kept.measured(options.case, options.device, path)
    print("\n".join(map(kept.told, rows)))


if __name__ == "__main__":
    sys.exit(main())
