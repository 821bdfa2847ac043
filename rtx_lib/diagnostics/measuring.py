"""Time, memory and arithmetic of several ways to compute one thing, measured side by side."""

import json
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from rtx_lib.shapes import expect_each

Variant = Callable[[], Tensor]
Variants = dict[str, Variant]


def measure(variants: Variants, rounds: int = 7, warmup: int = 2, *, device: str | None = None) -> dict[str, float]:
    """Median seconds of each variant over ``rounds`` interleaved rounds.

    They are seconds of the clock on the wall; but if ``device`` is a CPU and torch has one thread, seconds that the
    processor spent on this program, to which other programs on a shared machine add little.
    """
    expect_each(rounds=(rounds, 7))
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


def own_clock(device: str | None) -> bool:
    """Whether :func:`measure` takes the processor's seconds for this program, not those of the wall."""
    return device is not None and torch.device(device).type == "cpu" and torch.get_num_threads() == 1


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
