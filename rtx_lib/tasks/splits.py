"""What tasks share: checks of arguments, the rows of their splits, and naming a class at the last step.

The functions whose first argument is a task are methods of several tasks.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

SPLITS = ("train", "valid", "test")
# Seeds and sizes of the finite splits of generated tasks. The seeds are large so that no seed that a
# person picks for training draws the test sequences by accident.
SEEDS = {"valid": 1_997_000_001, "test": 1_997_000_002}
SIZES = {"valid": 1_000, "test": 10_000}


def check_integer(name: str, value: object, least: int, most: float = math.inf) -> int:
    """`value` as an int; ValueError where it is not a whole number of at least `least` and at most `most`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # accepts int and NumPy integers only
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        limit = "" if most == math.inf else f" and at most {most}"
        raise ValueError(f"{name} must be a whole number of at least {least}{limit}, got {value!r}")
    return number


def check_choice(name: str, value: str, allowed: Sequence[str]) -> str:
    """`value` itself; ValueError where it is not one of `allowed`."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def check_split(split: str) -> str:
    """`split` itself; ValueError where it is none."""
    return check_choice("split", split, SPLITS)


def check_prediction(prediction: Tensor, batch: int, output_size: int, length: int | None = None) -> None:
    """ValueError unless `prediction` is (batch, T, output_size), with T = `length` where that is given.

    Losses would broadcast a wrong shape in silence and return a number that means nothing.
    """
    shape = tuple(prediction.shape)
    if len(shape) != 3 or shape != (batch, length or max(shape[1], 1), output_size):
        wanted = f"({batch}, {length or 'T'}, {output_size})"
        raise ValueError(f"prediction must be the model's whole output {wanted}, got shape {shape}")


class Rows:
    """The rows of a task's splits, each a tuple of tensors, and how they are laid out as a batch.

    `data` holds splits that are read. Where there is `draw`, "train" is endless, and `draw(size, generator)` gives rows
    of it; the finite splits are drawn when first asked for, the same for everybody.
    """

    def __init__(
        self,
        data: Mapping[str, tuple[Tensor, ...]] | None = None,
        draw: Callable[[int, torch.Generator], tuple[Tensor, ...]] | None = None,
        lay_out: Callable[..., tuple[Any, Tensor]] = lambda x, y: (x, y),
    ) -> None:
        self._lay_out, self._data, self._draw = lay_out, dict(data or {}), draw

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Any, Tensor]:
        """`size` rows, fresh from an endless split and with replacement from a finite one."""
        check_split(split)
        size = check_integer("size", size, 1)
        if self._draw and split == "train":
            return self._lay_out(*self._draw(size, generator))
        data = self.finite(split)
        places = torch.randint(len(data[0]), (size,), generator=generator)
        return self._lay_out(*(tensor[places] for tensor in data))

    def batches(self, split: str, size: int) -> Iterator[tuple[Any, Tensor]]:
        """Run once through a finite split, `size` rows at a time; the last piece may be smaller."""
        check_split(split)
        size = check_integer("size", size, 1)
        if self._draw and split == "train":
            raise ValueError("split must be 'valid' or 'test', for 'train' has no end (use batch), got 'train'")
        pieces = zip(*(tensor.split(size) for tensor in self.finite(split)), strict=True)
        return (self._lay_out(*rows) for rows in pieces)

    def finite(self, split: str) -> tuple[Tensor, ...]:
        """All rows of a finite split."""
        if split not in self._data and self._draw:
            self._data[split] = self._draw(SIZES[split], torch.Generator().manual_seed(SEEDS[split]))
        return self._data[split]


def draw_batch(task: Any, split: str, size: int, generator: torch.Generator) -> tuple[Any, Tensor]:
    """x and y of `size` sequences: fresh ones where "train" is endless, else drawn with replacement from the split."""
    return task.splits.batch(split, size, generator)


def run_through(task: Any, split: str, size: int) -> Iterator[tuple[Any, Tensor]]:
    """Run once through a finite split in its fixed order, `size` sequences at a time."""
    return task.splits.batches(split, size)


def last_step_loss(task: Any, prediction: Tensor, y: Tensor) -> Tensor:
    """Mean cross-entropy in nats at the last step; prediction (B, T, classes) logits, y (B,)."""
    check_prediction(prediction, len(y), task.output_size)
    return F.cross_entropy(prediction[:, -1], y)


def last_step_metrics(task: Any, prediction: Tensor, y: Tensor) -> dict[str, float]:
    """{"loss", "accuracy"}: cross-entropy in nats, and the share of right answers, at the last step."""
    loss = last_step_loss(task, prediction.detach(), y)
    accuracy = (prediction[:, -1].argmax(-1) == y).double().mean()
    return {"loss": loss.item(), "accuracy": accuracy.item()}


def class_baselines(task: Any) -> dict[str, float]:
    """The key "most frequent class": test accuracy of always naming the class most frequent in training;
    "uniform guess loss": ln(classes), the cross-entropy of equal probabilities."""
    (_, train), (_, test) = task.splits.finite("train"), task.splits.finite("test")
    frequent = (test == train.bincount().argmax()).double().mean().item()
    return {"most frequent class": frequent, "uniform guess loss": math.log(task.output_size)}
