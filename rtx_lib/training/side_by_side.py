"""Training two models side by side, step by step in one process, at equal wall time.

On a shared machine two runs that follow each other cannot be compared by the clock: what else goes on slows one and
not the other. Interleaved step by step, it slows both alike.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.training.checkpoints import detach, move
from rtx_lib.training.loop import History, TrainingDiverged, check_device, check_positive, evaluate, pieces, update
from rtx_lib.training.schedules import Schedule


@dataclass
class Side:
    """One of the two: a model and task that follow the contracts, and how it is trained (as in ``fit``)."""

    model: nn.Module
    task: Any
    optimizer: torch.optim.Optimizer
    batch_size: int
    clip: float | None = None
    schedule: Schedule | None = None
    stream_length: int | None = None
    eval_batch_size: int = 250
    history: History = field(default_factory=History)


def fit_side_by_side(
    reference: Side, other: Side, *, steps: int, seed: int = 0, device: str = "cpu", eval_every: int | None = None
) -> tuple[History, History]:
    """Train ``reference`` for ``steps`` steps, and ``other`` for as long by the clock.

    The one that has used less time makes the next step. Evaluations are not counted. The schedule of ``other`` is
    read at the step at which the reference is, so that both end their decay together; its history counts its own
    steps. Each side draws its batches from a generator of the same seed, or reads its streams from the beginning.

    Parameters
    ----------
    reference, other
        The two sides. Their histories are filled in and returned; ``seconds`` is the time used.
    steps
        Updates of the reference.
    seed
        For the batches, and for dropout of both together.
    device
        Where to train.
    eval_every
        Evaluate both on "valid" each time the reference has made so many steps, and at the end.

    Raises
    ------
    TrainingDiverged
        As soon as a loss or a gradient norm is not finite; its ``history`` is that of the side.
    ValueError
        For numbers out of range or a device that torch cannot use.
    """
    check_positive(steps=steps, eval_every=eval_every)
    check_device(device)
    torch.manual_seed(seed)
    sides = (reference, other)
    rates = [[group["lr"] for group in side.optimizer.param_groups] for side in sides]
    sources = [_batches(side, seed, device) for side in sides]
    states: list[Any] = [None, None]
    for side in sides:
        side.model.to(device).train()
    ahead = reference.history
    while len(ahead.step) < steps or other.history.seconds < ahead.seconds:
        turn = int(other.history.seconds < ahead.seconds)
        side = sides[turn]
        progress = min(len(ahead.step) + 1, steps)
        states[turn] = _step(side, progress, rates[turn], sources[turn], states[turn])
        if turn == 0 and eval_every and (progress % eval_every == 0 and progress < steps):
            _evaluate(sides, device)
    if eval_every:
        _evaluate(sides, device)
    return reference.history, other.history


def _batches(side: Side, seed: int, device: str) -> Iterator[tuple[bool, tuple[Any, Tensor]]]:
    """Batches without end, and whether the state is carried into each of them."""
    if side.stream_length:
        for number, (x, y) in pieces(side.task, side.batch_size, side.stream_length):
            yield number > 1, (move(x, device), y.to(device))
    generator = torch.Generator().manual_seed(seed)
    while True:
        x, y = side.task.batch("train", side.batch_size, generator)
        yield False, (move(x, device), y.to(device))


def _step(
    side: Side, progress: int, rates: list[float], source: Iterator[tuple[bool, tuple[Any, Tensor]]], state: Any
) -> Any:
    started = time.perf_counter()
    carried, batch = next(source)
    factor = side.schedule(progress) if side.schedule else 1.0
    for group, rate in zip(side.optimizer.param_groups, rates, strict=True):
        group["lr"] = rate * factor
    loss, norm, state = update(
        side.model, side.task, batch, side.optimizer, clip=side.clip, state=state if carried else None
    )  # its numbers are read on the CPU, so a GPU has finished
    history, step = side.history, len(side.history.step) + 1
    for what, number in (("loss", loss), ("gradient norm", norm)):
        if not math.isfinite(number):
            raise TrainingDiverged(f"{what} is {number}", step, None, history)
    history.seconds += time.perf_counter() - started
    history.step.append(step)
    history.loss.append(loss)
    history.gradient_norm.append(norm)
    history.lr.append(rates[0] * factor)
    return detach(state)


def _evaluate(sides: tuple[Side, Side], device: str) -> None:
    for side in sides:
        scores = evaluate(
            side.model,
            side.task,
            "valid",
            batch_size=side.eval_batch_size,
            device=device,
            stream_length=side.stream_length,
        )
        row = {"step": len(side.history.step), "seconds": round(side.history.seconds, 2), "split": "valid"}
        side.history.evaluations.append(row | scores)
