"""Digits: the split, the order of the pixels, and the true MNIST where it is there."""

import math

import numpy as np
import pytest
import sklearn.datasets
import torch
from support import small_tasks as small
from support.data import reads

from rtx_lib.tasks import MNIST, DrawnDigits, SequentialDigits
from rtx_lib.tasks.digits import soften

SPLITS = ("train", "valid", "test")


def whole(task: SequentialDigits | MNIST, split: str) -> tuple[torch.Tensor, torch.Tensor]:
    x, y = (torch.cat(pieces) for pieces in zip(*task.batches(split, 10_000), strict=True))
    return x, y


def table(parts) -> np.ndarray:
    """The digits of some splits, pixels and class, in an order of their own."""
    rows = np.concatenate([np.column_stack([16 * x.reshape(len(x), -1), y]) for x, y in parts])
    return rows[np.lexsort(rows.T)]


def test_every_fold_shares_out_all_digits_by_class_and_tests_others() -> None:
    digits, tests = sklearn.datasets.load_digits(), []
    everything, total = table([(digits.data / 16, digits.target)]), np.bincount(digits.target)
    for fold in range(5):
        parts = [whole(SequentialDigits(fold=fold), split) for split in SPLITS]
        np.testing.assert_array_equal(table(parts), everything)
        for (_, y), share in zip(parts, (0.7, 0.1, 0.2), strict=True):
            assert np.abs(y.bincount().numpy() - share * total).max() < 1.5
        tests.append(parts[-1])
    np.testing.assert_array_equal(table(tests), everything)
    assert [len(whole(SequentialDigits(), split)[1]) for split in SPLITS] == [1259, 179, 359]
    assert torch.equal(whole(SequentialDigits(fold=7), "test")[0], tests[2][0])
    with pytest.raises(ValueError, match="fold must be"):
        SequentialDigits(fold=-1)


@pytest.mark.parametrize(("task", "side"), [(SequentialDigits, 8), (MNIST, 28)])
def test_values_and_order_of_the_steps(place, task, side: int) -> None:
    pixels, rows = (place(small.mnist(), task, rows=by_rows) for by_rows in (False, True))
    x, x_rows = whole(pixels, "test")[0], whole(rows, "test")[0]
    assert x.shape[1:] == (side**2, 1) == (pixels.length, pixels.input_size)
    assert x_rows.shape[1:] == (side, side) == (rows.length, rows.input_size)
    assert x.min() == 0 and x.max() == 1
    assert torch.equal(x[:, side : 2 * side, 0], x_rows[:, 1])  # the steps after the first row are the second row


@pytest.mark.parametrize("task", [SequentialDigits, MNIST])
def test_baselines_are_what_their_strategies_reach(place, task) -> None:
    task = place(small.mnist(), task)
    _, y = whole(task, "test")
    logits = torch.zeros(len(y), task.length, 10)
    assert task.baselines()["uniform guess loss"] == math.log(10)
    logits[:, -1, whole(task, "train")[1].bincount().argmax()] = 1.0
    assert task.metrics(logits, y)["accuracy"] == task.baselines()["most frequent class"]


def test_mnist_is_read_behind_the_headers(place) -> None:
    task, draw = place(small.mnist(), MNIST), np.random.default_rng(0)
    for splits, size in ((("train", "valid"), 60), (("test",), 20)):
        x, y = (torch.cat(parts) for parts in zip(*(whole(task, split) for split in splits), strict=True))
        images = np.frombuffer(draw.bytes(size * 784), np.uint8).reshape(size, 784, 1)
        assert torch.equal(x, torch.tensor(images) / 255) and y.tolist() == draw.integers(10, size=size).tolist()
    assert len(whole(task, "valid")[1]) == 20
    with pytest.raises(ValueError, match="valid must be at least 0 and below 60, got 60"):
        place(small.mnist(), MNIST, valid=60)
    all_train = place(small.mnist(), MNIST, valid=0)
    assert len(whole(all_train, "train")[1]) == 60
    assert torch.equal(whole(all_train, "valid")[0], whole(all_train, "test")[0])


@reads(MNIST)
def test_true_files() -> None:
    task = MNIST()
    labels = {split: whole(task, split)[1] for split in SPLITS}
    assert [len(y) for y in labels.values()] == [55_000, 5_000, 10_000]
    assert all(y.dtype == torch.int64 and y.unique().tolist() == list(range(10)) for y in labels.values())
    assert labels["train"][:5].tolist() == [5, 0, 4, 1, 9]  # the first labels of the training file
    assert labels["test"][:5].tolist() == [7, 2, 1, 0, 4]
    first, _ = next(task.batches("train", 5))
    assert first.shape == (5, 784, 1) and first.dtype == torch.float32 and first.min() == 0 and first.max() == 1
    assert task.baselines()["most frequent class"] == 0.1135  # 1,135 ones of 10,000


def test_only_what_is_trained_on_is_made_to_look_drawn() -> None:
    drawn, scans = DrawnDigits(), SequentialDigits(rows=True)
    for split in ("valid", "test"):
        ours, theirs = (task.batch(split, 20, torch.Generator().manual_seed(0)) for task in (drawn, scans))
        assert torch.equal(ours[0], theirs[0]) and torch.equal(ours[1], theirs[1])
    (x, y), (again, _) = (drawn.batch("train", 400, torch.Generator().manual_seed(0)) for _ in range(2))
    assert torch.equal(x, again) and x.shape == (400, 8, 8) and x.min() == 0 and x.max() == 1
    levels = torch.tensor([0, 0.3, 0.6, 0.9, 1])
    strokes = (x[..., None] - levels).abs().min(-1).values.amax((1, 2)) < 1e-6
    assert 0.6 < strokes.double().mean() < 0.8
    assert ((x[strokes] - 0.3).abs() < 1e-6).any(2).any(1).double().mean() > 0.95, "strokes have soft edges"
    scan = {digit.numpy().tobytes() for digit in whole(scans, "train")[0]}
    assert sum(digit.numpy().tobytes() in scan for digit in x[~strokes]) < len(x[~strokes]) / 2, "most have moved"
    assert set(y.tolist()) == set(range(10))


def test_drawn_cells_share_their_ink() -> None:
    strokes = torch.zeros(2, 4, 4)
    strokes[0, 1, 1] = strokes[0, 2, 1] = 1
    wanted = torch.tensor([[0, 0.3, 0, 0], [0.3, 1, 0.3, 0], [0.3, 1, 0.3, 0], [0, 0.3, 0, 0]])
    torch.testing.assert_close(soften(strokes), torch.stack([wanted, torch.zeros(4, 4)]))


def test_the_answers_after_later_rows_count_more() -> None:
    task, y = DrawnDigits(), torch.tensor([3])
    right = torch.nn.functional.one_hot(y, 10).float()[:, None] * 50
    losses = []
    for row in range(8):
        answers = right.repeat(1, 8, 1)
        answers[:, row] = 0  # it knows nothing there
        losses.append(task.loss(answers, y).item() / math.log(10))
    np.testing.assert_allclose(losses, np.arange(1, 9) ** 2 / 204, rtol=1e-6)
