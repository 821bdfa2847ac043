"""What tasks share: the rows of their splits, and naming a class at the last step.

The functions whose first argument is a task are methods of several tasks.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect, expect_each

SPLITS = ("train", "valid", "test")
# Seeds and sizes of the finite splits of generated tasks. The seeds are large so that no seed that a
# person picks for training draws the test sequences by accident.
SEEDS = {"valid": 1_997_000_001, "test": 1_997_000_002}
SIZES = {"valid": 1_000, "test": 10_000}


def expect_part(split: str, size: int) -> None:
    """There is such a split, and the size of a part of it is at least 1."""
    expect_each(split=(split, SPLITS), size=size)


def as_they_are(x: Any, y: Tensor) -> tuple[Any, Tensor]:
    """A function, and no lambda, for pickle."""
    return x, y


class Rows:
    """The rows of a task's splits, each a tuple of tensors, and how they are laid out as a batch.

    `data` holds splits that are read. Where there is `draw`, `draw(size, generator)` gives the rows of a batch of
    "train", which is endless if it is not in `data`; so are finite splits drawn that are not, when first asked for, the
    same for everybody.
    """

    def __init__(
        self,
        data: Mapping[str, tuple[Tensor, ...]] | None = None,
        draw: Callable[[int, torch.Generator], tuple[Tensor, ...]] | None = None,
        lay_out: Callable[..., tuple[Any, Tensor]] = as_they_are,
    ) -> None:
        self._lay_out, self._data, self._draw = lay_out, dict(data or {}), draw

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Any, Tensor]:
        """`size` rows, fresh ones of "train" where there is `draw`, else with replacement from those that there are."""
        expect_part(split, size)
        if self._draw and split == "train":
            return self._lay_out(*self._draw(size, generator))
        data = self.finite(split)
        places = torch.randint(len(data[0]), (size,), generator=generator)
        return self._lay_out(*(tensor[places] for tensor in data))

    def batches(self, split: str, size: int) -> Iterator[tuple[Any, Tensor]]:
        """Run once through a finite split, `size` rows at a time; the last piece may be smaller."""
        expect_part(split, size)
        if split == "train" and split not in self._data:
            raise ValueError("split must be 'valid' or 'test', for 'train' has no end (use batch), got 'train'")
        pieces = zip(*(tensor.split(size) for tensor in self.finite(split)), strict=True)
        return (self._lay_out(*rows) for rows in pieces)

    def finite(self, split: str) -> tuple[Tensor, ...]:
        """All rows of a finite split."""
        if split not in self._data and self._draw:
            self._data[split] = self._draw(SIZES[split], torch.Generator().manual_seed(SEEDS[split]))
        return self._data[split]


class NoData:
    """In place of the splits of a task that was loaded: its data stayed where they were."""

    def __init__(self, name: str) -> None:
        self.name = name

    def batch(self, *_: Any) -> Any:
        """There is none; ValueError says so."""
        raise ValueError(f"task must hold data for this, got {self.name!r} as loaded from a file, which keeps none")

    batches = stream = finite = batch


def draw_batch(task: Any, split: str, size: int, generator: torch.Generator) -> tuple[Any, Tensor]:
    """x and y of `size` sequences: fresh ones where "train" is endless, else drawn with replacement from the split."""
    return task.splits.batch(split, size, generator)


def run_through(task: Any, split: str, size: int) -> Iterator[tuple[Any, Tensor]]:
    """Run once through a finite split in its fixed order, `size` sequences at a time."""
    return task.splits.batches(split, size)


def draw_some(count: int, most: int, size: int, generator: torch.Generator) -> Tensor:
    """So many different numbers below `most` in random order, anew for every row: (size, count)."""
    return torch.rand(size, most, generator=generator).argsort(1)[:, :count]


def chances(counts: Mapping[str, int], symbols: int) -> dict[str, float]:
    """Baselines of who knows that one of n is right and no more: 1/n and, with "loss" behind the name, ln n.

    "uniform guess loss" is ln of all `symbols`.
    """
    shares = {name: 1 / n for name, n in counts.items()}
    losses = {f"{name} loss": math.log(n) for name, n in counts.items()}
    return shares | losses | {"uniform guess loss": math.log(symbols)}


def perplexity(loss: float) -> float:
    """e to a mean loss; infinite where no float can hold it, as of a model that has diverged."""
    return math.inf if loss > 709 else math.exp(loss)


def last_step_loss(task: Any, prediction: Tensor, y: Tensor) -> Tensor:
    """Mean cross-entropy in nats at the last step; prediction (B, T, classes) logits, y (B,)."""
    expect(prediction, (len(y), "T", task.output_size), "prediction")
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
