"""What a case measured, kept as a file: the rows, and the machine without its name, its user or its paths."""

import datetime
import json
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import rtx_lib
from rtx_lib.diagnostics.measuring import own_clock
from rtx_lib.experiments import results_folder
from rtx_lib.training.checkpoints import in_one_step


def keep(case: str, rows: list[dict[str, Any]], device: str, *, commit: str, folder: str | Path | None = None) -> Path:
    """Write ``<case>-cpu.json`` or ``<case>-cuda.json`` in one step; return its path.

    Parameters
    ----------
    case, rows, device
        A case, what it returned, and where it ran.
    commit
        The code's, taken before it ran (:func:`rtx_lib.experiments.runs.commit`).
    folder
        ``speed`` beside the book's records if None. The format is :data:`rtx_lib.evidence.records.SPEED_SCHEMA`.

    Raises
    ------
    ValueError
        If there are no rows, or a number is not finite.
    """
    if not rows:
        raise ValueError(f"rows must not be empty, case {case!r} measured nothing")
    found = {
        "format": 1,
        "case": case,
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "versions": _versions(),
        "machine": machine(device),
        "clock": "processor" if own_clock(device) else "wall",
        "rows": rows,
    }
    path = Path(folder or results_folder() / "speed") / f"{case}-{torch.device(device).type}.json"
    text = json.dumps(found, indent=1, allow_nan=False) + "\n"
    with in_one_step(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


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
    found = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": metadata.version("numpy"),
        "rtx_lib": rtx_lib.__version__,
    }
    for name in ("numba", "triton"):  # two of the kernels are compiled by these
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
