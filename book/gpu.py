"""What the project owes a GPU, in one command: `make gpu`, at most eight minutes, then `make gpu-merge`.

The tests that need a GPU, every chapter's code in `smoke`, and the speed of the kernels. Nothing is installed: it takes
a Python that has torch, says in a line what is missing beside it, and runs the chapters without Jupyter. All that it
writes goes into one folder: `summary.json`, `speed.json` and `log.txt`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import linecache
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TESTS = ["linear", "recurrence", "matrix_state"]  # of tests/kernels
# The quick ones first: the last ones may find no time left.
CASES = [
    "indrnn",
    "linear",
    "diagonal",
    "selective",
    "matrix-state",
    "rnn",
    "cells",
    "qrnn",
    "attention",
    "transformer",
]
CASES += ["txl", "local-rnn", "race"]
NEEDED = {"the tests": ["pytest"], "the chapters": ["numpy", "scipy", "sklearn", "matplotlib", "yaml", "tqdm"]}
SECONDS = 440.0  # in all, and then it writes
CACHES = ("HOME", "MPLCONFIGDIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")


# ------------------------------------------------------------------------------------------------ one chapter


def chapter(path: Path, device: str) -> None:
    """Run the code of a notebook in `smoke`; the traceback of a cell that fails goes where all do."""
    for name in ("IPython.display", "ipywidgets", "bertviz"):
        if importlib.util.find_spec(name.partition(".")[0]) is None:
            stand_in(name)
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, start=1):
        tags, text = cell["metadata"].get("tags", []), "".join(cell["source"])
        if "bootstrap" in tags:
            continue
        if "parameters" in tags:
            text += f'\nprofile, device = "smoke", {device!r}'
        title = f"<{path.stem}, cell {number}>"
        linecache.cache[title] = (len(text), None, text.splitlines(keepends=True), title)
        exec(compile(text, title, "exec"), names)


def stand_in(name: str) -> None:
    """A module from which everything can be taken, and which shows nothing."""

    class Anything:
        def __init__(self, data: Any = None, *_: Any, **more: Any) -> None:
            self.data, self.children, self.value = data, (), more.get("value", "")

        def __getattr__(self, name: str) -> Any:
            return lambda *_, **more: None

    def take(name: str) -> type:
        if name.startswith("__"):  # which is asked of every module
            raise AttributeError(name)
        return Anything

    module = types.ModuleType(name)
    module.__getattr__ = take  # type: ignore[method-assign]
    sys.modules[name] = module
    if above := name.rpartition(".")[0]:
        sys.modules[above] = types.ModuleType(above)
        known = {name.rpartition(".")[2]: module, "get_ipython": lambda: None, "version_info": (9, 0)}  # by matplotlib
        sys.modules[above].__dict__.update(known)


# ------------------------------------------------------------------------------------------------ all steps


class Steps:
    """Runs commands of one kind of machine, each with a limit, and keeps what they said."""

    def __init__(self, scratch: Path) -> None:
        folders = {name: str(scratch / name.lower()) for name in CACHES}
        for folder in folders.values():
            Path(folder).mkdir()
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        more = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "agg", "RTX_DOWNLOAD": "0"}
        self.known, self.scratch = os.environ | folders | more, scratch
        self.end, self.said = time.monotonic() + SECONDS, {}

    def run(self, name: str, limit: float, *command: str | Path) -> dict[str, Any]:
        """Whether it ended well, in how many seconds, and the last line of what it said."""
        start = time.monotonic()
        limit = min(limit, self.end - start)
        if limit < 1:
            return {"ok": False, "seconds": 0, "said": "no time was left"}
        log = self.scratch / f"{name}.log"
        with log.open("w") as file:
            line = [sys.executable, *map(str, command)]
            how = {"stdout": file, "stderr": subprocess.STDOUT, "start_new_session": True}
            process = subprocess.Popen(line, cwd=self.scratch, env=self.known, **how)
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # what it started as well
                status = process.wait()
                file.write(f"\nstopped after {limit:.0f} s\n")
        self.said[name] = text = log.read_text(errors="replace")
        last = next((row for row in reversed(text.splitlines()) if row.strip()), "")
        return {"ok": status == 0, "seconds": round(time.monotonic() - start, 1), "said": last[:300]}


def missing(names: list[str]) -> list[str]:
    return [name for name in names if importlib.util.find_spec(name) is None]


def run_tests(steps: Steps) -> dict[str, Any]:
    """The tests that need a GPU, with none of our settings: these ask for packages that may be missing."""
    files = [ROOT / "tests" / "kernels" / f"test_{name}.py" for name in TESTS]
    report = steps.scratch / "tests.xml"
    alone = ["-p", "no:cacheprovider", "--noconftest", "-c", os.devnull, "--rootdir", ROOT, "--import-mode=importlib"]
    found = steps.run("tests", 200, "-m", "pytest", "-q", *alone, "-k", "on_a_gpu", f"--junitxml={report}", *files)
    cases = ElementTree.parse(report).iter("testcase") if report.exists() else ()
    kinds = [({child.tag for child in case}, case.get("name")) for case in cases]
    failed = [name for kind, name in kinds if kind & {"failure", "error"}]
    skipped = sum("skipped" in kind for kind, _ in kinds)
    return found | {"passed": len(kinds) - len(failed) - skipped, "skipped": skipped, "failed": failed}


def everything(out: Path, device: str) -> int:
    """Run all steps; 1 if one failed, 2 without a GPU."""
    try:
        import torch
    except ImportError:
        print(f"{sys.executable} has no torch: name a Python that has it, make gpu GPU_PYTHON=python3")
        return 2
    if device == "cuda" and not torch.cuda.is_available():
        print("torch sees no GPU here: nothing was run (GPU_DEVICE=cpu tries it on the CPU)")
        return 2
    card = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    told: dict[str, Any] = {"card": card, "torch": torch.__version__, "python": sys.version.split()[0], "left out": []}
    for what, names in NEEDED.items():
        if lacking := missing(names):
            told["left out"].append(f"{what}, for want of {', '.join(lacking)}")
    out.mkdir(parents=True, exist_ok=True)
    paths = sorted((ROOT / "notebooks").glob("*.ipynb"))
    with tempfile.TemporaryDirectory(prefix="gpu-") as scratch:
        steps = Steps(Path(scratch))
        # What is right is found out side by side, what is fast one after the other.
        with ThreadPoolExecutor(max(2, min(8, (os.cpu_count() or 2) // 2))) as pool:
            if not missing(NEEDED["the tests"]):
                told["tests"] = pool.submit(run_tests, steps)
            if not missing(NEEDED["the chapters"]):
                told["chapters"] = {
                    path.stem: pool.submit(steps.run, path.stem, 240, __file__, "chapter", path, "--device", device)
                    for path in paths
                }
        told = {name: value.result() if hasattr(value, "result") else value for name, value in told.items()}
        told["chapters"] = {name: one.result() for name, one in told.get("chapters", {}).items()}
        folder = Path(scratch, "speed")
        bench = ["-m", "rtx_lib.bench", "--device", device, "--record", "--out", folder]
        told["speed"] = {name: steps.run(f"speed-{name}", 120, *bench, name) for name in CASES}
        told["seconds"] = round(time.monotonic() - steps.end + SECONDS)
        records = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
        logs = [f"==== {name}\n{text}" for name, text in steps.said.items()]
    for name, text in (
        ("speed.json", json.dumps(records, indent=1)),
        ("summary.json", json.dumps(told, indent=1)),
        ("log.txt", "\n".join(logs)),
    ):
        (out / name).write_text(text + "\n", encoding="utf-8")
    return summary(told, out)


def summary(told: dict[str, Any], out: Path) -> int:
    """Print what failed; the exit status."""
    print(f"{told['card']}, torch {told['torch']}, {told['seconds']} s; {out} has all of it")
    for line in told["left out"]:
        print(f"  left out: {line}")
    if tests := told.get("tests"):
        print(f"  tests: {tests['passed']} passed, {len(tests['failed'])} failed, {tests['skipped']} skipped")
    bad = [f"test {name}" for name in told.get("tests", {}).get("failed", [])]
    for kind in ("chapters", "speed"):
        good = [name for name, one in told[kind].items() if one["ok"]]
        print(f"  {kind}: {len(good)} of {len(told[kind])}")
        bad += [f"{kind}, {name}: {one['said']}" for name, one in told[kind].items() if not one["ok"]]
    if tests and not tests["ok"] and not tests["failed"]:
        bad.append(f"tests: {tests['said']}")
    print(*(f"  FAILED {line}" for line in bad), sep="\n" if bad else "")
    return int(bool(bad))


def merge(out: Path, results: Path) -> int:
    """Take the speeds over into the book's records, a file a case."""
    if not (out / "speed.json").is_file():
        print(f"{out} has no speed.json: make gpu writes it")
        return 1
    for record in json.loads((out / "speed.json").read_text(encoding="utf-8")):
        device = "cuda" if record["machine"]["gpu"] else "cpu"
        path = results / "speed" / f"{record['case']}-{device}.json"
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"{path.name}: {len(record['rows'])} rows, {record['machine']['gpu'] or 'CPU'}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["run", "merge", "chapter"])
    parser.add_argument("notebook", nargs="?", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "gpu")
    options = parser.parse_args()
    if options.step == "chapter":
        chapter(options.notebook, options.device)
    elif options.step == "merge":
        sys.exit(merge(options.out, ROOT / "book" / "results"))
    else:
        sys.exit(everything(options.out, options.device))
