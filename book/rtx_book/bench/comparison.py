"""What a training step of the models of the comparison costs."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from rtx_book.bench.measuring import row, training_step
from rtx_book.runs import build
from rtx_book.runs.recipes import race as recipes
from rtx_lib.diagnostics.measuring import count_flops, measure
from rtx_lib.tasks import available
from rtx_lib.training import parameter_count
from rtx_lib.training.checkpoints import move

_FILES = {"text": "shakespeare", "stream": "shakespeare", "chorales": "music"}  # the data of the tasks that need some


def race(
    device: str = "cpu", tasks: Iterable[str] = recipes.TASKS, lanes: Iterable[str] = recipes.LANES, rounds: int = 9
) -> list[dict[str, Any]]:
    """One training step of each model of the race, at its own size, against the Transformer's on the same task.

    On "stream", where no Transformer runs, it is against the GRU's.

    A step is the forward pass, the loss, the backward pass, the clipping and Adam, on a batch of 32 as in the race. Of
    nine batches it is the one of middle length, the same for all. A model that reads streams has the state of the piece
    before. As the models differ, there is no error. Besides the ratio a row has ``seconds_per_step``,
    ``flops_per_step`` (:func:`rtx_lib.diagnostics.measuring.count_flops`) and ``parameters``, embeddings not counted.

    A task whose data are not in the cache is left out, and a line on standard error says so. ``ValueError`` for lanes
    without those with which all are compared.
    """
    lanes = list(lanes)
    if not {"transformer", "gru"} <= set(lanes):
        raise ValueError(f"lanes must hold 'transformer' and 'gru', with which all are compared, got {lanes}")
    rows = []
    for task in tasks:
        if task in _FILES and not available(_FILES[task]):
            print(f"race: {task} is left out: its data are not in the cache (RTX_DATA)", file=sys.stderr)
            continue
        made = {lane: _step(task, lane, device) for lane in lanes if recipes.runs_on(task, lane)}
        steps = {lane: step for lane, (step, _) in made.items()}
        flops = {lane: count_flops(step) for lane, step in steps.items()}
        seconds = measure(steps, rounds, device=device)
        against = "transformer" if recipes.runs_on(task, "transformer") else "gru"
        for lane, (_, parameters) in made.items():
            costs = {"seconds_per_step": float(f"{seconds[lane]:.4g}"), "flops_per_step": flops[lane]}
            ratio = seconds[against] / seconds[lane]
            found = row(f"race-{task}", lane, against, ratio, None, device, "ours")
            rows.append(found | costs | {"parameters": parameters})
    return rows


def _step(task_name: str, lane: str, device: str) -> tuple[Callable[[], Tensor], int]:
    """A training step of one model, which can be made again and again, and its parameters."""
    recipe = recipes.race(task_name, lane, 1e-3)
    model: Any
    model, task = build(recipe, seed=0)
    model.to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.lr)
    state = None
    if recipe.stream_length:
        stream = task.stream("train", recipe.batch_size, recipe.stream_length)
        (before, _), batch = next(stream), next(stream)
        with torch.no_grad():
            state = model(move(before, device))[1]
    else:
        generator = torch.Generator().manual_seed(0)
        batches = [task.batch("train", recipe.batch_size, generator) for _ in range(9)]
        batch = sorted(batches, key=lambda batch: batch[0].shape[1])[4]
    x, y = move(batch[0], device), batch[1].to(device)
    step = training_step(model, task, optimizer, (x, y), recipe.clip, state)
    return step, parameter_count(model)
