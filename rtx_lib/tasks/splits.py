"""Small helpers that tasks share: checks of arguments, finite splits, and naming a class at the last step."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

SPLITS = ("train", "valid", "test")
# Seeds and sizes of the finite splits of generated tasks. The seeds are large so that no seed that a
# person picks for training draws the test sequences by accident.
SEEDS = {"valid": 1_997_000_001, "test": 1_997_000_002}
SIZES = {"valid": 1_000, "test": 10_000}


def check_integer(name: str, value: object, least: int) -> int:
    """`value` as an int; ValueError where it is not a whole number of at least `least`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # accepts int and NumPy integers only
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return number


def check_split(split: str, allowed: tuple[str, ...] = SPLITS) -> str:
    """`split` itself; ValueError where it is not one of `allowed`."""
    if split not in allowed:
        endless = " (training sequences are drawn without end: use batch)" if split in SPLITS else ""
        raise ValueError(f"split is {split!r}; it must be one of {', '.join(map(repr, allowed))}{endless}")
    return split


def check_prediction(prediction: Tensor, batch: int, output_size: int, length: int | None = None) -> None:
    """ValueError unless `prediction` is (batch, T, output_size), with T = `length` where that is given.

    Losses would broadcast a wrong shape in silence and return a number that means nothing.
    """
    shape = tuple(prediction.shape)
    if len(shape) != 3 or shape != (batch, length or max(shape[1], 1), output_size):
        wanted = f"({batch}, {length or 'T'}, {output_size})"
        raise ValueError(f"prediction has shape {shape}; it must be the model's whole output {wanted}")


def sample(data: tuple[Tensor, ...], size: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Draw `size` rows with replacement, the same rows from every tensor of `data`."""
    rows = torch.randint(len(data[0]), (size,), generator=generator)
    return tuple(tensor[rows] for tensor in data)


def in_order(data: tuple[Tensor, ...], size: int) -> Iterator[tuple[Tensor, ...]]:
    """Run once through the rows of `data`, `size` at a time; the last piece may be smaller."""
    return zip(*(tensor.split(size) for tensor in data), strict=True)


class Drawn:
    """The sequences of a generated task: without end in "train", the same for everybody in "valid" and "test".

    `draw(size, generator)` gives a tuple of tensors with `size` rows. The finite splits are drawn when first asked for,
    from seeds of their own. Both methods raise ValueError, at the call, for an unknown split or a size below 1.
    """

    def __init__(self, draw: Callable[[int, torch.Generator], tuple[Tensor, ...]]) -> None:
        self._draw = draw
        self._finite: dict[str, tuple[Tensor, ...]] = {}

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, ...]:
        """`size` fresh rows for "train", else some of the finite split."""
        check_split(split)
        size = check_integer("size", size, 1)
        return self._draw(size, generator) if split == "train" else sample(self._split(split), size, generator)

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, ...]]:
        """Run once through "valid" or "test", `size` rows at a time."""
        check_split(split, tuple(SEEDS))
        size = check_integer("size", size, 1)
        return in_order(self._split(split), size)

    def _split(self, split: str) -> tuple[Tensor, ...]:
        if split not in self._finite:
            self._finite[split] = self._draw(SIZES[split], torch.Generator().manual_seed(SEEDS[split]))
        return self._finite[split]


def last_step_loss(prediction: Tensor, y: Tensor, classes: int) -> Tensor:
    """Mean cross-entropy in nats at the last step; prediction (B, T, classes) logits, y (B,)."""
    check_prediction(prediction, len(y), classes)
    return F.cross_entropy(prediction[:, -1], y)


def last_step_metrics(prediction: Tensor, y: Tensor, classes: int) -> dict[str, float]:
    """{"loss", "accuracy"}: cross-entropy in nats, and the share of sequences whose largest logit is the label."""
    loss = last_step_loss(prediction.detach(), y, classes)
    accuracy = (prediction[:, -1].argmax(-1) == y).double().mean()
    return {"loss": loss.item(), "accuracy": accuracy.item()}


def class_baselines(train: Tensor, test: Tensor, classes: int) -> dict[str, float]:
    """From the labels of two splits. The key "most frequent class": test accuracy of always naming the class most
    frequent in training; "uniform guess loss": ln(classes), the cross-entropy of equal probabilities."""
    frequent = (test == train.bincount().argmax()).double().mean().item()
    return {"most frequent class": frequent, "uniform guess loss": math.log(classes)}
