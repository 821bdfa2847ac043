"""Training of any model on any task: the loop, with a history that can be drawn and a run that can be resumed."""

from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from rtx_lib.training.checkpoints import Run, detach, move
from rtx_lib.training.data import as_task, check_model
from rtx_lib.training.defaults import first_try
from rtx_lib.training.evaluation import check_positive, check_stream, evaluate, name_of
from rtx_lib.training.history import History
from rtx_lib.training.processes import ALONE, Processes
from rtx_lib.training.schedules import Plateau, Schedule


def fit(
    model: nn.Module,
    task: Any,
    *,
    steps: int,
    batch_size: int | None = None,
    lr: float | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    clip: float | None = None,
    schedule: Schedule | None = None,
    plateau: Plateau | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
    eval_every: int | None = None,
    eval_batches: int | None = None,
    eval_batch_size: int = 250,
    keep_best: str | None = None,
    stream_length: int | None = None,
    after_step: Callable[[int, nn.Module, float], None] | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 500,
    progress: bool = True,
    processes: Processes = ALONE,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> History:
    """Train a model in place.

    Without ``lr`` and ``optimizer`` a first try is made, and printed (:mod:`rtx_lib.training.defaults`). What ``clip``
    and ``schedule`` say goes before:

    ===================================  =====  ====  ===========================
    model                                lr     clip  warm-up
    ===================================  =====  ====  ===========================
    with attention                       0.002  1     over a tenth of the steps
    with gates: LSTM, GRU and their kin  0.005  1     none
    others                               0.003  1     none
    ===================================  =====  ====  ===========================

    A small table is soon known by heart: ``eval_every`` and ``keep_best="loss"`` keep what did best on "valid".

    The same seed on the same machine gives the same numbers, and a run that was interrupted and resumed from
    its checkpoint gives the numbers of one that was not. The batches come from a generator of their own;
    torch's global generator, which dropout uses, is seeded too.

    Several processes that all call this with equal arguments train one model together, on shards of the same batches
    (:mod:`rtx_lib.training.processes`). Parameters and history are the same in all of them.

    Parameters
    ----------
    model, task
        Any model and task that follow the library's contracts. The model is moved to ``device``. Or data that come with
        a ``loss``: a ``DataLoader``, a ``TensorDataset``, any iterable of batches (x, y), as
        :class:`rtx_lib.training.data.Pairs` says.
    steps, batch_size
        Number of updates, and sequences (or parallel streams) in each, over all processes. Data that are batches
        already have no other ``batch_size``.
    lr, optimizer
        Adam with this learning rate, unless an optimizer is given; its own rates are then the base.
    clip
        Largest gradient norm; larger gradients are scaled down to it (Pascanu, Mikolov and Bengio 2013,
        algorithm 1). None leaves gradients alone, where there is ``lr`` or ``optimizer``.
    schedule
        Factor on the base rate as a function of the step, which counts from 1.
    plateau
        One more factor on the base rate, as a function of the evaluations made so far.
    seed
        For the batches and for dropout.
    device
        Where to train.
    eval_every, eval_batches, eval_batch_size
        Evaluate on "valid" every so many steps and after the last one, on at most so many batches of this size; on
        streams if trained on them.
    keep_best
        A metric: the model is left as it was at the evaluation with the least value of it, not as at the last step.
    stream_length
        Train by truncated backpropagation through time: on ``task.stream("train", batch_size, stream_length)``, with
        the state carried from one piece to the next and the gradient cut between them. The state starts anew with each
        pass over the text.
    after_step
        Called as ``after_step(step, model, loss)`` after each update, in each process.
    checkpoint, checkpoint_every
        A file to resume from if it exists, and to write every so many steps and at the end. Only the main process
        reads and writes it.
    progress
        Show a bar on standard error (the main process does).
    processes
        Who takes part, and in which precision they train; evaluations are in full precision.
    loss
        With data that are no task, a function of the model's whole prediction and y that returns a scalar. Nothing is
        held out then and ``eval_every`` is refused, unless the data are ``Pairs(data, loss, valid=...)``.

    Raises
    ------
    TrainingDiverged
        As soon as the loss or the gradient norm is not finite.
    ValueError
        For a checkpoint of another run (of another number of processes or precision, too) or that cannot be read.
    """
    check_model(model)
    how: dict[str, Any] = {"batch_size": batch_size, "stream": bool(stream_length), "eval_every": eval_every}
    task = as_task(task, loss, **how, resumed=checkpoint is not None or processes.count > 1)
    sizes = {"eval_batches": eval_batches, "eval_batch_size": eval_batch_size, "checkpoint_every": checkpoint_every}
    check_positive(steps=steps, lr=lr, eval_every=eval_every, **sizes)
    if (keep_best or plateau) and not eval_every:
        raise ValueError("eval_every must be given with keep_best or plateau, got None")
    start, quiet = first_try(model), not (progress and processes.main)
    if lr is None and optimizer is None:
        clip, schedule = clip or start.clip, schedule or start.schedule(steps)
        if not quiet:
            tqdm.write(f"fit: {start}")
    torch.manual_seed(seed + 1_000_003 * processes.rank)  # for dropout, another mask in each process
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=start.lr if lr is None else lr)
    run = Run(model, optimizer, seed, device, processes)
    how = {"batch_size": batch_size, "clip": clip, "stream_length": stream_length}
    run.resume(checkpoint, {"task": name_of(task), "steps": steps, "keep_best": keep_best} | how)
    made = len(run.history.step)
    scored: dict[str, Any] = {"batch_size": eval_batch_size, "batches": eval_batches, "stream_length": stream_length}
    with tqdm(total=steps, initial=made, desc=name_of(task), disable=quiet, mininterval=1) as bar:
        for step in islice(updates(run, task, schedule=schedule, plateau=plateau, **how), steps - made):
            if after_step:
                after_step(step, model, run.history.loss[-1])
            if eval_every and (step % eval_every == 0 or step == steps):
                bar.set_postfix(run.note(evaluate(model, task, device=device, **scored), keep_best))
            run.tick()
            bar.update()
            if checkpoint and (step % checkpoint_every == 0 or step == steps):
                run.save()
    return run.finish()


def updates(
    run: Run,
    task: Any,
    *,
    batch_size: int,
    clip: float | None = None,
    schedule: Schedule | None = None,
    plateau: Plateau | None = None,
    stream_length: int | None = None,
) -> Iterator[int]:
    """The loop itself: one update after the other, without end; the number of each, from 1, when it is made.

    Arguments as in :func:`fit`.
    """
    check_positive(batch_size=batch_size, clip=clip, stream_length=stream_length)
    check_stream(task, stream_length)
    model, task = run.processes.prepare(run.model, task)  # alone, as they are
    optimizer, history = run.optimizer, run.history
    source = batches(task, batch_size, stream_length, run.generator, run.position)
    for step in count(len(history.step) + 1):
        run.position, (x, y) = next(source)
        x, y = move(x, run.device), y.to(run.device)
        factor = (schedule(step) if schedule else 1.0) * (plateau(history.evaluations) if plateau else 1.0)
        for group, rate in zip(optimizer.param_groups, run.rates, strict=True):
            group["lr"] = rate * factor

        prediction, state = model(x, run.state if run.position > 1 else None)
        loss = task.loss(prediction, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = clip_gradients(model, clip)
        loss = run.processes.mean(loss.detach())
        history.add(float(loss), float(norm), run.rates[0] * factor, run.path)  # no step where one is not finite
        optimizer.step()
        run.state = detach(state) if stream_length else None  # truncated backpropagation: no gradient goes back
        yield step


def clip_gradients(model: nn.Module, clip: float | None) -> Tensor:
    """The norm of all gradients, which are then scaled down to ``clip`` if it is larger."""
    return nn.utils.clip_grad_norm_(model.parameters(), float("inf") if clip is None else clip)


def batches(
    task: Any, size: int, stream_length: int | None, generator: torch.Generator, skip: int = 0
) -> Iterator[tuple[int, tuple[Any, Tensor]]]:
    """Training batches without end; the pieces of a stream with their number in each pass over it, from 1.

    The first ``skip`` pieces of the first pass are left out.
    """
    while not stream_length:
        yield 0, task.batch("train", size, generator)
    while True:
        number = 0
        for number, piece in enumerate(task.stream("train", size, stream_length), start=1):
            if number > skip:
                yield number, piece
        if not number:
            raise ValueError(f"stream_length and batch_size must leave at least one piece of {name_of(task)}, got none")
        skip = 0
