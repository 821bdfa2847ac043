"""A lane of the race for the reader's own module: sized to the budget, tuned and trained as the others are."""

import bisect
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import Tensor, nn

from rtx_book.records.records import Record
from rtx_book.runs.builders import build, task_of
from rtx_book.runs.recipes import Recipe
from rtx_book.runs.recipes import race as plan
from rtx_book.runs.runs import trained
from rtx_book.runs.tuning import loss
from rtx_lib.training import parameter_count

Make = Callable[[int, int], nn.Module]
"""From the width of the inputs and a size to a module: x (B, T, D_in) -> (y (B, T, any width), state)."""

LARGEST = 1 << 16
"""No size above this one is tried."""


class OwnLane(nn.Module):
    """The reader's module between an embedding, where the inputs are ids, and an output layer.

    Parameters
    ----------
    core
        A module ``(x (B, T, input_size), state) -> (y (B, T, W), state)``; W may be anything.
    input_size, output_size, vocabulary
        Those of the task.
    """

    def __init__(self, core: nn.Module, input_size: int, output_size: int, vocabulary: int | None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, input_size) if vocabulary else None
        self.core = core
        self.constrain_ = getattr(core, "constrain_", None)  # what an IndRNN does to u after each step
        self.readout = nn.Linear(_width(core, input_size), output_size)

    def forward(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Map x (B, T, input_size), or ids (B, T), to y (B, T, output_size) and the core's state."""
        y, state = self.core(x if self.embedding is None else self.embedding(x), state)
        return self.readout(y), state


def _width(core: nn.Module, input_size: int) -> int:
    """Width of what the core gives for two steps; ``ValueError`` where it breaks the contract."""
    x = torch.zeros(1, 2, input_size)
    with torch.no_grad():
        answer = core(x)
    y = answer[0] if isinstance(answer, tuple) and len(answer) == 2 else None
    if not isinstance(y, Tensor) or y.shape[:2] != x.shape[:2] or y.ndim != 3:
        got = f"a tensor {tuple(answer.shape)}" if isinstance(answer, Tensor) else type(answer).__name__
        raise ValueError(f"make must build a module that returns (y, state), y of shape (1, 2, W) here, got {got}")
    return y.shape[-1]


def budget(task: str) -> int:
    """Parameters of a lane of the race outside its embedding: those of the Transformer, which the others were sized to.

    Raises
    ------
    ValueError
        For a task that is none of the race's.
    """
    if task not in plan.TASKS:
        raise ValueError(f"task must be one of {list(plan.TASKS)}, got {task!r}")
    return parameter_count(build(plan.race(task, "transformer", plan.RATES[0]), seed=0)[0])


def fitting_size(make: Make, task: Any, wanted: int) -> int:
    """The size whose lane comes closest to the ``wanted`` parameters, by halving: they must grow with the size.

    Raises
    ------
    ValueError
        If the module breaks the contract, or no size comes within 5 % of them, the race's own margin.
    """

    def count(size: int) -> int:
        return parameter_count(OwnLane(make(task.input_size, size), task.input_size, task.output_size, task.vocabulary))

    high = 2
    while count(high) < wanted and high < LARGEST:
        high *= 2
    enough = bisect.bisect_left(range(high), wanted, high // 2, key=count)
    size = min((max(1, enough - 1), enough), key=lambda size: abs(count(size) - wanted))
    if abs(count(size) - wanted) > 0.05 * wanted:
        got = f"{count(size):,} with size {size}"
        raise ValueError(f"make must have a size with about {wanted:,} parameters, closest were {got}")
    return size


def enter_race(
    make: Make, task: str, *, lr: float | None = None, seed: int = 5, device: str = "cpu", **changes: Any
) -> Record:
    """Run the reader's own module in the race, and return what a record of the race holds.

    It gets the size that has the budget's parameters and, with ``lr=None``, the best of the race's seven rates in the
    shorter runs with which every lane tried them; then the steps, batches, schedule and clipping of all lanes.

    Parameters
    ----------
    make
        From the width of the inputs and a size to a new module.
    task
        One of the race's: "adding", "copy", "digits", "text", "stream", "chorales", "parity", "recall", "selective".
        On "stream" the state is carried from piece to piece.
    lr
        The rate, if the reader chooses it.
    seed
        Of the weights and the batches; the records of the race have 0 to 4. Of the digits it is the fold, too.
    device
        Where torch computes.
    changes
        Other values of the recipe's settings, such as ``steps``.

    Raises
    ------
    ValueError
        For an unknown task, a module that breaks the contract or cannot be sized, or one without a state on "stream".
    """
    wanted = budget(task)
    plain = plan.race(task, "rnn", lr or plan.RATES[0])
    size = fitting_size(make, task_of(plain, seed), wanted)

    def one_run(recipe: Recipe, seed: int) -> Record:
        data = task_of(recipe, seed)
        torch.manual_seed(seed)
        model = OwnLane(make(data.input_size, size), data.input_size, data.output_size, data.vocabulary)
        about = f"the reader's own module on the race's task {task!r}"
        recipe = replace(recipe, name=f"own-{task}", about=about, model="own", model_arguments={"size": size})
        warmup = recipe.warmup * changes.get("steps", recipe.steps) // recipe.steps
        recipe = replace(recipe, **{"warmup": warmup} | changes)
        if recipe.stream_length:
            x, _ = data.batch("train", 1, torch.Generator().manual_seed(seed))
            with torch.no_grad():
                if model(x[:, :2])[1] is None:
                    raise ValueError("make must build a module that returns its state to read a stream, got None")
        record: Record = {"recipe": recipe.name, "seed": seed, "configuration": asdict(recipe)}
        return record | trained(recipe, model, data, seed, device=device)

    def tried(rate: float) -> float:
        recipe = plan.trial(task, "rnn", rate)
        return loss(one_run(recipe, 0), recipe)

    rate = lr or min(plan.RATES, key=tried)
    return one_run(replace(plain, lr=rate), seed)
