"""What the project owes a GPU, in one command: `make gpu`, at most eight minutes, then `make gpu-merge`.

The tests that need a GPU, every chapter's code in `smoke`, and the speed of the kernels. Nothing is installed: it takes
a Python that has torch, says in a line what is missing beside it, and runs the chapters without Jupyter. All that it
writes goes into one folder, anew after every step: `summary.json`, `speed.jsonl` and `log.txt`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import linecache
import os
import re
import signal
import site
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
TESTS = ["linear", "recurrence", "matrix_state"]  # of tests/lib/kernels
# The quick ones first: the last ones may find no time left.
CASES = ["indrnn", "linear", "diagonal", "selective", "matrix-state", "rnn", "cells", "qrnn"]
CASES += ["attention", "transformer", "txl", "local-rnn", "sentiment", "race", "told", "peers"]
PACKAGES = ["numpy", "scipy", "sklearn", "matplotlib", "yaml"]
NEEDED = {"tests": ["pytest"], "chapters": PACKAGES, "speed": PACKAGES[:2]}
SECONDS = 440.0  # in all, and then it writes
CACHES = ["HOME", "TMPDIR", "XDG_CACHE_HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR"]
CACHES += ["TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"]

# A module from which everything can be taken, and which shows nothing.
ANYTHING = """class Anything:
    def __init__(self, data="", *_, **more):
        self.data, self.children, self.value = data, (), more.get("value", "")

    def __iter__(self):
        return iter(self.data)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **more: None


def __getattr__(name):
    if name.startswith("__"):  # which is asked of every module
        raise AttributeError(name)
    return Anything
"""
HEAD_VIEW = """class head_view:
    def __init__(self, **_):
        self.data = "</script><script>drawCheckboxes(0, svg, layerAttention);</script>"
"""
# By package the files that take its place where it is missing. matplotlib asks IPython for the two names.
STAND_INS = {
    "IPython": {"__init__": "version_info = (9, 0)\n\n\ndef get_ipython():\n    return None\n", "display": ANYTHING},
    "bertviz": {"__init__": HEAD_VIEW},
    **{name: {"__init__": ANYTHING} for name in ("ipywidgets", "tqdm")},
}


def missing(names: list[str]) -> list[str]:
    return [name for name in names if importlib.util.find_spec(name) is None]


def chapter(path: Path, device: str) -> None:
    """Run the code of a notebook in `smoke`; the traceback of a cell that fails goes where all do."""
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


class Steps:
    """Runs commands of one kind of machine, each with a limit, and keeps what they said."""

    def __init__(self, scratch: Path) -> None:
        folders = {name: str(scratch / name.lower()) for name in CACHES}
        for folder in folders.values():
            Path(folder).mkdir()
        files = {name: STAND_INS[name] for name in missing([*STAND_INS])}
        # The tests' own folder, wherever a package of that name is installed.
        files["kernels"] = {"__init__": f"__path__ = [{str(ROOT / 'tests' / 'lib' / 'kernels')!r}]\n"}
        for package, texts in files.items():
            (scratch / "first" / package).mkdir(parents=True)
            for name, text in texts.items():
                (scratch / "first" / package / f"{name}.py").write_text(text)
        own = [str(ROOT / name) for name in (".", "book", "tests", "tests/lib")]
        path = [str(scratch / "first"), *own, os.environ.get("PYTHONPATH", "")]
        more = {"PYTHONPATH": os.pathsep.join(filter(None, path)), "PYTHONUSERBASE": site.getuserbase()}
        more |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", "MPLBACKEND": "agg", "RTX_DOWNLOAD": "0"}
        more |= {"OMP_NUM_THREADS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
        self.known, self.scratch = os.environ | folders | more, scratch
        self.end = time.monotonic() + SECONDS
        self.said: dict[str, str] = {}
        self.running: set[int] = set()

    def run(self, name: str, limit: float, *command: str | Path) -> dict[str, Any]:
        """Whether it ended well, in how many seconds, and the last line of what it said."""
        start = time.monotonic()
        limit = min(limit, self.end - start)
        if limit < 1:
            return {"ok": False, "seconds": 0, "said": "no time was left"}
        log, status = self.scratch / f"{name}.log", None
        with log.open("w") as file:
            line = [sys.executable, *map(str, command)]
            how: dict[str, Any] = {"cwd": self.scratch, "env": self.known, "start_new_session": True}
            process = subprocess.Popen(line, stdout=file, stderr=subprocess.STDOUT, **how)
            self.running.add(process.pid)
            try:
                # `end` is read again: who ends all of it sets that first and stops what runs after.
                status = process.wait(max(0.0, min(limit, self.end - time.monotonic())))
            except subprocess.TimeoutExpired:
                file.write(f"\nstopped after {limit:.0f} s\n")
            finally:
                self.stop(process.pid)
                process.wait()
            if status and status < 0:
                file.write(f"\nended by {signal.Signals(-status).name}\n")
        self.said[name] = text = log.read_text(errors="replace")
        last = next((row for row in reversed(text.splitlines()) if row.strip()), "")
        return {"ok": status == 0, "seconds": round(time.monotonic() - start, 1), "said": last[:300]}

    def stop(self, *pids: int) -> None:
        """End these processes and what they started."""
        for pid in pids:
            self.running.discard(pid)
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


def commands(device: str, speeds: Path) -> dict[str, dict[str, list[Any]]]:
    """By kind and name the limit and the arguments of every step."""
    # None of our settings for tests: these ask for packages that may be missing.
    alone = ["-p", "no:cacheprovider", "--noconftest", "-c", os.devnull, "--rootdir", ROOT, "--import-mode=importlib"]
    test = [220, "-m", "pytest", "-v", "-k", "on_a_gpu", *alone]
    bench = [150, "-m", "rtx_book", "bench", "--device", device, "--record", "--out", speeds]
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    notebooks = [ROOT / f"{name}.ipynb" for name in re.findall(r"file: (notebooks/\w+)", toc)]
    return {
        "tests": {name: [*test, ROOT / "tests" / "lib" / "kernels" / f"test_{name}.py"] for name in TESTS},
        "chapters": {path.stem: [200, __file__, "chapter", path, "--device", device] for path in notebooks},
        "speed": {name: [*bench, name] for name in CASES},
    }


def verdicts(said: str) -> dict[str, Any]:
    """How many tests passed and were skipped, and which failed, also of a run that was stopped."""
    found = re.findall(r"^\S*?(\w+\.py::.+?) (PASSED|SKIPPED|FAILED|ERROR)\b", said, flags=re.M)
    kinds = [kind for _, kind in found]
    failed = [name for name, kind in found if kind in ("FAILED", "ERROR")]
    return {"passed": kinds.count("PASSED"), "skipped": kinds.count("SKIPPED"), "failed": failed}


def everything(out: Path, device: str) -> int:
    """Run all steps; 1 if one failed, 2 without a GPU."""
    if missing(["torch"]):
        print(f"{sys.executable} has no torch: name a Python that has it, make gpu GPU_PYTHON=python3")
        return 2
    import torch

    if device == "cuda" and not torch.cuda.is_available():
        print("torch sees no GPU here: nothing was run (GPU_DEVICE=cpu tries it on the CPU)")
        return 2
    card = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    start = time.monotonic()
    told: dict[str, Any] = {"card": card, "torch": torch.__version__, "python": sys.version.split()[0], "left out": []}
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gpu-", ignore_cleanup_errors=True) as scratch:
        steps, speeds, lock = Steps(Path(scratch)), Path(scratch, "speed.jsonl"), threading.Lock()
        todo = commands(device, speeds)
        for kind, names in NEEDED.items():
            if lacking := missing(names):
                todo[kind] = {}
                told["left out"].append(f"{kind}, for want of {', '.join(lacking)}")
        told |= {kind: {name: {"ok": False, "said": "not reached"} for name in todo[kind]} for kind in todo}

        def step(kind: str, name: str) -> None:
            found = steps.run(f"{kind}-{name}", *todo[kind][name])
            with lock:
                told[kind][name] = found
                if kind == "tests":
                    found |= verdicts(steps.said.get(f"{kind}-{name}", ""))
                told["seconds"] = round(time.monotonic() - start)
                write(out, told, speeds, steps.said)

        with ThreadPoolExecutor(max(2, min(8, (os.cpu_count() or 2) - 2))) as pool:
            try:
                # What is right is found out side by side, what is fast one after the other.
                beside = [(kind, name) for kind in ("tests", "chapters") for name in todo[kind]]
                [*pool.map(lambda each: step(*each), beside)]
                for name in todo["speed"]:
                    step("speed", name)
            except KeyboardInterrupt:
                told["left out"].append("what follows, as it was interrupted")
                steps.end = 0.0
                steps.stop(*steps.running)
    return summary(told, out)


def write(out: Path, told: dict[str, Any], speeds: Path, said: dict[str, str]) -> None:
    """What is known by now."""
    logs = "\n".join(f"==== {name}\n{text}" for name, text in [*said.items()])  # another step may end now
    (out / "speed.jsonl").write_bytes(speeds.read_bytes() if speeds.exists() else b"")
    (out / "summary.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    (out / "log.txt").write_text(logs + "\n", encoding="utf-8")


def summary(told: dict[str, Any], out: Path) -> int:
    """Print what failed; the exit status."""
    print(f"{told['card']}, torch {told['torch']}, {told.get('seconds', 0)} s; {out} has all of it")
    for line in told["left out"]:
        print(f"  left out: {line}")
    counts = [sum(one.get(kind, 0) for one in told["tests"].values()) for kind in ("passed", "skipped")]
    bad = [f"test {name}" for one in told["tests"].values() for name in one.get("failed", [])]
    if told["tests"]:
        print(f"  tests: {counts[0]} passed, {len(bad)} failed, {counts[1]} skipped")
    for kind in ("chapters", "speed"):
        print(f"  {kind}: {sum(one['ok'] for one in told[kind].values())} of {len(told[kind])}")
    for kind in NEEDED:
        named = {name: one for name, one in told[kind].items() if not one["ok"] and not one.get("failed")}
        bad += [f"{kind}, {name}: {one['said']}" for name, one in named.items()]
    for line in bad:
        print(f"  FAILED {line}")
    return int(bool(bad))


def merge(out: Path, results: Path) -> int:
    """Take the speeds on a GPU over into the book's records."""
    if not (out / "speed.jsonl").is_file():
        print(f"{out} has no speed.jsonl: make gpu writes it")
        return 1
    path, kept = results / "speed.jsonl", {}
    for file in (path, out / "speed.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            card = record["machine"]["gpu"]
            if file == path or card:
                kept[record["case"], bool(card)] = record
            if file != path:
                told = f"{len(record['rows'])} rows, {card}" if card else "measured without a GPU, not taken over"
                print(f"{record['case']}: {told}")
    path.write_text("".join(json.dumps(kept[k], separators=(",", ":")) + "\n" for k in sorted(kept)), encoding="utf-8")
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
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        sys.exit(everything(options.out, options.device))
