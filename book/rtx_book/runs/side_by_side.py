"""Two trainings at equal time by the clock."""

import time
from typing import Any

import torch
from torch import nn

from rtx_lib.training import evaluate
from rtx_lib.training.checkpoints import Run
from rtx_lib.training.evaluation import check_positive
from rtx_lib.training.loop import updates
from rtx_lib.training.schedules import Schedule


class Side:
    """One of the two: a model and its task, and arguments of :func:`rtx_lib.training.loop.updates`."""

    def __init__(
        self,
        model: nn.Module,
        task: Any,
        optimizer: torch.optim.Optimizer,
        *,
        schedule: Schedule | None = None,
        eval_batch_size: int = 250,
        seed: int = 0,
        device: str | torch.device = "cpu",
        **how: Any,
    ) -> None:
        self.model, self.task, self.run = model, task, Run(model, optimizer, seed, device)
        self.history, self.at = self.run.history, 1
        self.scored: dict[str, Any] = {"batch_size": eval_batch_size, "stream_length": how.get("stream_length")}
        now = schedule and (lambda step: schedule(self.at))
        self.updates = updates(self.run, task, schedule=now, **how)

    def step(self, at: int) -> None:
        """Make one update, with the rate that the schedule has at step ``at``."""
        self.at = at
        next(self.updates)

    def evaluate(self) -> None:
        """Note the scores on "valid", and the time used."""
        self.run.note(evaluate(self.model, self.task, device=self.run.device, **self.scored))
        self.history.evaluations[-1]["seconds"] = round(self.history.seconds, 2)


def fit_side_by_side(reference: Side, other: Side, *, steps: int, seed: int = 0, eval_every: int | None = None) -> None:
    """Train ``reference`` for ``steps`` steps, and ``other`` for as long by the clock.

    On a shared machine two runs that follow each other cannot be compared by the clock: what else goes on slows one and
    not the other. Interleaved step by step, it slows both alike.

    The one that has used less time makes the next step. Evaluations are not counted. The schedule of ``other`` is
    read at the step at which the reference is, so that both end their decay together; its history counts its own
    steps.

    Parameters
    ----------
    reference, other
        The two sides. Their histories are filled in; ``seconds`` is the time used.
    steps
        Updates of the reference.
    seed
        For dropout of both together; that of the batches is the side's.
    eval_every
        Evaluate both on "valid" each time the reference has made so many steps, and at the end.

    Raises
    ------
    TrainingDiverged
        As soon as a loss or a gradient norm is not finite; its ``history`` is that of the side.
    """
    check_positive(steps=steps, eval_every=eval_every)
    torch.manual_seed(seed)
    ahead, behind = reference.history, other.history
    while len(ahead.step) < steps or behind.seconds < ahead.seconds:
        side = other if behind.seconds < ahead.seconds else reference
        at = min(len(ahead.step) + 1, steps)
        started = time.perf_counter()
        side.step(at)  # its numbers are read on the CPU, so a GPU has finished
        side.history.seconds += time.perf_counter() - started
        done = len(ahead.step) >= steps and behind.seconds >= ahead.seconds
        if eval_every and (done or (side is reference and at % eval_every == 0 and at < steps)):
            reference.evaluate()
            other.evaluate()
