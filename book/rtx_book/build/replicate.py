"""The replication study: every chapter over many seeds, data, instruction sets and numbers of threads.

`python -m rtx_book.build.replicate` (or `make replicate`) executes what is missing, one chapter with one seed at a
time, and writes the findings' values into `book/results/study/replication.json` after each: stopped or killed, the
next call goes on. `--status` says what is there; `--refresh` takes over new sentences and bounds, for which nothing
has to run again.

A run belongs to the notebook's code that may decide its values and to the recipes that it names
(`fingerprint.py`). When these change, the chapter's runs are stale and are made again; other changes, of the
text or of figures, keep them, and so do all changes of the library.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from rtx_book.build.execute import BuildError, Took, findings_of, notebooks_in_toc, order, read_notebook, run_all
from rtx_book.build.fingerprint import fingerprint
from rtx_book.claims.findings import PLANNED, Bound
from rtx_book.paths import in_order
from rtx_book.runs.recipes import RECIPES
from rtx_lib.tasks.download import available

ROOT = Path(__file__).resolve().parents[3]
FILE = Path("book/results/study/replication.json")
DATA = ("mnist", "ptb", "music", "shakespeare", "sst2")  # what the chapters read where it is there
INSTRUCTIONS = ("avx512", "avx2", "default")  # as ATEN_CPU_CAPABILITY names them; the last is what every CPU has
# The same for the two libraries that multiply matrices for torch.
MATRIX_LIBRARIES = {
    "default": {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    "avx2": {"MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "avx512": {},
}


@dataclass(frozen=True)
class Setting:
    """How one run of each chapter is made. No seed occurs twice: the same seed elsewhere would be no new trial."""

    part: str  # "first": the runs that sentences and bounds were written by; "second": seeds that nobody had looked at
    seed: int
    data: str  # "true", or "embedded": with an empty folder of data files
    instructions: str
    threads: int


def settings(has: Sequence[str] = INSTRUCTIONS) -> list[Setting]:
    """The planned settings of both parts, mixed so that any number of them from the start on is balanced.

    Runs with an instruction set that the processor does not have take the best of those that it has.
    """
    found = []
    for part, start in (("first", 1), ("second", 101)):
        for place in range(PLANNED[part]):
            data = "embedded" if place % 3 == 1 else "true"
            instructions = INSTRUCTIONS[(place + place // 3) % 3]
            instructions = instructions if instructions in has else has[0]
            found.append(Setting(part, start + place, data, instructions, threads=2 if place % 5 == 3 else 1))
    return found


def instruction_sets() -> list[str]:
    """The instruction sets of `INSTRUCTIONS` that this processor has, the best first."""
    import torch

    best = torch.backends.cpu.get_cpu_capability().lower()
    return [*INSTRUCTIONS[INSTRUCTIONS.index(best) :]] if best in INSTRUCTIONS else ["default"]


def read_study(root: Path) -> dict[str, Any]:
    path = root / FILE
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"chapters": {}}


def write_study(root: Path, study: Mapping[str, Any]) -> None:
    """Write the file in one step, a line a run, so that a version history stays readable."""
    chapters = []
    for name in in_order(study["chapters"], root):
        chapter = study["chapters"][name]
        runs = ",\n".join(f"   {json.dumps(run)}" for run in chapter["runs"])
        findings = ",\n".join(
            f"   {json.dumps(id)}: {json.dumps(one, ensure_ascii=False)}" for id, one in chapter["findings"].items()
        )
        head = f' {json.dumps(name)}: {{"fingerprint": {json.dumps(chapter["fingerprint"])},\n  "findings": {{\n'
        chapters.append(f'{head}{findings}\n  }},\n  "runs": [\n{runs}\n  ]}}')
    path = root / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(".replication.part")  # hidden: a build may be listing the folder
    partial.write_text('{"chapters": {\n' + ",\n".join(chapters) + "\n}}\n", encoding="utf-8")
    os.replace(partial, path)


def current(study: Mapping[str, Any], name: str, key: str) -> list[dict[str, Any]]:
    """The chapter's runs that were made by today's code."""
    chapter = study["chapters"].get(name, {})
    return chapter.get("runs", []) if chapter.get("fingerprint") == key else []


def missing(
    study: Mapping[str, Any], keys: Mapping[str, str], todo: Sequence[Setting]
) -> Iterator[tuple[str, Setting]]:
    """What has to run yet, seed by seed."""
    done = {(name, run["seed"]) for name, key in keys.items() for run in current(study, name, key)}
    for setting in todo:
        yield from ((name, setting) for name in keys if (name, setting.seed) not in done)


def environment(setting: Setting, empty: Path) -> dict[str, str]:
    """The variables that make a run this setting's."""
    threads = str(setting.threads)
    variables = {
        "RTX_DOWNLOAD": "0",
        "ATEN_CPU_CAPABILITY": setting.instructions,
        **MATRIX_LIBRARIES[setting.instructions],
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "OMP_WAIT_POLICY": "PASSIVE",
    }  # runs share the cores: a thread that waits must not spin
    return variables | ({"RTX_DATA": str(empty)} if setting.data == "embedded" else {})


def commit(root: Path) -> str:
    """The commit of the tree, with "-dirty" where notebooks or library differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True).stdout.strip()

    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + (
        "-dirty" if git("status", "--porcelain", "--", "notebooks", "rtx_lib", "book/rtx_book") else ""
    )


def machine() -> dict[str, str]:
    """What may round otherwise: processor and versions. No host, no path."""
    import numpy
    import torch

    return {
        "processor": f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}",
        "system": platform.system(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
    }


def run_of(
    setting: Setting, findings: Sequence[Mapping[str, Any]], took: Took, where: Mapping[str, str]
) -> dict[str, Any]:
    """A run as the file keeps it: values in six digits, or in full where rounding would cross the bound."""
    values = {}
    for found in findings:
        value = found["value"]
        short = None if value is None else float(f"{value:.6g}")
        if short is not None and Bound(found["bound"]).holds(short) != Bound(found["bound"]).holds(value):
            short = value
        values[found["id"]] = short
    return {**asdict(setting), **where, "cpu_seconds": round(took.cpu, 1), "values": values}


def made(
    tree: Path, plan: Sequence[tuple[str, Setting]], jobs: int, timeout: int
) -> Iterator[tuple[str, Setting, Took, list[dict[str, Any]] | None]]:
    """Run the chapters of ``tree`` with these settings: what each took and found as it ends, None where it failed."""
    if any(setting.data == "true" for _, setting in plan) and not available(*DATA):
        raise BuildError(f"Runs on true data need {', '.join(DATA)}, verified, in the data folder: make data")
    with tempfile.TemporaryDirectory(prefix="book-", ignore_cleanup_errors=True) as work:
        (empty := Path(work) / "no-data").mkdir()
        orders = {}
        for place, (name, setting) in enumerate(plan):
            parameters = {"profile": "book", "seed": setting.seed, "device": "cpu"}
            how = {"timeout": timeout, "variables": environment(setting, empty)}
            one = order(tree, Path("notebooks", f"{name}.ipynb"), Path(work, str(place)), parameters, **how)
            orders[one.output] = one, name, setting
        for one, took, report in run_all([one for one, *_ in orders.values()], jobs, all_of_them=True):
            _, name, setting = orders[one.output]
            if report:
                print(f"{name}, {setting}: FAILED\n{report}", flush=True)
            yield name, setting, took, None if report else findings_of(one.output)


def replicate(root: Path, names: Sequence[str], todo: Sequence[Setting], jobs: int = 2, timeout: int = 1800) -> int:
    """Make what is missing; the number of runs that failed, which the next call tries again."""
    failed = 0
    where = machine() | {"commit": commit(root)}
    with frozen(root) as tree:
        keys = {name: key_of(tree, name) for name in names}
        study = read_study(root)
        before = {name: study["chapters"].get(name, {}).get("fingerprint") for name in names}
        plan = list(missing(study, keys, todo))
        print(f"{len(plan)} runs to make, {len(keys) * len(todo) - len(plan)} are there", flush=True)
        for name, setting, took, findings in made(tree, plan, jobs, timeout):
            if findings is None:
                failed += 1
                continue
            keep(root, name, (keys[name], before[name]), findings, run_of(setting, findings, took, where))
            fell = [found["id"] for found in findings if not found["held"]]
            said = f", fell otherwise: {', '.join(fell)}" if fell else ""
            print(f"{name}, {setting}: {took.cpu:.0f} s of CPU, {len(findings)} findings{said}", flush=True)
    return failed


def confirm(
    root: Path,
    names: Sequence[str],
    todo: Sequence[Setting],
    clocks: Sequence[str] = (),
    jobs: int = 2,
    timeout: int = 1800,
) -> int:
    """Run the stale chapters with these settings; where every value is the file's, its runs are of today's code.

    Values of the findings ``clocks`` measure a time and may differ. The number of runs that failed or gave another
    value; the chapter of such a run stays stale.
    """
    study = read_study(root)["chapters"]
    told = {id for name in names if name in study for id in study[name]["findings"]}
    if unknown := [id for id in clocks if id not in told]:
        raise BuildError(f"No finding of {', '.join(names)} is called {unknown[0]!r}")
    for name in names:
        there = {run["seed"] for run in study[name]["runs"]} if name in study else set()
        if lacking := {setting.seed for setting in todo} - there:
            raise BuildError(f"{name} has no run to confirm with seed {min(lacking)}")
    wrong: list[str] = []
    with frozen(root) as tree:
        keys = {name: key_of(tree, name) for name in names}
        keys = {name: key for name, key in keys.items() if key != study[name]["fingerprint"]}
        plan = [(name, setting) for name in keys for setting in todo]
        print(f"{len(plan)} runs to make, {len(names) - len(keys)} chapters are of today's code", flush=True)
        for name, setting, took, findings in made(tree, plan, jobs, timeout):
            if findings is None:
                wrong.append(name)
                continue
            values = run_of(setting, findings, took, {})["values"]
            kept = next(run["values"] for run in study[name]["runs"] if run["seed"] == setting.seed)
            timed = {*clocks} & values.keys() & kept.keys()
            other = sorted(id for id in {*values, *kept} - timed if values.get(id, "") != kept.get(id, ""))
            wrong += [name] if other else []
            said = f"other values: {', '.join(other)}" if other else "every value as before"
            print(f"{name}, {setting}: {said}", flush=True)
    with changing(root) as now:
        for name in keys.keys() - wrong:
            if now["chapters"][name]["fingerprint"] == study[name]["fingerprint"]:  # else another call was faster
                now["chapters"][name]["fingerprint"] = keys[name]
    return len(wrong)


@contextlib.contextmanager
def frozen(root: Path) -> Iterator[Path]:
    """A copy of what a run is made from: what is edited meanwhile belongs to none."""
    with tempfile.TemporaryDirectory(prefix="replicate-") as scratch:
        for name in ("notebooks", "rtx_lib", "book"):
            shutil.copytree(root / name, Path(scratch) / name, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        yield Path(scratch)


def key_of(root: Path, name: str) -> str:
    """The fingerprint of a chapter of this tree."""
    return fingerprint(read_notebook(root / "notebooks" / f"{name}.ipynb"), RECIPES)


@contextlib.contextmanager
def changing(root: Path) -> Iterator[dict[str, Any]]:
    """The study as it is on disk, to be changed and written back while no other call does so."""
    lock = root / FILE.with_name(".replication.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(lock):
        study = read_study(root)
        yield study
        write_study(root, study)


def keep(
    root: Path, name: str, keys: tuple[str, str | None], findings: Sequence[Mapping[str, Any]], run: Mapping[str, Any]
) -> None:
    """Add a run to the file; runs of older code go, and so do those of the same seed.

    `keys` are the fingerprint of the code that made the run, and that of the file when the call began; `BuildError`
    where another call has put in runs of code that is neither.
    """
    with changing(root) as study:
        if study["chapters"].get(name, {}).get("fingerprint") not in {*keys, None}:
            raise BuildError(f"{name}: another call has made runs of other code; this one keeps none over them")
        runs = [other for other in current(study, name, keys[0]) if other["seed"] != run["seed"]]
        # Some findings need the true data, so that no run has all of them; words and bounds may have been refreshed.
        told = {found["id"]: {"sentence": found["sentence"], "bound": found["bound"]} for found in findings}
        told |= study["chapters"][name]["findings"] if runs else {}
        study["chapters"][name] = {
            "fingerprint": keys[0],
            "findings": told,
            "runs": sorted([*runs, run], key=lambda one: one["seed"]),
        }


def refresh(root: Path, names: Sequence[str]) -> None:
    """Sentences and bounds as the notebooks have them now, from a run in `smoke`; refused where runs are stale.

    A finding that such a run lacks, for want of data, stays as it was. A bound that changes when runs of the second
    part are there was set by somebody who could see them: `looked` says so.
    """
    for name in names:
        key = key_of(root, name)
        if not current(read_study(root), name, key):
            raise BuildError(f"{name}: no run of today's code; make replicate")
        with tempfile.TemporaryDirectory(prefix="book-") as work:
            run = order(root, Path("notebooks", f"{name}.ipynb"), Path(work, "run"), {"profile": "smoke"})
            ((_, _, report),) = run_all([run], 1, all_of_them=True)
            if report:
                raise BuildError(report)
            found = {one["id"]: {"sentence": one["sentence"], "bound": one["bound"]} for one in findings_of(run.output)}
        with changing(root) as study:
            chapter = study["chapters"][name]
            if unknown := sorted(set(found) - {id for run in chapter["runs"] for id in run["values"]}):
                raise BuildError(f"{name}: no run has the finding {unknown[0]}")
            second = any(run["part"] == "second" for run in chapter["runs"])
            for id, one in found.items():
                old = chapter["findings"].get(id, one)
                looked = old.get("looked", False) or (second and old["bound"] != one["bound"])
                chapter["findings"][id] = one | ({"looked": True} if looked else {})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", help="this chapter only (may be repeated)")
    parser.add_argument("--part", choices=["first", "second"], help="this part only")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds that one cell may take")
    parser.add_argument("--status", action="store_true", help="say what is there, and run nothing")
    parser.add_argument(
        "--confirm", type=int, metavar="N", help="rewritten code: run N settings, keep all if no value differs"
    )
    clock = (
        "with --confirm: this finding measures a time and may differ, as xl-speed of Transformer-XL (may be repeated)"
    )
    parser.add_argument("--clock", action="append", default=[], metavar="ID", help=clock)
    parser.add_argument("--refresh", action="store_true", help="take over sentences and bounds of the notebooks")
    options = parser.parse_args()
    if options.confirm is not None and options.confirm < 1:
        parser.error(f"--confirm must be at least 1, got {options.confirm}")
    if options.clock and not options.confirm:
        parser.error("--clock goes with --confirm")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    names = [path.stem for path in notebooks_in_toc(ROOT)]
    if unknown := [name for name in options.only or () if name not in names]:
        print(f"There is no chapter {unknown[0]!r}; the chapters are: {', '.join(names)}.", file=sys.stderr)
        return 1
    names = options.only or names
    has = instruction_sets()
    todo = [one for one in settings(has) if options.part in (None, one.part)]
    how = {"jobs": options.jobs, "timeout": options.timeout}
    try:
        if options.status:
            study = read_study(ROOT)
            for name in names:
                there = {run["seed"] for run in current(study, name, key_of(ROOT, name))}
                stale = len(study["chapters"].get(name, {}).get("runs", [])) - len(there)
                said = f", {stale} stale" if stale else ""
                print(f"{name}: {len(there & {one.seed for one in todo})} of {len(todo)} runs{said}")
            return 0
        if options.refresh:
            refresh(ROOT, names)
            return 0
        if lacking := [name for name in INSTRUCTIONS if name not in has]:
            print(f"This processor lacks {', '.join(lacking)}; its runs are made with {has[0]}.")
        if options.confirm:
            return bool(confirm(ROOT, names, todo[: options.confirm], options.clock, **how))
        return bool(replicate(ROOT, names, todo, **how))
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nStopped; the next call goes on where this one was.", file=sys.stderr)
        sys.exit(130)
