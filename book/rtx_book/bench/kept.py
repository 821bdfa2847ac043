"""What ``python -m rtx_book bench NAME`` measures, prints, and with ``--record`` keeps."""

import contextlib
import datetime
import json
import os
import platform
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import rtx_lib
from rtx_book.bench import CASES
from rtx_book.records.records import load_speeds
from rtx_book.runs.runs import commit
from rtx_lib.diagnostics.measuring import own_clock
from rtx_lib.training import check_device
from rtx_lib.training.checkpoints import in_one_step


def measured(case: str, device: str = "cpu", path: Path | None = None) -> list[dict[str, Any]]:
    """The rows of a case, or of ``all``; with a ``path`` each case is kept there as soon as it is measured."""
    check_device(device)
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False  # else a GPU's fused layers have fewer digits than the loops beside them
    rows = []
    for name in CASES if case == "all" else [case]:
        code = commit()  # of the code that runs: the checkout may move on meanwhile
        found = CASES[name](device=device)
        rows += found
        if path and found:
            keep(name, found, device, commit=code, path=path)
            print(f"{name} is kept", file=sys.stderr, flush=True)
    return rows


def told(row: Mapping[str, Any]) -> str:
    """A row as a line: ``rnn: rtx_lib RNN 1.20x of torch.nn.RNN, error 1.2e-07 (cpu, one thread)``."""
    line = f"{row['case']}: {row['variant']:24} {row['ratio']:.2f}x of {row['against']}"
    memory = f", {row['memory_ratio']:.2f} of its memory" if "memory_ratio" in row else ""
    error = "" if row["max_error"] is None else f", error {row['max_error']:.1e}"
    return f"{line}{memory}{error} ({row['device']})"


def keep(case: str, rows: list[dict[str, Any]], device: str, *, commit: str, path: Path) -> None:
    """Put what was measured of a case into the file of speeds in one step, in the place of what it has of that case.

    Parameters
    ----------
    case, rows, device
        A case, what it returned, and where it ran.
    commit
        The code's, taken before it ran (:func:`rtx_book.runs.runs.commit`).
    path
        The file. Each entry follows :data:`rtx_book.records.records.SPEED_SCHEMA`.

    Raises
    ------
    ValueError
        If a number is not finite.
    """
    date, clock = datetime.date.today().isoformat(), "processor" if own_clock(device) else "wall"
    entry: dict[str, Any] = {"format": 1, "case": case, "date": date, "commit": commit, "versions": _versions()}
    entry |= {"machine": machine(device), "clock": clock, "rows": rows}
    kept = {(one["case"], bool(one["machine"]["gpu"])): one for one in [*load_speeds(path), entry]}
    text = "".join(json.dumps(kept[key], separators=(",", ":"), allow_nan=False) + "\n" for key in sorted(kept))
    with in_one_step(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def machine(device: str) -> dict[str, Any]:
    """Processor, cores that this process may use, threads, the GPU if it is one, and what torch was built for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    gpu = torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else None
    built = f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU only"
    built += f", {torch.backends.cpu.get_cpu_capability()}"
    return {"processor": _processor(), "cores": cores, "threads": torch.get_num_threads(), "gpu": gpu, "build": built}


def _processor(listing: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's model; where the system does not list it, its architecture."""
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.is_file() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, named), "") or platform.machine() or "unknown"


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "torch": torch.__version__}
    found |= {"numpy": metadata.version("numpy"), "rtx_lib": rtx_lib.__version__}
    for name in ("numba", "triton"):  # two of the kernels are compiled by these
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
