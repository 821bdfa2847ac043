"""The replication study: every chapter over many seeds, data, instruction sets and numbers of threads.

`python -m rtx_book.build.replicate` (or `make replicate`) makes the runs that are missing. A run is one chapter with
one seed, and a target of Snakemake (`book/rtx_book/runs/Snakefile`): a file of its own in `_build/study`, so that the
next call goes on after a kill. At the end of a call all are packed into `book/results/study/replication.json.xz`.

A run belongs to the fingerprint of the chapter's code (`fingerprint.py`). When that changes, the chapter's runs are
stale: `--confirm N` keeps them if N of them, made again, give the very same values, and else they are made again.
"""

import argparse
import json
import lzma
import platform
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy
import torch

from rtx_book.build import execute
from rtx_book.build.execute import BuildError
from rtx_book.build.fingerprint import fingerprint
from rtx_book.claims.findings import PLANNED, STUDY, Bound
from rtx_book.paths import in_order
from rtx_book.runs import instructions, sweeps
from rtx_book.runs.recipes import RECIPES
from rtx_book.runs.runs import commit
from rtx_lib.tasks.download import available
from rtx_lib.training.checkpoints import in_one_step

ROOT = Path(__file__).resolve().parents[3]
FILE, RUNS = Path("book/results") / STUDY, Path("_build/study")
TIMEOUT = 1800  # seconds that one cell may take
DATA = ("mnist", "ptb", "music", "shakespeare", "sst2")  # what the chapters read where it is there
Findings = Sequence[Mapping[str, Any]]


# ------------------------------------------------------------------------------------------------ settings


@dataclass(frozen=True)
class Setting:
    """How one run of each chapter is made. No seed occurs twice: the same seed elsewhere would be no new trial."""

    part: str  # "first": the runs that sentences and bounds were written by; "second": seeds that nobody had looked at
    seed: int
    data: str  # "true", or "embedded": with an empty folder of data files
    instructions: str
    threads: int


def settings(has: Sequence[str] = instructions.SETS) -> list[Setting]:
    """The planned settings of both parts, mixed so that any number of them from the start on is balanced.

    Runs with an instruction set that the processor does not have take the best of those that it has.
    """
    found = []
    for part, start in (("first", 1), ("second", 101)):
        for place in range(PLANNED[part]):
            data = "embedded" if place % 3 == 1 else "true"
            planned = instructions.SETS[(place + place // 3) % 3]
            restricted = planned if planned in has else has[0]
            found.append(Setting(part, start + place, data, restricted, threads=2 if place % 5 == 3 else 1))
    return found


def environment(setting: Setting, empty: str) -> dict[str, str]:
    """The variables that make a run this setting's."""
    variables = instructions.VARIABLES[setting.instructions] | dict.fromkeys(execute.THREADS, str(setting.threads))
    variables["OMP_WAIT_POLICY"] = "PASSIVE"  # runs share the cores: a thread that waits must not spin
    return variables | ({"RTX_DATA": empty} if setting.data == "embedded" else {})


# ------------------------------------------------------------------------------------------------ one run


def key_of(root: Path, name: str) -> str:
    """The fingerprint of a chapter of this tree."""
    return fingerprint(execute.read_notebook(root / "notebooks" / f"{name}.ipynb"), RECIPES)


def run_chapter(root: Path, name: str, parameters: Mapping[str, Any], **more: Any) -> tuple[float, Findings]:
    """A chapter's seconds of CPU and findings; `BuildError` where it fails."""
    with tempfile.TemporaryDirectory(prefix="book-") as work:
        notebook = Path("notebooks", f"{name}.ipynb")
        one = execute.order(root, notebook, Path(work, "run"), parameters, timeout=TIMEOUT, **more)
        ((_, took, report),) = execute.run_all([one], 1, all_of_them=True)
        if report:
            raise BuildError(report)
        return took.cpu, execute.findings_of(one.output)


def machine() -> dict[str, str]:
    """What may round otherwise: processor and versions. No host, no path."""
    processor = f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}"
    versions = {"python": platform.python_version(), "torch": torch.__version__, "numpy": numpy.__version__}
    return {"processor": processor, "system": platform.system(), **versions}


def words_of(findings: Findings) -> dict[str, Any]:
    return {one["id"]: {"sentence": one["sentence"], "bound": one["bound"]} for one in findings}


def short(value: float, bound: Bound) -> float:
    """Six digits, or all where rounding would cross the bound."""
    rounded = float(f"{value:.6g}")
    return rounded if bound.holds(rounded) == bound.holds(value) else value


def run(path: Path) -> None:
    """Make one run and write it to ``path``, which says which: ``ROOT/_build/study/CHAPTER-sSEED.json``."""
    root, (name, _, seed) = path.parents[2], path.stem.rpartition("-s")
    setting = next(one for one in settings(instructions.available()) if one.seed == int(seed))
    key, code = key_of(root, name), commit(":/notebooks")
    with tempfile.TemporaryDirectory() as empty:
        parameters = {"profile": "book", "seed": setting.seed, "device": "cpu"}
        seconds, findings = run_chapter(root, name, parameters, variables=environment(setting, empty))
    values = {one["id"]: one["value"] and short(one["value"], Bound(one["bound"])) for one in findings}
    about = {**asdict(setting), **machine(), "commit": code[:12] + code[40:], "cpu_seconds": round(seconds, 1)}
    made = {"fingerprint": key, "findings": words_of(findings), "run": {**about, "values": values}}
    with in_one_step(path) as partial:
        partial.write_text(json.dumps(made), encoding="utf-8")
    fell = ", ".join(found["id"] for found in findings if not found["held"])
    print(f"{path.stem}: {seconds:.0f} s of CPU, fell otherwise: {fell or 'none'}", flush=True)


# ------------------------------------------------------------------------------------------------ the study


def read_study(root: Path) -> dict[str, Any]:
    path = root / FILE
    return json.loads(lzma.decompress(path.read_bytes())) if path.exists() else {"chapters": {}}


def write_study(root: Path, study: Mapping[str, Any]) -> None:
    """Write the file in one step, chapter by chapter as in the book."""
    chapters = {name: study["chapters"][name] for name in in_order(study["chapters"], root)}
    with in_one_step(root / FILE) as partial:
        partial.write_bytes(lzma.compress(json.dumps({"chapters": chapters}, ensure_ascii=False).encode()))


def todays(root: Path, name: str) -> dict[str, Any]:
    """A chapter of the study with the runs of today's code alone, those in files of their own included."""
    key = key_of(root, name)
    kept = read_study(root)["chapters"].get(name, {})
    kept = kept if kept.get("fingerprint") == key else {"findings": {}, "runs": []}
    files = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((root / RUNS).glob(f"{name}-s*.json"))]
    new = [one for one in files if one["fingerprint"] == key]
    # Some findings need the true data, so that no run has all of them; words and bounds may have been refreshed.
    words = {id: told for one in new for id, told in one["findings"].items()} | kept["findings"]
    runs = {run["seed"]: run for run in [*(one["run"] for one in new), *kept["runs"]]}
    return {"fingerprint": key, "findings": words, "runs": [runs[seed] for seed in sorted(runs)]}


def missing(root: Path, names: Sequence[str], todo: Sequence[Setting]) -> list[Path]:
    """The files of the runs that are not there, seed by seed."""
    there = {(name, run["seed"]) for name in names for run in todays(root, name)["runs"]}
    return [root / RUNS / f"{name}-s{one.seed}.json" for one in todo for name in names if (name, one.seed) not in there]


def make(root: Path, names: Sequence[str], todo: Sequence[Setting], jobs: int) -> int:
    """Let Snakemake make the missing runs, `jobs` at a time; how many failed, which the next call tries again."""
    wanted = missing(root, names, todo)
    print(f"{len(wanted)} runs to make, {len(names) * len(todo) - len(wanted)} are there", flush=True)
    if wanted and any(setting.data == "true" for setting in todo) and not available(*DATA):
        raise BuildError(f"Runs on true data need {', '.join(DATA)}, verified, in the data folder: make data")
    if wanted:  # without a lock, which a killed call would leave: two calls at once make some runs twice
        sweeps.snakemake(wanted, root / RUNS.parent, "cpu", 1, ["--cores", str(jobs), "--nolock"])
    return len(missing(root, names, todo))


def pack(root: Path, names: Sequence[str]) -> None:
    """Take what was made into the study; the first run of today's code replaces all runs of older code."""
    chapters = read_study(root)["chapters"]
    new = {name: chapter for name in names if (chapter := todays(root, name))["runs"]}
    write_study(root, {"chapters": chapters | new})


def confirm(root: Path, names: Sequence[str], todo: Sequence[Setting], clocks: Sequence[str], jobs: int) -> int:
    """Make runs of the stale chapters with these settings; where every value is the study's, its runs are today's.

    Values of the findings ``clocks`` measure a time and may differ. The number of chapters that stay stale.
    """
    study = read_study(root)
    known = {name: study["chapters"].get(name, {"findings": {}, "runs": []}) for name in names}
    values = {name: {run["seed"]: run["values"] for run in one["runs"]} for name, one in known.items()}
    if unknown := [id for id in clocks if not any(id in one["findings"] for one in known.values())]:
        raise BuildError(f"No finding of {', '.join(names)} is called {unknown[0]!r}")
    if lacking := [(name, one.seed) for name in names for one in todo if one.seed not in values[name]]:
        raise BuildError("{} has no run to confirm with seed {}".format(*lacking[0]))
    keys = {name: key for name in names if (key := key_of(root, name)) != known[name]["fingerprint"]}
    make(root, [*keys], todo, jobs)
    for name, key in keys.items():
        new = {run["seed"]: run["values"] for run in todays(root, name)["runs"]}
        other = set()
        for seed, old in ((one.seed, values[name][one.seed]) for one in todo):
            own = new.get(seed, {})  # none where the run failed
            timed = {*clocks} & old.keys() & own.keys()
            other |= {id for id in {*old, *own} - timed if old.get(id, "") != own.get(id, "")}
        said = f"other values: {', '.join(sorted(other))}" if other else "every value as before"
        print(f"{name}: {said}", flush=True)
        known[name]["fingerprint"] = known[name]["fingerprint"] if other else key
    write_study(root, {"chapters": read_study(root)["chapters"] | known})  # others may have written meanwhile
    return sum(known[name]["fingerprint"] != key for name, key in keys.items())


def refresh(root: Path, names: Sequence[str]) -> None:
    """Sentences and bounds as the notebooks have them now, from a run in `smoke`; refused where runs are stale.

    A finding that such a run lacks, for want of data, stays as it was. A bound that changes when runs of the second
    part are there was set by somebody who could see them: `looked` says so.
    """
    study = read_study(root)
    for name in names:
        chapter = study["chapters"].get(name, {})
        if chapter.get("fingerprint") != key_of(root, name):
            raise BuildError(f"{name}: no run of today's code; make replicate")
        found = words_of(run_chapter(root, name, {"profile": "smoke"})[1])
        if unknown := sorted(found.keys() - {id for run in chapter["runs"] for id in run["values"]}):
            raise BuildError(f"{name}: no run has the finding {unknown[0]}")
        second = any(run["part"] == "second" for run in chapter["runs"])
        for id, one in found.items():
            old = chapter["findings"].get(id, one)
            looked = old.get("looked", False) or (second and old["bound"] != one["bound"])
            chapter["findings"][id] = one | ({"looked": True} if looked else {})
        write_study(root, study)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="this chapter only (may be repeated)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--status", action="store_true", help="say what is there, and run nothing")
    parser.add_argument("--confirm", type=int, metavar="N", help="keep all runs if N give every value")
    parser.add_argument("--clock", action="append", default=[], metavar="ID", help="with --confirm: may differ")
    parser.add_argument("--refresh", action="store_true", help="take over sentences and bounds of the notebooks")
    parser.add_argument("--run", type=Path, help=argparse.SUPPRESS)  # what Snakemake calls
    options = parser.parse_args()
    try:
        has = instructions.available()
        names, todo = [path.stem for path in execute.notebooks_in_toc(ROOT)], settings(has)
        if unknown := [name for name in options.only or () if name not in names]:
            raise BuildError(f"There is no chapter {unknown[0]!r}; the chapters are: {', '.join(names)}.")
        names, failed = options.only or names, 0
        if options.run:
            run(options.run.resolve())
        elif options.status:
            for name in names:
                print(f"{name}: {len(todo) - len(missing(ROOT, [name], todo))} of {len(todo)} runs of today's code")
        elif options.refresh:
            refresh(ROOT, names)
        elif options.confirm:
            same = [one for one in settings() if one.instructions in has]  # others round otherwise
            failed = confirm(ROOT, names, same[: options.confirm], options.clock, options.jobs)
        else:
            failed = make(ROOT, names, todo, options.jobs)
            pack(ROOT, names)
        return int(failed > 0)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
