"""Run the notebooks of the table of contents, two at a time, and skip those that nothing has changed.

Each runs in a process of its own (a pool of one worker, which calls papermill), so that whatever kills a worker or its
kernel concerns one notebook alone. The key of a notebook is a hash of everything its outputs depend on: its cells, the
whole library, the installed versions of the pinned packages, the parameters, the records and the data files in the
cache. It stands in the metadata of the executed copy, which is moved into place in one step: an interrupted run leaves
the old copy or the new one, and the next run goes on where it stopped.
"""

import hashlib
import json
import multiprocessing
import os
import platform
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from rtx_book.paths import chapters_of

KERNEL = "rtx-book"
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class BuildError(Exception):
    """A failure whose message is all the reader needs."""


def notebooks_in_toc(root: Path) -> list[Path]:
    """The notebooks of `_toc.yml` in its order, relative to `root`."""
    found = [Path("notebooks", f"{name}.ipynb") for name in chapters_of(root)]
    if missing := [str(path) for path in found if not (root / path).is_file()]:
        raise BuildError(f"_toc.yml names {', '.join(missing)}, which does not exist.")
    return found


def read_notebook(path: Path) -> dict[str, Any]:
    """The notebook as nested dicts; `BuildError` when it is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BuildError(f"{path} is not a readable notebook: {error}") from error


def tags(cell: Mapping[str, Any]) -> list[str]:
    return cell.get("metadata", {}).get("tags", [])


def source(cell: Mapping[str, Any]) -> str:
    return "".join(cell["source"])


def findings_of(executed: Path) -> list[dict[str, Any]]:
    """What the trainings of an executed copy showed, as the library's `Finding` has it, and whether it held."""
    from rtx_book.claims import findings  # in a worker it would be loaded for nothing

    return [asdict(found) | {"held": found.held} for found in findings.findings_of(read_notebook(executed))]


# ------------------------------------------------------------------------------------------------ keys


def add_files(digest: Any, root: Path, paths: Iterable[Path]) -> None:
    for path in sorted(paths):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)} ".encode() + content)


def installed_versions(requirements: str) -> list[str]:
    """`name version` of every package that a requirements text names, as installed here."""
    names = {name.lower() for name in re.findall(r"^[A-Za-z0-9][\w.-]*", requirements, flags=re.M)}
    there = {one.name.lower(): one.version for one in metadata.distributions()}
    return [f"python {platform.python_version()}", *(f"{name} {there.get(name, 'absent')}" for name in sorted(names))]


def cached_data() -> list[Path]:
    """The known data files that the cache holds at present."""
    from rtx_lib.tasks import files

    return [path for name in files.FILES if (path := files.cache_folder() / name).is_file()]


def shared_key(root: Path, parameters: Mapping[str, Any], data: Sequence[Path]) -> str:
    """Hash of all that every notebook depends on."""
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True, default=str).encode())
    digest.update("\n".join(installed_versions((root / "requirements.txt").read_text())).encode())
    code = (path for folder in ("rtx_lib", "book/rtx_book") for path in (root / folder).rglob("*"))
    add_files(digest, root, [path for path in code if path.is_file() and "__pycache__" not in path.parts])
    # Not the replication study: its rates are put in when the pages are staged.
    records = (path for path in (root / "book" / "results").rglob("*.json*") if "replication" not in path.name)
    add_files(digest, root, [*records, *(root / "book").glob("guide.yml")])
    for path in data:
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def notebook_key(path: Path, shared: str) -> str:
    """Hash of a notebook's cells (type, tags, source; no outputs, no counters) and of `shared`."""
    cells = [(c["cell_type"], tags(c), source(c)) for c in read_notebook(path)["cells"]]
    return hashlib.sha256(f"{shared} {json.dumps(cells)}".encode()).hexdigest()


# ------------------------------------------------------------------------------------------------ running


class Order(NamedTuple):
    """A notebook to run, and where its executed copy goes: into a folder that is empty and its own."""

    notebook: Path
    output: Path
    parameters: Mapping[str, Any]
    variables: Mapping[str, str]  # of the kernel's environment
    timeout: int = 900  # seconds that one cell may take


class Took(NamedTuple):
    """Seconds of a notebook: on the clock, and of the processor (the worker's and its kernel's)."""

    wall: float
    cpu: float


def order(root: Path, notebook: Path, folder: Path, parameters: Mapping[str, Any], **more: Any) -> Order:
    """For a kernel with one thread, the library of the tree `root`, and nothing of the user's IPython settings."""
    root = root.resolve()
    path = os.pathsep.join(filter(None, [str(root), str(root / "book"), os.environ.get("PYTHONPATH")]))
    variables = dict.fromkeys(THREADS, "1") | {"PYTHONPATH": path, "IPYTHONDIR": str(folder / "ipython")}
    variables |= {"RTX_DOWNLOAD": "0", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}  # what could be had was fetched before
    variables |= more.pop("variables", {})
    return Order((root / notebook).resolve(), folder / notebook.name, parameters, variables, **more)


def begin_worker() -> None:
    """Ctrl-C is the parent's matter. A worker ends with its parent, and its kernel with it: ipykernel sees to that."""

    def end_with_parent() -> None:
        if parent := multiprocessing.parent_process():
            parent.join()
        os._exit(1)

    signal.signal(signal.SIGINT, lambda *_: None)  # not SIG_IGN, which the kernel would inherit
    threading.Thread(target=end_with_parent, daemon=True).start()


def run_one(what: Order) -> tuple[float, str]:
    """In a worker: papermill runs a notebook. Its CPU seconds, and the report of a failure."""
    import papermill

    # A kernel that is this very interpreter, whatever `python3` means to the Jupyter of this machine.
    argv = [sys.executable, "-m", "ipykernel_launcher", "--log-level=ERROR", "-f", "{connection_file}"]
    variables = {name: value.replace("$", "$$") for name, value in what.variables.items()}
    spec = what.output.parent / "kernels" / KERNEL / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": argv, "display_name": "Book", "language": "python", "env": variables}))
    os.environ |= {"JUPYTER_PATH": str(what.output.parent), "JUPYTER_PLATFORM_DIRS": "1"}
    seconds = {"execution_timeout": what.timeout, "start_timeout": what.timeout}
    how = {"kernel_name": KERNEL, "language": "python", "progress_bar": False} | seconds
    report = ""
    with tempfile.TemporaryDirectory(prefix="notebook-") as empty:
        try:
            papermill.execute_notebook(what.notebook, what.output, dict(what.parameters), cwd=empty, **how)
        except Exception as error:  # of a cell, of its time, of its kernel: each says which
            told = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip().splitlines()
            lines = [f"{what.notebook.name}: {type(error).__name__}", *(row[:110] for row in told[-30:])]
            report = "\n    ".join(lines)
    return sum(os.times()[:4]), report


def run_all(orders: Iterable[Order], jobs: int, *, all_of_them: bool) -> Iterator[tuple[Order, Took, str]]:
    """Run notebooks, `jobs` at a time: each order as it ends, what it took, the report where it failed.

    Unless `all_of_them` are to run, nothing is started after a failure, and what runs already is finished. Whoever
    leaves early, by Ctrl-C for one, ends what runs.
    """
    waiting, spawn = [*orders], multiprocessing.get_context("spawn")
    running: dict[Any, Any] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                what, pool = waiting.pop(0), ProcessPoolExecutor(1, mp_context=spawn, initializer=begin_worker)
                running[pool.submit(run_one, what)] = what, pool, time.monotonic()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                what, pool, start = running.pop(future)
                try:
                    cpu, report = future.result()
                except BrokenExecutor:
                    cpu, report = float("nan"), f"{what.notebook.name}: its worker was killed (out of memory?)"
                pool.shutdown()
                waiting = waiting if all_of_them or not report else []
                yield what, Took(time.monotonic() - start, cpu), report
    finally:
        for worker in multiprocessing.active_children() if running else ():
            worker.kill()


@dataclass(frozen=True)
class Runner:
    """Executes notebooks of the tree `root` into `out`; copies that end in an error are kept in `failed`."""

    root: Path
    out: Path
    failed: Path
    parameters: Mapping[str, Any]
    data: Sequence[Path] = ()
    timeout: int = 900
    jobs: int = 2
    say: Callable[[str], None] = lambda line: print(line, flush=True)

    def run(self, notebooks: Sequence[Path]) -> dict[str, Took]:
        """Execute what changed; what each notebook took. Raises `BuildError` at a failure."""
        shared = shared_key(self.root, self.parameters, self.data)
        keys = {path.name: notebook_key(self.root / path, shared) for path in notebooks}
        todo = [path for path in notebooks if not self.is_current(path, keys[path.name])]
        self.say(f"Notebooks: {len(todo)} to execute, {len(notebooks) - len(todo)} unchanged")
        took, reports = {}, []
        with tempfile.TemporaryDirectory(prefix="book-", ignore_cleanup_errors=True) as scratch:
            folder = Path(scratch)
            orders = [
                order(self.root, path, folder / path.stem, self.parameters, timeout=self.timeout) for path in todo
            ]
            for what, seconds, report in run_all(orders, self.jobs, all_of_them=False):
                name, end = what.output.name, "FAILED after" if report else "done in"
                self.say(f"  {what.output.stem}: {end} {seconds.wall:.1f} s ({seconds.cpu:.1f} s of CPU)")
                took[what.output.stem] = seconds
                if not report:
                    publish(what.output, self.out / name, keys[name])
                else:
                    self.failed.mkdir(parents=True, exist_ok=True)
                    kept = shutil.copy(what.output, self.failed) if what.output.exists() else "none"
                    reports.append(f"{report}\n  the executed copy: {kept}")
        if reports:
            raise BuildError("\n\n".join(reports))
        return took

    def is_current(self, path: Path, key: str) -> bool:
        """Whether the executed copy was made from exactly what is there now."""
        copy = self.out / path.name
        return copy.exists() and read_notebook(copy)["metadata"].get("key") == key


def publish(partial: Path, final: Path, key: str) -> Path:
    """Move an executed copy into place, in one step and with its key."""
    notebook = read_notebook(partial)
    notebook["metadata"]["key"] = key
    final.parent.mkdir(parents=True, exist_ok=True)
    beside = final.with_suffix(".part")  # on the same disk
    beside.write_text(json.dumps(notebook), encoding="utf-8")
    os.replace(beside, final)
    return final
