"""Run the notebooks of the table of contents, two at a time, and skip those that nothing has changed.

The key of a notebook is a hash of everything its outputs depend on: its cells, the whole library, the
installed versions of the pinned packages, the parameters, the records and the data files in the cache.
An executed copy is moved into place in one step and its key is written last, so that an interrupted run
leaves either the old pair or no key, and the next run goes on where it stopped. Beside each copy lie its findings,
``NN_name.findings.json``: what its trainings showed, and whether that is what the text says.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import yaml

PROFILES = ("smoke", "book", "paper")
KERNEL = "rtx-book"
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


class BuildError(Exception):
    """A failure whose message is all the reader needs."""


def notebooks_in_toc(root: Path) -> list[Path]:
    """The notebooks of `_toc.yml` in its order, relative to `root`."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [*toc.get("chapters", []), *(c for part in toc.get("parts", []) for c in part["chapters"])]
    files = [Path(chapter["file"]) for chapter in chapters]
    found = [f.with_suffix(".ipynb") for f in files if f.parts[0] == "notebooks"]
    if missing := [str(f) for f in found if not (root / f).is_file()]:
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


# ------------------------------------------------------------------------------------------------ parameters


def parameter_names(notebook: Mapping[str, Any]) -> list[str]:
    """Names assigned in the cell tagged `parameters`; none without such a cell."""
    names: list[str] = []
    for cell in notebook["cells"]:
        if "parameters" in tags(cell):
            for node in ast.parse(source(cell)).body:
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


def check_parameters(path: Path, parameters: Mapping[str, Any]) -> None:
    """Refuse what the notebook does not have; papermill itself only warns and injects it."""
    known = parameter_names(read_notebook(path))
    if unknown := [name for name in parameters if name not in known]:
        has = ", ".join(known) or "nothing"
        raise BuildError(f"{path.name} has no parameter {unknown[0]!r}; its parameters cell has {has}.")
    profile = parameters.get("profile", PROFILES[0])
    if profile not in PROFILES:
        raise BuildError(f"Unknown profile {profile!r}; the profiles are: {', '.join(PROFILES)}.")


# ------------------------------------------------------------------------------------------------ keys


def add_files(digest: Any, root: Path, files: Sequence[Path]) -> None:
    for path in sorted(files):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)} ".encode())
        digest.update(content)


def installed_versions(requirements: str) -> list[str]:
    """`name version` of every package that a requirements text names, as installed here."""
    names = {m.group(0).lower() for m in re.finditer(r"^[A-Za-z0-9][\w.-]*", requirements, flags=re.M)}
    versions = [f"python {platform.python_version()}"]
    for name in sorted(names):
        try:
            versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            versions.append(f"{name} absent")
    return versions


@contextlib.contextmanager
def imported(root: Path) -> Iterator[None]:
    """Imports find the library of the tree `root` first."""
    sys.path.insert(0, str(root))
    try:
        yield
    finally:
        sys.path.remove(str(root))


def cached_data(root: Path) -> list[Path]:
    """The known data files that the cache holds at present."""
    with imported(root):
        try:
            from rtx_lib.tasks import download
        except ImportError:  # a library without downloads reads no data
            return []
    folder = download.cache_folder()
    return [folder / name for name in download.FILES if (folder / name).is_file()]


def shared_key(root: Path, parameters: Mapping[str, Any], data: Sequence[Path]) -> str:
    """Hash of all that every notebook depends on."""
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True, default=str).encode())
    digest.update("\n".join(installed_versions((root / "requirements.txt").read_text())).encode())
    library = (root / "rtx_lib").rglob("*")
    add_files(digest, root, [path for path in library if path.is_file() and "__pycache__" not in path.parts])
    # Not the replication study: its rates are put in when the pages are staged.
    records = (path for path in (root / "book" / "results").rglob("*.json*") if path.name != "replication.json")
    add_files(digest, root, [*records, *(root / "book").glob("guide.yml")])
    for path in data:
        digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def notebook_key(path: Path, shared: str) -> str:
    """Hash of a notebook's cells (type, tags, source; no outputs, no counters) and of `shared`."""
    cells = [(c["cell_type"], tags(c), source(c)) for c in read_notebook(path)["cells"]]
    return hashlib.sha256(f"{shared} {json.dumps(cells)}".encode()).hexdigest()


# ------------------------------------------------------------------------------------------------ running


def write_kernelspec(folder: Path) -> None:
    """A kernel that is this very interpreter, whatever `python3` means to the Jupyter of this machine."""
    spec = folder / "kernels" / KERNEL
    spec.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    description = {"argv": argv, "display_name": "Book", "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(description))


def failing_cell(executed: Path) -> tuple[int, str]:
    """Number (from 1, as in the source notebook) and text of the cell that failed or was running last."""
    cells = read_notebook(executed)["cells"] if executed.exists() else []
    added = {"injected-parameters", "papermill-error-cell-tag"}
    own = [cell for cell in cells if not added & set(tags(cell))]
    last = (0, "")
    for number, cell in enumerate(own, start=1):
        state = cell.get("metadata", {}).get("papermill", {})
        if state.get("start_time"):
            last = number, source(cell)
        if state.get("exception") or any(o["output_type"] == "error" for o in cell.get("outputs", [])):
            return number, source(cell)
    return last


def findings_of(root: Path, executed: Path) -> list[dict[str, Any]]:
    """The findings in an executed copy, as the library's `Finding` has them."""
    with imported(root):
        try:
            from rtx_lib.evidence.findings import findings_of
        except ImportError:  # a library without findings
            return []
    return [asdict(found) | {"held": found.held} for found in findings_of(read_notebook(executed))]


def run_one(notebook: Path, output: Path, parameters: Mapping[str, Any], timeout: int) -> str | None:
    """Execute one notebook with papermill in this process; the report of the failure, or None."""
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    trace: list[str] = []
    with tempfile.TemporaryDirectory(prefix="notebook-") as empty:
        try:
            papermill.execute_notebook(
                notebook,
                output,
                parameters=dict(parameters),
                kernel_name=KERNEL,
                language="python",
                cwd=empty,
                progress_bar=False,
                execution_timeout=timeout,
                start_timeout=timeout,
            )
            return None
        except papermill.PapermillExecutionError as error:
            what = f"{error.ename}: {error.evalue.strip()[:600]}"
            trace = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback)).splitlines()
        except CellTimeoutError:
            what = f"timeout: not finished after {timeout} s"
        except DeadKernelError:
            what = "the kernel died (out of memory?)"
    number, code = failing_cell(output)
    lines = [f"{notebook.name}, cell {number}: {what}", "  the cell:"]
    lines += [f"    | {line[:100]}" for line in code.splitlines()[:8]]
    if trace:
        lines += ["  the end of the traceback:", *(f"    {line[:110]}" for line in trace[-14:])]
    return "\n".join(lines)


def kill_tree(process: subprocess.Popen[str]) -> None:
    """End a worker with its kernel, which lives in a session of its own."""
    with contextlib.suppress(psutil.NoSuchProcess):
        parent = psutil.Process(process.pid)
        children = parent.children(recursive=True)
        for member in [parent, *children]:
            with contextlib.suppress(psutil.NoSuchProcess):
                member.kill()
        # The worker itself is left to its Popen: reaped here, it would seem to have ended with code 0.
        psutil.wait_procs(children, timeout=5)


class Took(NamedTuple):
    """Seconds of a notebook: on the clock, and of the processor (its own and its kernel's; nan where unknown)."""

    wall: float
    cpu: float


@dataclass
class Runner:
    """Executes notebooks of the tree `root` into `out`; copies that end in an error are kept in `failed`."""

    root: Path
    out: Path
    failed: Path
    parameters: Mapping[str, Any]
    data: Sequence[Path] = ()
    timeout: int = 900
    jobs: int = 2
    say: Callable[[str], None] = field(default=lambda line: print(line, flush=True))
    workers: list[subprocess.Popen[str]] = field(default_factory=list)
    stopping: bool = False

    def run(self, notebooks: Sequence[Path]) -> dict[str, Took]:
        """Execute what changed; what each notebook took. Raises `BuildError` at a failure.

        After a failure nothing new is started, and what runs already is finished and kept.
        """
        for path in notebooks:
            check_parameters(self.root / path, self.parameters)
        shared = shared_key(self.root, self.parameters, self.data)
        keys = {path: notebook_key(self.root / path, shared) for path in notebooks}
        todo = [path for path in notebooks if not self.is_current(path, keys[path])]
        self.say(f"Notebooks: {len(todo)} to execute, {len(notebooks) - len(todo)} unchanged")
        if not todo:
            return {}
        self.out.mkdir(parents=True, exist_ok=True)
        self.failed.mkdir(parents=True, exist_ok=True)
        took: dict[str, Took] = {}
        reports: list[str] = []
        pool = ThreadPoolExecutor(self.jobs)
        try:
            futures = {pool.submit(self.execute, path, keys[path]): path for path in todo}
            for future in as_completed(futures):
                if future.cancelled():
                    continue
                took[futures[future].stem], report = future.result()
                if report:
                    reports.append(report)
                    for other in futures:  # one by one: as_completed never hears of what shutdown() cancels
                        other.cancel()
        finally:
            self.stop()  # reached early by Ctrl-C: no worker may outlive the build
            pool.shutdown(wait=True, cancel_futures=True)
        if reports:
            raise BuildError("\n\n".join(reports))
        return took

    def stop(self) -> None:
        """End what runs, and start nothing more."""
        self.stopping = True
        for worker in [*self.workers]:
            kill_tree(worker)

    def is_current(self, path: Path, key: str) -> bool:
        """Whether the executed copy was made from exactly what is there now."""
        mark = self.out / f"{path.stem}.key"
        return (self.out / path.name).exists() and mark.exists() and mark.read_text() == key

    def execute(self, path: Path, key: str) -> tuple[Took, str | None]:
        """Run one notebook in a process of its own; what it took, and the report when it failed."""
        self.say(f"  {path.stem}: started")
        with tempfile.TemporaryDirectory(prefix="book-") as scratch:
            partial = Path(scratch) / path.name
            took, report = self.in_worker(self.root / path, partial, self.parameters)
            if report is None:
                publish(partial, self.out / path.name, key, findings_of(self.root, partial))
                self.say(f"  {path.stem}: done in {took.wall:.1f} s ({took.cpu:.1f} s of CPU)")
                return took, None
            if partial.exists():
                shutil.move(partial, self.failed / path.name)
                report += f"\n  the executed copy: {self.failed / path.name}"
            if not self.stopping:
                self.say(f"  {path.stem}: FAILED after {took.wall:.1f} s")
            return took, report

    def in_worker(
        self, notebook: Path, output: Path, parameters: Mapping[str, Any], **changes: str
    ) -> tuple[Took, str | None]:
        """Execute `notebook` into `output`; `changes` are variables of its environment besides the usual ones."""
        start = time.monotonic()
        work = output.parent
        write_kernelspec(work)
        order = {
            "notebook": str(notebook.resolve()),
            "output": str(output),
            "parameters": dict(parameters),
            "timeout": self.timeout,
        }
        worker = subprocess.Popen(
            [sys.executable, __file__, json.dumps(order)],
            env=self.environment(work) | changes,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.workers.append(worker)
        if self.stopping:
            kill_tree(worker)
        answer, noise = worker.communicate()
        self.workers.remove(worker)
        cpu = re.search(r"^CPU seconds: ([\d.]+)$", noise, flags=re.M)
        took = Took(time.monotonic() - start, float(cpu[1]) if cpu else math.nan)
        if worker.returncode == 0 and not self.stopping:
            return took, None
        return took, answer.strip() or f"{notebook.name}: its worker ended, code {worker.returncode}\n{noise[-2000:]}"

    def environment(self, work: Path) -> dict[str, str]:
        """One thread a worker, this tree's library, and nothing of the user's Jupyter or IPython settings."""

        def first(path: Path, name: str) -> str:
            return os.pathsep.join([str(path), *filter(None, [os.environ.get(name)])])

        return {
            **os.environ,
            "RTX_DOWNLOAD": "0",  # what could be had was fetched before
            **dict.fromkeys(THREADS, "1"),
            "PYTHONPATH": first(self.root.resolve(), "PYTHONPATH"),
            "JUPYTER_PATH": first(work, "JUPYTER_PATH"),
            "JUPYTER_PLATFORM_DIRS": "1",
            "IPYTHONDIR": str(work / "ipython"),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        }


def publish(partial: Path, final: Path, key: str, findings: Sequence[Mapping[str, Any]] = ()) -> None:
    """Move an executed copy and its findings into place: the old key goes first, the new one comes last."""
    mark = final.with_suffix(".key")
    mark.unlink(missing_ok=True)
    beside = final.with_suffix(".part")  # on the same disk, so that the last move is one step
    shutil.copyfile(partial, beside)
    os.replace(beside, final)
    beside.write_text(json.dumps(findings, indent=1) + "\n")
    os.replace(beside, final.with_suffix(".findings.json"))
    beside.write_text(key)
    os.replace(beside, mark)


if __name__ == "__main__":  # the worker's side: one order, the report on stdout
    todo = json.loads(sys.argv[1])
    failure = run_one(Path(todo["notebook"]), Path(todo["output"]), todo["parameters"], todo["timeout"])
    print(failure or "")
    print(f"CPU seconds: {sum(os.times()[:4]):.2f}", file=sys.stderr)  # its own and those of the kernel
    sys.exit(1 if failure else 0)
