"""Rows of a comparison: several ways to compute one thing, measured side by side, each with its error."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rtx_lib.diagnostics.measuring import Variant, Variants, measure, peak_memory
from rtx_lib.training.loop import clip_gradients

KINDS = ("torch.nn", "peer", "plain loop", "original", "ours")
"""What a row compares with: torch's own layers, another package that people use, a loop in Python over the steps, the
construction of a paper's authors, or another way or model of this library."""


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


class Pair(NamedTuple):
    """What a row compares: a variant with another; only what computes the ``same`` has an error."""

    variant: str
    against: str
    kind: str
    same: bool = True


def pairs(variants: Iterable[str], against: str, kind: str, same: bool = True) -> list[Pair]:
    """Each variant with one of them."""
    return [Pair(name, against, kind, same) for name in variants if name != against]


def compare(
    case: str, variants: Variants, pairs: list[Pair], device: str, rounds: int = 7, size: str = "", memory: bool = False
) -> list[dict[str, Any]]:
    """One :func:`row` for each pair; all variants are measured together, and the ``size`` stands behind their names.

    ``max_error`` is the largest difference of the results over the largest absolute value of ``against``'s. With
    ``memory`` there is a ``memory_ratio`` too, below 1 for a lower peak (``peak_memory`` of the library).

    Raises
    ------
    ValueError
        For an unknown kind.
    """
    if wrong := {pair.kind for pair in pairs} - {*KINDS}:
        raise ValueError(f"kind must be one of {KINDS}, got {wrong.pop()!r}")
    truths = {name: variants[name]() for name in {pair.against for pair in pairs if pair.same}}

    def error(pair: Pair) -> float | None:
        if not pair.same:
            return None
        truth = truths[pair.against]
        return float((variants[pair.variant]() - truth).abs().max() / truth.abs().max())

    errors = [error(pair) for pair in pairs]
    seconds = measure(variants, rounds, device=device)
    peaks = {name: peak_memory(run, device) for name, run in variants.items()} if memory else {}
    rows = []
    for (name, against, kind, _), found in zip(pairs, errors, strict=True):
        rows.append(row(case, name + size, against, seconds[against] / seconds[name], found, device, kind))
        if memory:
            rows[-1]["memory_ratio"] = round(peaks[name] / peaks[against], 3)
    return rows


def row(
    case: str, variant: str, against: str, ratio: float, max_error: float | None, device: str, kind: str
) -> dict[str, Any]:
    """What is kept of a comparison: ``ratio`` above 1 means that many times faster than ``against``.

    ``kind`` is one of the :data:`KINDS`, and ``max_error`` None where the two compute different things. A CPU is named
    with its one thread, a GPU by its model.
    """
    names = {"case": case, "variant": variant, "against": against, "kind": kind}
    named = f"{device}, one thread" if device == "cpu" else torch.cuda.get_device_name(device)
    error = None if max_error is None else float(f"{max_error:.3g}")
    return names | {"ratio": round(ratio, 3), "max_error": error, "device": named}


def both_ways(forward: Callable[[Tensor], Any], x: Tensor, weights: Iterable[Tensor] = ()) -> Variant:
    """Forward and backward of the sum of squares of ``forward(x)``, or of the first of what it returns.

    The result is the gradients of x and of the weights, one after the other.
    """
    leaves = [x, *weights]

    def once() -> Tensor:
        y = forward(x)
        y = y[0] if isinstance(y, tuple) else y
        return joined(torch.autograd.grad(y.square().sum(), leaves))

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


def gradient(run: Callable[..., Tensor], given: Sequence[Tensor], g: Tensor, of: slice = slice(1)) -> Variant:
    """Forward and backward of ``run(*given)``, whose gradient is g; the result is the gradients of some of these."""
    return lambda: joined(torch.autograd.grad(run(*given), given, g)[of])


def joined(gradients: Sequence[Tensor]) -> Tensor:
    """Gradients one after the other, as one tensor."""
    return gradients[0] if len(gradients) == 1 else torch.cat([gradient.flatten() for gradient in gradients])
