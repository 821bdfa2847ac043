"""Sequential digits: the split, the order of the pixels, and refusal of broken data."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sklearn.datasets
import torch

from rtx_lib.tasks import SequentialDigits


def whole(task: SequentialDigits, split: str) -> tuple[torch.Tensor, torch.Tensor]:
    ((x, y),) = task.batches(split, 10_000)
    return x, y


def test_splits_share_out_every_image_once() -> None:
    task, digits = SequentialDigits(), sklearn.datasets.load_digits()
    x = torch.cat([whole(task, split)[0] for split in ("train", "valid", "test")])
    y = torch.cat([whole(task, split)[1] for split in ("train", "valid", "test")])
    assert [len(whole(task, split)[1]) for split in ("train", "valid", "test")] == [1259, 179, 359]
    ours = np.column_stack([y.numpy(), 16 * x.squeeze(-1).numpy()])
    theirs = np.column_stack([digits.target, digits.data])
    np.testing.assert_array_equal(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])


@pytest.mark.parametrize(("split", "share"), [("train", 0.7), ("valid", 0.1), ("test", 0.2)])
def test_splits_are_stratified(split: str, share: float) -> None:
    total = np.bincount(sklearn.datasets.load_digits().target)
    count = whole(SequentialDigits(), split)[1].bincount().numpy()
    assert np.abs(count - share * total).max() <= 1


def test_split_is_the_known_one() -> None:
    """Records name this split: a change of it is a change of the task."""
    labels = whole(SequentialDigits(), "test")[1][:20]
    assert labels.tolist() == [3, 0, 3, 4, 7, 8, 9, 2, 5, 0, 8, 8, 4, 2, 7, 0, 3, 6, 5, 0]


def test_values_and_order_of_the_steps() -> None:
    pixels, rows = SequentialDigits(), SequentialDigits(rows=True)
    x, x_rows = whole(pixels, "test")[0], whole(rows, "test")[0]
    assert x.shape == (359, 64, 1) and x_rows.shape == (359, 8, 8)
    assert x.min() == 0 and x.max() == 1
    assert torch.equal(x[:, 8:16, 0], x_rows[:, 1])  # steps 9 to 16 are the second row
    assert (pixels.length, pixels.input_size) == (64, 1) and (rows.length, rows.input_size) == (8, 8)


def test_baselines_are_what_their_strategies_reach() -> None:
    task = SequentialDigits()
    _, y = whole(task, "test")
    logits = torch.zeros(len(y), 64, 10)
    assert task.baselines()["uniform guess loss"] == math.log(10)
    logits[:, -1, whole(task, "train")[1].bincount().argmax()] = 1.0
    assert task.metrics(logits, y)["accuracy"] == task.baselines()["most frequent class"]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_data_that_are_not_finite_are_refused(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    broken = sklearn.datasets.load_digits()
    broken.data[17, 3] = value
    monkeypatch.setattr(sklearn.datasets, "load_digits", lambda: broken)
    with pytest.raises(ValueError, match="digits must hold finite pixels, got NaN or infinity in image 17"):
        SequentialDigits()
