"""Time, memory and arithmetic of several ways to compute one thing, measured side by side."""

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

Variant = Callable[[], Tensor]
Variants = dict[str, Variant]

KINDS = ("torch.nn", "plain loop", "original", "ours")
"""What a row compares with: torch's own layers, a loop in Python over the steps, the construction of a paper's authors,
or another way or model of this library."""


def measure(variants: Variants, rounds: int = 7, warmup: int = 2, *, device: str | None = None) -> dict[str, float]:
    """Median seconds of each variant over ``rounds`` interleaved rounds.

    They are seconds of the clock on the wall; but if ``device`` is a CPU and torch has one thread, seconds that the
    processor spent on this program, to which other programs on a shared machine add little.

    Raises
    ------
    ValueError
        For fewer than 7 rounds: a median of less says little.
    """
    if rounds < 7:
        raise ValueError(f"rounds must be at least 7, got {rounds}")
    clock = time.process_time if own_clock(device) else time.perf_counter
    times: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(warmup + rounds):
        for name, variant in variants.items():
            _synchronise()
            started = clock()
            variant()
            _synchronise()
            if number >= warmup:
                times[name].append(clock() - started)
    return {name: statistics.median(values) for name, values in times.items()}


def that_run(variants: Variants) -> Variants:
    """Those that can be run here, each tried once; of every other a line on standard error says why not.

    For what needs a package that few have, or a compiler: a failure of these must not cost the other rows.
    """
    found = {}
    for name, variant in variants.items():
        try:
            variant()
            found[name] = variant
        except Exception as error:
            why = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            print(f"{name} is left out: {why}", file=sys.stderr, flush=True)
    return found


def own_clock(device: str | None) -> bool:
    """Whether :func:`measure` takes the processor's seconds for this program, not those of the wall."""
    return device is not None and torch.device(device).type == "cpu" and torch.get_num_threads() == 1


def compare(
    case: str, against: str, variants: Variants, device: str, rounds: int = 7, *, kind: str, memory: bool = False
) -> list[dict[str, Any]]:
    """One :func:`row` for each variant but ``against``.

    ``max_error`` is the largest difference of the results over the largest absolute value of ``against``'s. With
    ``memory`` there is a ``memory_ratio`` too, below 1 for a lower peak (:func:`peak_memory`).

    Raises
    ------
    ValueError
        For an unknown kind.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}, got {kind!r}")
    truth = variants[against]()
    errors = {name: float((run() - truth).abs().max() / truth.abs().max()) for name, run in variants.items()}
    seconds = measure(variants, rounds, device=device)
    peaks = {name: peak_memory(run, device) for name, run in variants.items()} if memory else {}

    def compared(name: str) -> dict[str, Any]:
        more = {"memory_ratio": round(peaks[name] / peaks[against], 3)} if memory else {}
        return row(case, name, against, seconds[against] / seconds[name], errors[name], device, kind) | more

    return [compared(name) for name in variants if name != against]


def row(
    case: str, variant: str, against: str, ratio: float, max_error: float | None, device: str, kind: str
) -> dict[str, Any]:
    """What is kept of a comparison: ``ratio`` above 1 means that many times faster than ``against``.

    ``kind`` is one of the :data:`KINDS`, and ``max_error`` None where the two compute different things. A CPU is named
    with its one thread, a GPU by its model.
    """
    names = {"case": case, "variant": variant, "against": against, "kind": kind}
    named = f"{device}, one thread" if device == "cpu" else torch.cuda.get_device_name(device)
    return names | {"ratio": round(ratio, 3), "max_error": max_error, "device": named}


def both_ways(forward: Callable[[Tensor], Any], x: Tensor, weights: Iterable[Tensor] = ()) -> Variant:
    """Forward and backward of the sum of squares of ``forward(x)``, or of the first of what it returns.

    The result is the gradients of x and of the weights, one after the other.
    """
    leaves = [x, *weights]

    def once() -> Tensor:
        y = forward(x)
        y = y[0] if isinstance(y, tuple) else y
        gradients = torch.autograd.grad(y.square().sum(), leaves)
        return gradients[0] if len(gradients) == 1 else torch.cat([gradient.flatten() for gradient in gradients])

    return once


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


def count_flops(step: Callable[[], object]) -> int:
    """Floating-point operations of one call of ``step``, backward pass included if it runs one.

    Counted are matrix products and convolutions, each multiplication and each addition as one; attention is its two
    products, and no mask makes them smaller. Elementwise work is not counted: the recurrence of an IndRNN costs nothing
    here. Fused kernels, of which nothing would be seen inside, are switched off during the call.
    """
    with warnings.catch_warnings():
        # Said by torch when the flags are put back, on every machine without an Intel GPU.
        warnings.filterwarnings("ignore", "TF32 acceleration on top of oneDNN", UserWarning)
        mkldnn, cudnn = torch.backends.mkldnn.flags(enabled=False), torch.backends.cudnn.flags(enabled=False)
        with mkldnn, cudnn, sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            step()
    return int(counter.get_total_flops())


def _synchronise() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
