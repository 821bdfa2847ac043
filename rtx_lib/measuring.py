"""Time and memory of several ways to compute one thing, measured side by side."""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

Variant = Callable[[], Tensor]


def measure(variants: dict[str, Variant], rounds: int = 7, warmup: int = 2) -> dict[str, float]:
    """Median seconds of each variant over ``rounds`` interleaved rounds.

    Raises
    ------
    ValueError
        For fewer than 7 rounds: a median of less says little.
    """
    if rounds < 7:
        raise ValueError(f"rounds must be at least 7, got {rounds}")
    times: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(warmup + rounds):
        for name, variant in variants.items():
            _synchronise()
            started = time.perf_counter()
            variant()
            _synchronise()
            if number >= warmup:
                times[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in times.items()}


def compare(
    case: str, against: str, variants: dict[str, Variant], device: str, rounds: int = 7, *, memory: bool = False
) -> list[dict[str, Any]]:
    """One row for each variant but ``against``.

    ``ratio`` above 1 means that many times faster than ``against``; ``max_error`` is the largest difference
    of the results over the largest absolute value of ``against``'s. With ``memory`` there is a ``memory_ratio`` too,
    below 1 for a lower peak (:func:`peak_memory`).
    """
    truth = variants[against]()
    errors = {name: float((run() - truth).abs().max() / truth.abs().max()) for name, run in variants.items()}
    seconds = measure(variants, rounds)
    peaks = {name: peak_memory(run, device) for name, run in variants.items()} if memory else {}
    rows = []
    for name in (name for name in variants if name != against):
        row: dict[str, Any] = {"case": case, "variant": name, "against": against}
        row |= {"ratio": round(seconds[against] / seconds[name], 3)}
        row |= {"memory_ratio": round(peaks[name] / peaks[against], 3)} if memory else {}
        rows.append(row | {"max_error": errors[name], "device": name_device(device)})
    return rows


def peak_memory(variant: Callable[[], object], device: str = "cpu") -> int:
    """The most bytes of tensors that a run holds at any time, besides those that were there before.

    Every request to torch's allocator counts, those inside an operation too: on a GPU by its own count, on a CPU by the
    profiler's record of each.
    """
    if torch.device(device).type != "cpu":
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        variant()
        return torch.cuda.max_memory_allocated(device) - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        variant()
    with TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        record.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    live = peak = 0
    for event in sorted((event for event in events if event["name"] == "[memory]"), key=lambda event: event["ts"]):
        live += event["args"]["Bytes"]  # below 0 where memory is given back
        peak = max(peak, live)
    return peak


def name_device(device: str) -> str:
    """As a row names it: a CPU with its one thread, a GPU by its model."""
    return f"{device}, one thread" if device == "cpu" else torch.cuda.get_device_name(device)


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
