"""``python -m rtx_book bench NAME``, or ``all``; with ``--record`` what was measured is kept."""

import argparse
import datetime
import json
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import rtx_lib
from rtx_book import bench
from rtx_book.bench import CASES
from rtx_book.paths import results_folder
from rtx_book.records.records import load_speeds
from rtx_book.runs.runs import commit
from rtx_lib.diagnostics.measuring import own_clock
from rtx_lib.training import check_device
from rtx_lib.training.checkpoints import in_one_step


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rtx_book bench", description=bench.__doc__)
    parser.add_argument("case", choices=[*sorted(CASES), "all"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true", help="print a JSON list instead of a table")
    parser.add_argument("--record", action="store_true", help="keep each case, one after the other")
    parser.add_argument("--out", type=Path, help="the file that keeps them (default: results/speed.jsonl of the book)")
    options = parser.parse_args(arguments)
    check_device(options.device)
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False  # else a GPU's fused layers have fewer digits than the loops beside them
    rows = []
    for case in CASES if options.case == "all" else [options.case]:
        code = commit()  # of the code that runs: the checkout may move on meanwhile
        measured = CASES[case](device=options.device)
        rows += measured
        if options.record and measured:
            keep(case, measured, options.device, commit=code, path=options.out)
            print(f"{case} is kept", file=sys.stderr, flush=True)
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        for row in rows:
            line = f"{row['case']}: {row['variant']:24} {row['ratio']:.2f}x of {row['against']}"
            memory = f", {row['memory_ratio']:.2f} of its memory" if "memory_ratio" in row else ""
            error = "" if row["max_error"] is None else f", error {row['max_error']:.1e}"
            print(f"{line}{memory}{error} ({row['device']})")
    return 0


def keep(case: str, rows: list[dict[str, Any]], device: str, *, commit: str, path: Path | None = None) -> None:
    """Put what was measured of a case into the file of speeds in one step, in the place of what it has of that case.

    Parameters
    ----------
    case, rows, device
        A case, what it returned, and where it ran.
    commit
        The code's, taken before it ran (:func:`rtx_book.runs.runs.commit`).
    path
        The file; ``speed.jsonl`` beside the book's records if None. Each entry follows
        :data:`rtx_book.records.records.SPEED_SCHEMA`.

    Raises
    ------
    ValueError
        If there are no rows, or a number is not finite.
    """
    if not rows:
        raise ValueError(f"rows must not be empty, case {case!r} measured nothing")
    measured = {
        "format": 1,
        "case": case,
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "versions": _versions(),
        "machine": machine(device),
        "clock": "processor" if own_clock(device) else "wall",
        "rows": rows,
    }
    path = path or results_folder() / "speed.jsonl"
    kept = {(one["case"], bool(one["machine"]["gpu"])): one for one in [*load_speeds(path), measured]}
    text = "".join(json.dumps(kept[key], allow_nan=False) + "\n" for key in sorted(kept))
    with in_one_step(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def machine(device: str) -> dict[str, Any]:
    """Processor, cores that this process may use, threads, the GPU if it is one, and what torch was built for."""
    cuda = torch.device(device).type == "cuda"
    capability = torch.backends.cpu.get_cpu_capability()
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name(device) if cuda else None,
        "build": (f"CUDA {torch.version.cuda}" if torch.version.cuda else "CPU only") + f", {capability}",
    }


def _processor(listing: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's model; where the system does not list it, its architecture."""
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.is_file() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(filter(None, named), "") or platform.machine() or "unknown"


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "torch": torch.__version__}
    found |= {"numpy": metadata.version("numpy"), "rtx_lib": rtx_lib.__version__}
    for name in ("numba", "triton"):  # two of the kernels are compiled by these
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
