"""The book as `make book` makes it, built once a test run for every test that looks at it, whichever worker asks.

It is built in a copy of the tree that knows its repository, as after `make set-repo`, and has one page more, of what no
chapter shows yet. The notebooks are executed afresh in `smoke`, so that a green run means that they ran; the browser
libraries are kept from run to run. Everything lies in `_build/test`: two runs at a time take turns.
"""

import functools
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock
from support import data, views
from support.helpers import ROOT

BUILD = ROOT / "_build" / "test"
TREE = BUILD / "tree"
AXE = BUILD / "npm" / "node_modules" / "axe-core" / "axe.min.js"
SITE_URL = "https://github.com/example-org/example-repo"


def toc() -> list[str]:
    """The pages of `_toc.yml` in its order, sections after their chapter, without suffix."""
    tree = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [*tree.get("chapters", []), *(c for part in tree.get("parts", []) for c in part["chapters"])]
    return [tree["root"], *(page["file"] for chapter in chapters for page in (chapter, *chapter.get("sections", [])))]


NOTEBOOKS = {Path(page).name: ROOT / f"{page}.ipynb" for page in toc() if page.startswith("notebooks/")}


def build(*arguments: str | Path, root: Path = ROOT, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`python -m rtx_book.build ...` of the tree `root`, as the Makefile calls it, with its own build folder."""
    command = [sys.executable, "-m", "rtx_book.build", *arguments, "--build", folder or root / "_build"]
    packages = os.pathsep.join([str(root), str(root / "book")])  # those of that tree
    # The book is made of whatever data the machine has.
    known = os.environ | {"RTX_DATA": data.CACHE, "PYTHONPATH": packages}
    return subprocess.run([str(part) for part in command], cwd=root, env=known, capture_output=True, text=True)


def copy_tree(target: Path) -> Path:
    """What a clone would hold, without asking git: the files at the top, and the four folders but for what is built."""
    built = shutil.ignore_patterns("__pycache__", "node_modules", "*.egg-info", ".ipynb_checkpoints")
    for name in ("book", "notebooks", "rtx_lib", "tests"):
        shutil.copytree(ROOT / name, target / name, ignore=built)
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copyfile(path, target / path.name)
    shutil.rmtree(target / "book" / "results" / "runs", ignore_errors=True)  # a reader's own
    return target


@functools.cache
def take_turn() -> FileLock:
    """Hold `_build/test` until this process ends, or the lock is released."""
    BUILD.mkdir(parents=True, exist_ok=True)
    lock = FileLock(BUILD / "turn.lock")
    lock.acquire()
    return lock


def once(name: str, make: Callable[[], Any], folder: Path = BUILD) -> Any:
    """What `make()` gave to the first process of this test run that asked; the others wait for it."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / f"{name}.lock"):
        kept = folder / f"{name}.{os.environ['RTX_TEST_RUN']}.pickle"
        if kept.is_file():
            return pickle.loads(kept.read_bytes())
        for old in folder.glob(f"{name}*.pickle"):  # of another run, perhaps with classes that are gone
            old.unlink()
        result = make()
        kept.write_bytes(pickle.dumps(result))
        return result


@dataclass(frozen=True)
class Execution:
    """One run of all notebooks: what the build said, where the executed copies are, what each took."""

    returncode: int
    text: str
    folder: Path
    took: dict[str, dict[str, float]]  # seconds, "wall" and "cpu"


@functools.cache
def tree() -> Path:
    """The copy in which the book is built."""
    return once("tree", _make_tree)


def _make_tree() -> Path:
    shutil.rmtree(TREE, ignore_errors=True)
    copy_tree(TREE)
    command = [sys.executable, TREE / "book" / "rtx_book" / "build" / "repository.py", "set", SITE_URL]
    subprocess.run(command, check=True, capture_output=True)
    views.add_to(TREE)
    return TREE


@functools.cache
def execution() -> Execution:
    """Every notebook of the toc and the page of the tests, executed now, in `smoke`."""
    return once("execution", _execute)


def _execute() -> Execution:
    for name in ("executed", "failed"):
        shutil.rmtree(BUILD / name, ignore_errors=True)
    report = BUILD / "durations.json"
    report.unlink(missing_ok=True)
    run = build("execute", "--profile", "smoke", "--timeout", "600", root=tree(), folder=BUILD)
    took = json.loads(report.read_text()) if report.exists() else {}
    return Execution(run.returncode, run.stdout + run.stderr, BUILD / "executed", took)


@dataclass(frozen=True)
class Site:
    """One built site: what the build said, all that Sphinx said, where the pages are."""

    returncode: int
    text: str
    log: str
    folder: Path


@functools.cache
def site() -> Site:
    """The site, from the notebooks executed in this run; never one of an earlier run."""
    execution()
    return once("site", _build_site)


def _build_site() -> Site:
    for name in ("site.key", "sphinx.log"):
        (BUILD / name).unlink(missing_ok=True)
    shutil.rmtree(BUILD / "site", ignore_errors=True)
    run = build("site", root=tree(), folder=BUILD)
    log = BUILD / "sphinx.log"
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return Site(run.returncode, run.stdout + run.stderr, text, BUILD / "site")
