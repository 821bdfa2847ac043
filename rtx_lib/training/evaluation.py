"""What a model is worth on a split, and how large it is."""

import math
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.diagnostics.hooks import frozen
from rtx_lib.training.checkpoints import move

DRAWN = 1_997_000_001  # the seed of sequences that stand in for a finite split, large so that no run draws them


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
        Passed to ``task.batches``; of a task that has none, to :func:`drawn`.
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
    check_stream(task, stream_length)
    weight, finish = getattr(task, "weight", len), getattr(task, "finish", dict)
    total: dict[str, float] = {}
    seen = 0
    read = getattr(task, "batches", partial(drawn, task))
    source = task.stream(split, batch_size, stream_length) if stream_length else read(split, batch_size)
    state = None
    with frozen(model):
        for x, y in islice(source, batches):
            y, x = y.to(device), move(x, device)  # x may be a pair
            prediction, after = model(x, state) if stream_length else model(x)
            state = after if stream_length else None
            count = weight(y)
            for name, value in task.metrics(prediction, y).items():
                total[name] = total.get(name, 0.0) + value * count
            seen += count
    if not seen:
        raise ValueError(f"split must hold at least one sequence, {split!r} of {name_of(task)} holds none")
    return finish({name: value / seen for name, value in total.items()})


def parameter_count(model: nn.Module) -> int:
    """Trainable parameters outside embedding tables, each counted once."""
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    return sum(p.numel() for p in model.parameters() if p.requires_grad and id(p) not in tables)


def name_of(task: Any) -> str:
    """The task's name, or that of its class."""
    return str(getattr(task, "name", type(task).__name__))


def drawn(task: Any, split: str, size: int) -> Iterator[tuple[Any, Tensor]]:
    """About a thousand sequences, always the same, of a task that has no ``batches`` of its own."""
    generator = torch.Generator().manual_seed(DRAWN)
    return (task.batch(split, size, generator) for _ in range(math.ceil(1_000 / size)))


def check_positive(**values: float | None) -> None:
    """Raise ``ValueError`` for the first argument that is neither None nor above 0."""
    for name, value in values.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, got {value}")


def check_stream(task: Any, stream_length: int | None) -> None:
    """Raise ``ValueError`` for a stream of a task that has none."""
    if stream_length and not hasattr(task, "stream"):
        raise ValueError(f"stream_length must be None because {name_of(task)} has no stream, got {stream_length}")
