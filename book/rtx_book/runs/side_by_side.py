"""Two trainings at equal time by the clock."""

import time

import torch

from rtx_lib.training import History, Trainer
from rtx_lib.training.loop import check_positive


def fit_side_by_side(
    reference: Trainer, other: Trainer, *, steps: int, seed: int = 0, eval_every: int | None = None
) -> tuple[History, History]:
    """Train ``reference`` for ``steps`` steps, and ``other`` for as long by the clock.

    On a shared machine two runs that follow each other cannot be compared by the clock: what else goes on slows one and
    not the other. Interleaved step by step, it slows both alike.

    The one that has used less time makes the next step. Evaluations are not counted. The schedule of ``other`` is
    read at the step at which the reference is, so that both end their decay together; its history counts its own
    steps.

    Parameters
    ----------
    reference, other
        The two sides. Their histories are filled in and returned; ``seconds`` is the time used.
    steps
        Updates of the reference.
    seed
        For dropout of both together; that of the batches is the trainer's.
    eval_every
        Evaluate both on "valid" each time the reference has made so many steps, and at the end.

    Raises
    ------
    TrainingDiverged
        As soon as a loss or a gradient norm is not finite; its ``history`` is that of the side.
    ValueError
        For numbers out of range.
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
            for trainer in (reference, other):
                trainer.evaluate()
                trainer.history.evaluations[-1]["seconds"] = round(trainer.history.seconds, 2)
    return ahead, behind
