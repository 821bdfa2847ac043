"""Training and evaluation of any model on any task, with a history that can be drawn and a run that can be resumed."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from rtx_lib.training.checkpoints import detach, generators, load, move, save, set_generators
from rtx_lib.training.processes import ALONE, Processes
from rtx_lib.training.schedules import Plateau, Schedule


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
    checkpoint
        The last checkpoint, written while all was finite, or None.
    history
        Everything up to the step before.
    """

    def __init__(self, what: str, step: int, checkpoint: Path | None, history: History) -> None:
        good = checkpoint if checkpoint and checkpoint.exists() else None
        rescue = f"the last good checkpoint is {good}" if good else "no checkpoint was written"
        super().__init__(f"{what} at step {step}; {rescue}")
        self.step, self.checkpoint, self.history = step, good, history


def check_positive(**values: float | None) -> None:
    """Raise ``ValueError`` for the first argument that is neither None nor above 0."""
    for name, value in values.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, got {value}")


def choose_device(name: str | torch.device = "auto") -> torch.device:
    """The device of that name; for ``"auto"`` a GPU if torch can use one here, else the CPU.

    Raises:
        ValueError: if torch knows no such device or cannot use it here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    check_device(name)
    return torch.device(name)


def check_device(device: str | torch.device) -> None:
    """Raise ``ValueError`` unless torch knows the device and can use it here."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter by a torch that was built without CUDA
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device must be one that torch can use here, got {device!r}: {reason}") from error


def parameter_count(model: nn.Module) -> int:
    """Trainable parameters outside embedding tables, each counted once."""
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    return sum(p.numel() for p in model.parameters() if p.requires_grad and id(p) not in tables)


@torch.no_grad()
def evaluate(
    model: nn.Module,
    task: Any,
    split: str = "valid",
    *,
    batch_size: int = 250,
    device: str | torch.device = "cpu",
    batches: int | None = None,
    stream_length: int | None = None,
) -> dict[str, float]:
    """The task's metrics over one finite split, each batch weighted by its size, or by ``task.weight`` if there is one.

    What has to be computed from the mean, such as a perplexity, is added by ``task.finish`` if there is one.

    Parameters
    ----------
    model, task
        Any model and task that follow the library's contracts.
    split
        Passed to ``task.batches``.
    batch_size
        Sequences a batch; the result depends on it only by rounding. With a ``stream_length``: parallel streams, each
        of which begins without a state.
    device
        Where the model is.
    batches
        Stop after so many batches; all if None.
    stream_length
        Read ``task.stream(split, batch_size, stream_length)`` and carry the state from one piece to the next.

    Raises
    ------
    ValueError
        If the split is empty, ``batches`` or ``stream_length`` below 1, or for a stream of a task that has none.
    """
    check_positive(batches=batches, stream_length=stream_length)
    _check_stream(task, stream_length)
    was_training = model.training
    model.eval()
    weight, finish = getattr(task, "weight", len), getattr(task, "finish", dict)
    total: dict[str, float] = {}
    seen = 0
    source = task.stream(split, batch_size, stream_length) if stream_length else task.batches(split, batch_size)
    state = None
    for index, (x, y) in enumerate(source):
        if batches is not None and index >= batches:
            break
        y, x = y.to(device), move(x, device)  # x may be a pair
        prediction, after = model(x, state) if stream_length else model(x)
        state = after if stream_length else None
        count = weight(y)
        for name, value in task.metrics(prediction, y).items():
            total[name] = total.get(name, 0.0) + value * count
        seen += count
    model.train(was_training)
    if not seen:
        raise ValueError(f"split must hold at least one sequence, {split!r} of {task.name} holds none")
    averaged: dict[str, float] = finish({name: value / seen for name, value in total.items()})
    return averaged


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
    eval_split: str = "valid",
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

    Several processes that all call this with equal arguments train one model together, on parts of the same batches
    (:mod:`rtx_lib.training.processes`). The model, the history and any error of training are the same in all of them.

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
    eval_every, eval_split, eval_batches, eval_batch_size
        Evaluate every so many steps and after the last one, on this split, on at most so many batches of this size;
        on streams if trained on them.
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
    check_positive(steps=steps, batch_size=batch_size, lr=lr, clip=clip, eval_every=eval_every)
    check_positive(eval_batches=eval_batches, stream_length=stream_length, checkpoint_every=checkpoint_every)
    check_positive(eval_batch_size=eval_batch_size)
    if (keep_best or plateau) and not eval_every:
        raise ValueError("eval_every must be given with keep_best or plateau, got None")
    if batch_size < processes.count:
        raise ValueError(f"batch_size must be at least the number of processes, {processes.count}, got {batch_size}")
    _check_stream(task, stream_length)
    check_device(device)
    model.to(device).train()
    processes.spread(model)
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=lr)
    base_rates = [group["lr"] for group in optimizer.param_groups]
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(processes.seed(seed))
    scaler = processes.scaler(device)
    history, state, position = History(), None, 0
    best: dict[str, Any] = {"value": math.inf, "model": None}
    run = dict(
        task=task.name,
        batch_size=batch_size,
        stream_length=stream_length,
        seed=seed,
        clip=clip,
        rates=base_rates,
        steps=steps,
        keep_best=keep_best,
        processes=processes.count,
        precision=processes.precision,
    )
    path = Path(checkpoint) if checkpoint else None
    saved = processes.on_main(lambda: load(path, run) if path and path.exists() else None)
    if saved:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        generator.set_state(saved["generator"])
        history, position, best = History(**saved["history"]), saved["position"], saved.get("best", best)
        state = move(saved["state"], device)
        scaler.load_state_dict(saved.get("scaler", {}))
        if not processes.main:
            own = saved["others"][processes.rank - 1]
            state = move(own["state"], device)
            set_generators(own["generators"], device)
    source = pieces(task, batch_size, stream_length, position) if stream_length else None
    started = time.perf_counter() - history.seconds
    done = len(history.step)
    todo = range(done + 1, steps + 1)
    bar = tqdm(todo, task.name, steps, initial=done, disable=not (progress and processes.main), mininterval=1)
    for step in bar:
        if source is None:
            x, y = task.batch("train", batch_size, generator)
        else:
            position, (x, y) = next(source)
            state = None if position == 1 else state
        factor = schedule(step) if schedule else 1.0
        factor *= plateau(history.evaluations) if plateau else 1.0
        for group, rate in zip(optimizer.param_groups, base_rates, strict=True):
            group["lr"] = rate * factor
        x, y, share = processes.part(task, x, y)
        batch = (move(x, device), y.to(device))
        if processes.plain:
            value, norm, new_state = update(model, task, batch, optimizer, clip=clip, state=state)
        else:
            value, norm, new_state = processes.update(
                model, task, batch, optimizer, clip=clip, state=state, share=share, scaler=scaler
            )
        for what, number in (("loss", value), ("gradient norm", norm)):
            if not math.isfinite(number):
                raise TrainingDiverged(f"{what} is {number}", step, path, history)
        if source is not None:
            state = detach(new_state)
        history.step.append(step)
        history.loss.append(value)
        history.gradient_norm.append(norm)
        history.lr.append(base_rates[0] * factor)
        if after_step:
            after_step(step, model, value)
        if eval_every and (step % eval_every == 0 or step == steps):
            # The main process alone, the others are told: one set of scores decides on the best and on a plateau.
            scores = processes.on_main(
                lambda: evaluate(
                    model,
                    task,
                    eval_split,
                    batch_size=eval_batch_size,
                    device=device,
                    batches=eval_batches,
                    stream_length=stream_length,
                )
            )
            if keep_best and scores[keep_best] < best["value"]:
                weights = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
                best = {"value": scores[keep_best], "model": weights}
            history.evaluations.append({"step": step, "split": eval_split, **scores})
            bar.set_postfix({name: f"{score:.4g}" for name, score in scores.items()})
        history.seconds = time.perf_counter() - started
        if path and (step % checkpoint_every == 0 or step == steps):
            contents = {"run": run, "history": asdict(history), "position": position, "state": move(state, "cpu")}
            contents |= {"best": best, "scaler": scaler.state_dict()}
            contents["others"] = processes.gather({"state": contents["state"], "generators": generators(device)})[1:]
            contents |= {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            contents["generator"] = generator.get_state()
            processes.on_main(partial(save, path, contents))
    if best["model"] is not None:
        model.load_state_dict(best["model"])
    return history


def _check_stream(task: Any, stream_length: int | None) -> None:
    if stream_length and not hasattr(task, "stream"):
        raise ValueError(f"stream_length must be None because {task.name} has no stream, got {stream_length}")


def update(
    model: nn.Module,
    task: Any,
    batch: tuple[Any, Tensor],
    optimizer: torch.optim.Optimizer,
    *,
    clip: float | None = None,
    state: Any = None,
) -> tuple[float, float, Any]:
    """One step of training: the loss, the gradient norm before clipping, and the model's new state.

    Nothing is changed where the loss or the norm is not finite. Arguments as in :func:`fit`.
    """
    x, y = batch
    prediction, state = model(x, state)
    loss = task.loss(prediction, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    parameters = [p for p in model.parameters() if p.requires_grad]
    norm = float(nn.utils.clip_grad_norm_(parameters, clip if clip is not None else math.inf))
    value = float(loss.detach())
    if math.isfinite(value) and math.isfinite(norm):
        optimizer.step()
    return value, norm, state


def pieces(task: Any, batch_size: int, length: int, skip: int = 0) -> Iterator[tuple[int, tuple[Tensor, Tensor]]]:
    """The pieces of a task's training stream, numbered from 1 in each pass, pass after pass.

    The first ``skip`` of the first pass are left out.
    """
    while True:
        empty = True
        for number, piece in enumerate(task.stream("train", batch_size, length), start=1):
            empty = False
            if number > skip:
                yield number, piece
        if empty:
            raise ValueError(f"stream_length and batch_size must leave at least one piece of {task.name}, got none")
        skip = 0
