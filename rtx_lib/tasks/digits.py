"""Handwritten digits of 8 x 8 pixels, read one pixel or one row at a time; no download."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from rtx_lib.tasks.splits import Rows, class_baselines, last_step_loss, last_step_metrics

_SEED = 1_997  # of the split; part of the task, not of a run
_SHARES = {"test": 0.2, "valid": 0.1}  # of each class, rounded; the rest is "train"


class SequentialDigits:
    """Name the digit after reading its pixels in order (scikit-learn's copy of the UCI test digits, 1,797).

    ::

        pixels of one digit      x (B, 64, 1): row after row, 64 steps of one number in [0, 1]
        . . # # . . . .              0, 0, .8, 1, 0, 0, 0, 0, 0, .3, 1, ...          y = 3
        . # . . # . . .          x (B, 8, 8) with rows=True: 8 steps of 8 numbers
        . . . . # . . .              row 1, row 2, ... row 8                         y = 3

    x float, y (B,) int64. Only the model's output at the last step counts.

    The three splits are fixed, and stratified: of every class, 20 % are "test", 10 % "valid", 70 % "train".

    Raises ValueError for an unknown split, a size below 1, a prediction of wrong shape, or data that hold a
    value that is not finite.
    """

    output_size = 10
    vocabulary = None

    def __init__(self, rows: bool = False) -> None:
        self.rows = rows
        self.input_size = 8 if rows else 1
        self.length = 8 if rows else 64
        self.name = "digits-rows" if rows else "digits-pixels"
        images, labels = _read()
        x = torch.from_numpy(images).view(-1, self.length, self.input_size)
        y = torch.from_numpy(labels)
        data = {split: (x[places], y[places]) for split, places in _stratify(labels).items()}
        self._rows = Rows(lambda x, y: (x, y), data)

    def batch(self, split: str, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """x (size, T, input_size) and y (size,), drawn with replacement."""
        return self._rows.batch(split, size, generator)

    def batches(self, split: str, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Run once through a split in its fixed order."""
        return self._rows.batches(split, size)

    def loss(self, prediction: Tensor, y: Tensor) -> Tensor:
        """Mean cross-entropy in nats at the last step; prediction (B, T, 10) logits, y (B,)."""
        return last_step_loss(prediction, y, self.output_size)

    def metrics(self, prediction: Tensor, y: Tensor) -> dict[str, float]:
        """{"loss", "accuracy"}: cross-entropy in nats, and the share of right answers, at the last step."""
        return last_step_metrics(prediction, y, self.output_size)

    def baselines(self) -> dict[str, float]:
        """{"most frequent class": its test accuracy, "uniform guess loss": ln 10}."""
        return class_baselines(self._rows.finite("train")[1], self._rows.finite("test")[1], self.output_size)


def _read() -> tuple[np.ndarray, np.ndarray]:
    """Pixels (1797, 64) float32 in [0, 1] and labels (1797,) int64."""
    from sklearn.datasets import load_digits  # here, because the import takes longer than everything else

    digits = load_digits()
    if not np.isfinite(digits.data).all():
        image = np.flatnonzero(~np.isfinite(digits.data).all(axis=1))[0]
        raise ValueError(f"digits must hold finite pixels, got NaN or infinity in image {image}")
    return (digits.data / 16).astype(np.float32), digits.target.astype(np.int64)  # pixels count 0..16


def _stratify(labels: np.ndarray) -> dict[str, np.ndarray]:
    """Places of each split in the data, ascending: a run in order mixes the classes as the data do."""
    # Sorted random numbers, because NumPy promises less for the way that `permutation` draws its own.
    order = np.random.default_rng(_SEED).random(len(labels)).argsort(kind="stable")
    parts: dict[str, list[np.ndarray]] = {"train": [], "valid": [], "test": []}
    for digit in range(10):
        members = order[labels[order] == digit]
        test, valid = (round(len(members) * _SHARES[split]) for split in ("test", "valid"))
        parts["test"].append(members[:test])
        parts["valid"].append(members[test : test + valid])
        parts["train"].append(members[test + valid :])
    return {split: np.sort(np.concatenate(places)) for split, places in parts.items()}
