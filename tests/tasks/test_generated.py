"""The generated tasks: what a sequence looks like, its statistics, and the baselines in closed form."""

from __future__ import annotations

import math

import pytest
import torch

from rtx_lib.tasks import AddingProblem, CopyMemory


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# The adding problem


@pytest.mark.parametrize("length", [2, 3, 7, 50])
@pytest.mark.parametrize("halves", [False, True])
def test_adding_labels_are_the_sum_of_the_two_marked_values(length: int, halves: bool) -> None:
    x, y = AddingProblem(length, halves=halves).batch("train", 500, generator())
    assert x.shape == (500, length, 2) and y.shape == (500, 1) and x.dtype == y.dtype == torch.float32
    values, markers = x.unbind(-1)
    assert ((values >= 0) & (values < 1)).all()
    assert ((markers == 0) | (markers == 1)).all() and (markers.sum(1) == 2).all()
    torch.testing.assert_close((values * markers).sum(1, keepdim=True), y)


def test_adding_markers_fall_anywhere_and_every_pair_is_equally_likely() -> None:
    x, _ = AddingProblem(4).batch("train", 60_000, generator(1))
    pairs = torch.einsum("bi,bj->ij", x[..., 1], x[..., 1]).triu(1)[torch.ones(4, 4).triu(1) == 1]
    # Six pairs, 10,000 of each expected, standard deviation 91: five of them are left for chance.
    assert pairs.sum() == 60_000 and (pairs - 10_000).abs().max() < 460


@pytest.mark.parametrize("length", [2, 5, 8])
def test_adding_halves_puts_one_marker_in_each_half_and_reaches_every_step(length: int) -> None:
    x, _ = AddingProblem(length, halves=True).batch("train", 20_000, generator(2))
    markers, half = x[..., 1], length // 2
    assert (markers[:, :half].sum(1) == 1).all() and (markers[:, half:].sum(1) == 1).all()
    expected = torch.tensor([1 / half] * half + [1 / (length - half)] * (length - half))
    assert (markers.mean(0) - expected).abs().max() < 0.02


def test_adding_baseline_is_the_error_of_predicting_one_and_no_constant_is_better() -> None:
    task = AddingProblem(20)
    ((_, y),) = task.batches("test", 10_000)
    constant = {value: task.loss(torch.full((10_000, 20, 1), value), y).item() for value in (0.9, 1.0, 1.1)}
    assert task.baselines() == {"predict 1": 1 / 6}
    assert abs(constant[1.0] - 1 / 6) < 0.01  # standard error 0.0019
    assert constant[1.0] < min(constant[0.9], constant[1.1])


def test_adding_counts_the_last_step_only() -> None:
    task = AddingProblem(5)
    _, y = task.batch("train", 8, generator())
    prediction = torch.full((8, 5, 1), 100.0)
    prediction[:, -1] = y + 0.5
    assert task.loss(prediction, y).item() == pytest.approx(0.25)
    assert task.metrics(prediction.requires_grad_(), y) == {"mse": pytest.approx(0.25)}


# Copy memory


def test_copy_layout() -> None:
    task = CopyMemory(5, symbols=8, length=3)
    x, y = task.batch("train", 200, generator())
    assert x.shape == y.shape == (200, 11) and x.dtype == y.dtype == torch.int64
    assert (x[:, 3:7] == 0).all() and (x[:, 7] == 9).all() and (x[:, 8:] == 0).all()
    assert (y[:, :8] == 0).all() and torch.equal(y[:, 8:], x[:, :3])
    assert set(x[:, :3].unique().tolist()) == set(range(1, 9))
    assert task.vocabulary == task.input_size == task.output_size == 10


def test_copy_usual_sizes() -> None:
    x, y = CopyMemory(100).batch("train", 1, generator())
    assert x.shape == y.shape == (1, 120)
    assert CopyMemory(100).baselines() == {"no memory": 10 * math.log(8) / 120}


@pytest.mark.parametrize(("delay", "symbols", "length"), [(1, 2, 1), (30, 8, 10), (7, 5, 4)])
def test_copy_baseline_is_the_loss_of_its_strategy(delay: int, symbols: int, length: int) -> None:
    """Certain of the blank until the answer is due, then equal probabilities of the symbols."""
    task = CopyMemory(delay, symbols=symbols, length=length)
    _, y = task.batch("train", 300, generator())
    logits = torch.full((300, delay + 2 * length, task.output_size), -1e9, dtype=torch.float64)
    logits[:, : delay + length, 0] = 0.0
    logits[:, delay + length :, 1 : symbols + 1] = 0.0
    assert task.loss(logits, y).item() == pytest.approx(task.baselines()["no memory"], rel=1e-12)
    # Planted mistake: a strategy that wastes probability on the blank must not meet the baseline.
    logits[:, delay + length :, 0] = 0.0
    assert task.loss(logits, y).item() > task.baselines()["no memory"] + 1e-3


def test_copy_accuracy_counts_the_copied_symbols_only() -> None:
    task = CopyMemory(6, length=4)
    _, y = task.batch("train", 50, generator())
    perfect = 100.0 * torch.nn.functional.one_hot(y, task.output_size)
    assert task.metrics(perfect, y) == {"loss": pytest.approx(0.0, abs=1e-6), "accuracy": 1.0}
    perfect[:, :-4] = 0.0  # no idea before the answer, which is right
    assert task.metrics(perfect, y)["accuracy"] == 1.0
    perfect[:, -4:-2] = 0.0  # half of the answer is the blank now
    assert task.metrics(perfect, y)["accuracy"] == 0.5


# What both promise


TASKS = [AddingProblem(9), AddingProblem(9, halves=True), CopyMemory(9)]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_finite_splits_are_the_same_for_everybody(task: AddingProblem | CopyMemory) -> None:
    again = type(task)(9, halves=True) if task.name.endswith("halves") else type(task)(9)
    for split, total in (("valid", 1_000), ("test", 10_000)):
        torch.manual_seed(len(split))  # the global generator must not matter
        pieces = list(task.batches(split, 999))
        assert [len(y) for _, y in pieces] == [999] * (total // 999) + [total % 999]
        for (x, y), (x_again, y_again) in zip(pieces, again.batches(split, 999), strict=True):
            assert torch.equal(x, x_again) and torch.equal(y, y_again)
    first = {split: next(task.batches(split, 100))[0] for split in ("valid", "test")}
    assert not torch.equal(first["valid"], first["test"])


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_batches_of_a_finite_split_are_rows_of_it(task: AddingProblem | CopyMemory) -> None:
    x, y = task.batch("valid", 20, generator(5))
    ((whole_x, whole_y),) = task.batches("valid", 1_000)
    for row in range(20):
        same = (whole_x == x[row]).flatten(1).all(1)
        assert same.any() and torch.equal(whole_y[same][0], y[row])


def test_the_finite_splits_have_known_numbers() -> None:
    """A record compares runs on the same test sequences: a change of these numbers is a change of the task."""
    ((_, y),) = AddingProblem(100).batches("test", 10_000)
    assert y.double().sum().item() == pytest.approx(10002.6802, rel=1e-6)
    ((x, _),) = CopyMemory(20).batches("test", 10_000)
    assert x.sum().item() == 540_347


@pytest.mark.parametrize("value", [1, 0, -3, 2.5, "10", None, True])
def test_adding_refuses_a_length_below_two(value: object) -> None:
    with pytest.raises(ValueError, match=rf"length is {value!r}; .* at least 2"):
        AddingProblem(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delay": 0}, "delay is 0; .* at least 1"),
        ({"delay": 5, "symbols": 1}, "symbols is 1; .* at least 2"),
        ({"delay": 5, "length": 0}, "length is 0; .* at least 1"),
    ],
)
def test_copy_refuses_sizes_below_the_least(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CopyMemory(**arguments)


def test_endless_training_split_cannot_be_run_through() -> None:
    for task in TASKS:
        with pytest.raises(ValueError, match=r"split is 'train'; it must be one of 'valid', 'test'.*use batch"):
            task.batches("train", 5)
