"""Training of any model on any task, with a history that can be drawn and a run that can be resumed."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from rtx_lib.training.checkpoints import detach, generators, load, move, save, set_generators
from rtx_lib.training.evaluation import check_positive, check_stream, evaluate
from rtx_lib.training.processes import ALONE, Processes, check_device
from rtx_lib.training.schedules import Plateau, Schedule


def fit(
    model: nn.Module,
    task: Any,
    *,
    steps: int,
    batch_size: int,
    lr: float = 1e-3,
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
) -> History:
    """Train a model in place.

    The same seed on the same machine gives the same numbers, and a run that was interrupted and resumed from
    its checkpoint gives the numbers of one that was not. The batches come from a generator of their own;
    torch's global generator, which dropout uses, is seeded too.

    Several processes that all call this with equal arguments train one model together, on shards of the same batches
    (:mod:`rtx_lib.training.processes`). Parameters and history are the same in all of them.

    Parameters
    ----------
    model, task
        Any model and task that follow the library's contracts. The model is moved to ``device``.
    steps, batch_size
        Number of updates, and sequences (or parallel streams) in each, over all processes.
    lr, optimizer
        Adam with this learning rate, unless an optimizer is given; its own rates are then the base.
    clip
        Largest gradient norm; larger gradients are scaled down to it (Pascanu, Mikolov and Bengio 2013,
        algorithm 1). None leaves gradients alone.
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

    Raises
    ------
    TrainingDiverged
        As soon as the loss or the gradient norm is not finite.
    ValueError
        For numbers out of range, a device that torch cannot use, a stream of a task that has none, a best evaluation or
        a plateau without evaluations, fewer sequences than processes, or a checkpoint of another run (of another
        number of processes or precision, too) or that cannot be read.
    """
    check_positive(steps=steps, lr=lr, checkpoint_every=checkpoint_every)
    check_positive(eval_every=eval_every, eval_batches=eval_batches, eval_batch_size=eval_batch_size)
    if (keep_best or plateau) and not eval_every:
        raise ValueError("eval_every must be given with keep_best or plateau, got None")
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=lr)
    scored = {"batch_size": eval_batch_size, "batches": eval_batches}
    trainer = Trainer(
        model, task, optimizer, batch_size, clip, schedule, plateau, stream_length, scored, seed, device, processes
    )
    torch.manual_seed(seed + 1_000_003 * processes.rank)  # for dropout, another mask in each process
    trainer.resume(checkpoint, steps=steps, keep_best=keep_best)
    history, started = trainer.history, time.perf_counter() - trainer.history.seconds
    todo = range(len(history.step) + 1, steps + 1)
    bar = tqdm(todo, task.name, steps, initial=todo.start - 1, disable=not (progress and processes.main), mininterval=1)
    for step in bar:
        trainer.step(step)
        if after_step:
            after_step(step, model, history.loss[-1])
        if eval_every and (step % eval_every == 0 or step == steps):
            bar.set_postfix(trainer.evaluate(keep_best))
        history.seconds = time.perf_counter() - started
        if checkpoint and (step % checkpoint_every == 0 or step == steps):
            trainer.save()
    if trainer.best:
        model.load_state_dict(trainer.best)
    return history


def update(
    model: nn.Module,
    task: Any,
    batch: tuple[Any, Tensor],
    optimizer: torch.optim.Optimizer,
    *,
    clip: float | None = None,
    state: Any = None,
    share: float = 1.0,
    accelerator: Any = None,
) -> tuple[float, float, Any]:
    """One step of training: the loss, the gradient norm before clipping, and the model's new state, cut from its graph.

    Nothing is changed where the loss or the norm is not finite. Arguments as in :func:`fit`; with an ``accelerator``
    the batch is a shard that makes this ``share`` of the loss, and loss and norm are those of the whole batch.
    """
    x, y = batch
    prediction, state = model(x, state)
    # A shard in which nothing counts has no mean, but it takes part in the sum over the processes.
    loss = task.loss(prediction, y) if share else (prediction * 0).sum()
    optimizer.zero_grad(set_to_none=True)
    parameters = [p for p in model.parameters() if p.requires_grad]
    limit = math.inf if clip is None else clip
    if accelerator is None:
        loss.backward()
        norm = nn.utils.clip_grad_norm_(parameters, limit)
    else:
        accelerator.backward(loss * share * accelerator.num_processes)  # it takes the mean over the processes
        norm = accelerator.clip_grad_norm_(parameters, limit)
        loss = accelerator.reduce(loss.detach() * share)
    value, size = float(loss.detach()), float(norm)
    if math.isfinite(value) and math.isfinite(size):
        optimizer.step()
    return value, size, detach(state)


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
            raise ValueError(f"stream_length and batch_size must leave at least one piece of {task.name}, got none")
        skip = 0


@dataclass
class History:
    """What a training run left behind, one entry a step.

    Attributes
    ----------
    step
        Step numbers from 1.
    loss
        Training loss.
    gradient_norm
        Gradient norm before clipping.
    lr
        Learning rate.
    evaluations
        One dict for each evaluation: ``step``, ``split`` and the task's metrics.
    seconds
        Wall-clock time of training and evaluation, over all sittings of a resumed run.
    """

    step: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    gradient_norm: list[float] = field(default_factory=list)
    lr: list[float] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, loss: float, gradient_norm: float, lr: float, checkpoint: Path | None = None) -> None:
        """Append the next step; ``TrainingDiverged``, with this last ``checkpoint``, if a number is not finite."""
        step = len(self.step) + 1
        for what, number in (("loss", loss), ("gradient norm", gradient_norm)):
            if not math.isfinite(number):
                raise TrainingDiverged(f"{what} is {number}", step, checkpoint, self)
        self.step.append(step)
        self.loss.append(loss)
        self.gradient_norm.append(gradient_norm)
        self.lr.append(lr)

    def curve(self, metric: str) -> tuple[list[int], list[float]]:
        """Steps and values of one metric over the evaluations."""
        rows = [row for row in self.evaluations if metric in row]
        return [row["step"] for row in rows], [row[metric] for row in rows]


class TrainingDiverged(ArithmeticError):
    """The loss or the gradient is no longer finite.

    Attributes
    ----------
    step
        The step at which it was seen; its update was not made.
    history
        Everything up to the step before.
    """

    def __init__(self, what: str, step: int, checkpoint: Path | None, history: History) -> None:
        good = checkpoint if checkpoint and checkpoint.exists() else None
        rescue = f"the last good checkpoint is {good}" if good else "no checkpoint was written"
        super().__init__(f"{what} at step {step}; {rescue}")
        self.step, self.history = step, history


@dataclass
class Trainer:
    """A model on its way through :func:`fit`, whose arguments these are: what one step needs and what it leaves.

    Attributes
    ----------
    scored
        Further arguments of ``evaluate``: ``batch_size``, ``batches``.
    history
        One entry for each step that was made.
    best
        The weights at the best evaluation so far, or empty.
    """

    model: nn.Module
    task: Any
    optimizer: torch.optim.Optimizer
    batch_size: int
    clip: float | None = None
    schedule: Schedule | None = None
    plateau: Plateau | None = None
    stream_length: int | None = None
    scored: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    device: str | torch.device = "cpu"
    processes: Processes = ALONE
    history: History = field(default_factory=History)

    def __post_init__(self) -> None:
        check_positive(batch_size=self.batch_size, clip=self.clip, stream_length=self.stream_length)
        check_stream(self.task, self.stream_length)
        check_device(self.device)
        self.rates = [group["lr"] for group in self.optimizer.param_groups]
        self.generator = torch.Generator().manual_seed(self.seed)
        self.position, self.state = 0, None
        self.source = batches(self.task, self.batch_size, self.stream_length, self.generator)
        self.best: dict[str, Tensor] = {}
        self.checkpoint: Path | None = None
        self.least = math.inf
        self.model.to(self.device).train()
        self.sharded = self.model
        if accelerator := self.processes.accelerator:
            accelerator.free_memory()  # of the run before
            # A copy with the same parameters: what is prepared computes in mixed precision, and evaluations do not.
            self.sharded, self.optimizer = accelerator.prepare(copy.copy(self.model), self.optimizer)

    def step(self, at: int) -> None:
        """Make one update, with the rate that the schedule has at step ``at``."""
        self.position, (x, y) = next(self.source)
        state = self.state if self.position > 1 else None
        factor = self.schedule(at) if self.schedule else 1.0
        factor *= self.plateau(self.history.evaluations) if self.plateau else 1.0
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = rate * factor
        x, y, share = self.processes.part(self.task, x, y)
        batch = (move(x, self.device), y.to(self.device))
        together = {"clip": self.clip, "state": state, "share": share, "accelerator": self.processes.accelerator}
        loss, norm, state = update(self.sharded, self.task, batch, self.optimizer, **together)
        self.history.add(loss, norm, self.rates[0] * factor, self.checkpoint)
        self.state = state if self.stream_length else None

    def evaluate(self, keep_best: str | None = None) -> dict[str, float]:
        """Note the scores on "valid", and the weights if they are the best by this metric."""
        scores = evaluate(self.model, self.task, device=self.device, stream_length=self.stream_length, **self.scored)
        scores = self.processes.agree(scores)  # one set of scores decides on the best and on a plateau
        if keep_best and scores[keep_best] < self.least:
            self.least = scores[keep_best]
            self.best = {name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()}
        self.history.evaluations.append({"step": len(self.history.step), "split": "valid", **scores})
        return scores

    def save(self) -> None:
        """Write the checkpoint that `resume` was told of: the main process does, for all."""
        own = {"state": move(self.state, "cpu"), "generators": generators(self.device)}
        contents = {"run": self.run, "history": asdict(self.history), "position": self.position}
        contents |= {"least": self.least, "best": self.best, "own": self.processes.gather(own)}
        contents |= {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        contents["generator"] = self.generator.get_state()
        if self.checkpoint and self.processes.main:
            save(self.checkpoint, contents)

    def resume(self, checkpoint: str | Path | None, **run: Any) -> None:
        """Go on from a checkpoint if it is there; it must be of the same run, which these further settings describe."""
        for name in ("batch_size", "stream_length", "seed", "clip", "rates"):
            run[name] = getattr(self, name)
        self.run = run | {"task": self.task.name, "format": 2}  # what an older version wrote is refused, not misread
        self.run |= {"processes": self.processes.count, "precision": self.processes.precision}
        self.checkpoint = Path(checkpoint) if checkpoint else None
        saved = None
        if self.checkpoint and self.processes.main and self.checkpoint.exists():
            saved = load(self.checkpoint, self.run)
        saved = self.processes.agree(saved)
        if saved is None:
            return
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.generator.set_state(saved["generator"])
        self.history, self.position = History(**saved["history"]), saved["position"]
        self.source = batches(self.task, self.batch_size, self.stream_length, self.generator, self.position)
        self.least, self.best = saved["least"], saved["best"]
        own = saved["own"][self.processes.rank]
        self.state = move(own["state"], self.device)
        set_generators(own["generators"], self.device)
