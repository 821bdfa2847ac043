"""Rows of a comparison: several ways to compute one thing, measured side by side, each with its error."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from rtx_lib.diagnostics.measuring import Variant, Variants, measure, peak_memory
from rtx_lib.training.loop import clip_gradients

KINDS = ("torch.nn", "plain loop", "original", "ours")
"""What a row compares with: torch's own layers, a loop in Python over the steps, the construction of a paper's authors,
or another way or model of this library."""


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


def compare(
    case: str, against: str, variants: Variants, device: str, rounds: int = 7, *, kind: str, memory: bool = False
) -> list[dict[str, Any]]:
    """One :func:`row` for each variant but ``against``.

    ``max_error`` is the largest difference of the results over the largest absolute value of ``against``'s. With
    ``memory`` there is a ``memory_ratio`` too, below 1 for a lower peak (``peak_memory`` of the library).

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


def training_step(
    model: Any, task: Any, optimizer: torch.optim.Optimizer, batch: Any, clip: float | None, state: Any = None
) -> Callable[[], Tensor]:
    """A step of training on one batch, which can be made again and again; it gives the loss."""
    x, y = batch

    def step() -> Tensor:
        prediction, _ = model(x, state)
        loss: Tensor = task.loss(prediction, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        clip_gradients(model, clip)
        optimizer.step()
        if hasattr(model, "constrain_"):
            model.constrain_()
        return loss.detach()

    return step
