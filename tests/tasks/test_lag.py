"""Lag: what a sequence looks like, which positions count, and the baselines in closed form."""

from __future__ import annotations

import math

import pytest
import torch

from rtx_lib.tasks import Lag, StreamTask, Task


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def copying(x: torch.Tensor, lag: int, symbols: int) -> torch.Tensor:
    """Logits, in float64, of a model that repeats what it read `lag` steps ago, and at first the symbol 0."""
    shifted = torch.nn.functional.pad(x[:, : x.shape[1] - lag], (lag, 0))
    return 100 * torch.nn.functional.one_hot(shifted, symbols).double()


@pytest.mark.parametrize(("length", "lag", "symbols"), [(2, 1, 2), (6, 5, 16), (40, 5, 16), (30, 29, 3)])
def test_labels_are_the_symbols_of_lag_steps_ago(length: int, lag: int, symbols: int) -> None:
    x, y = Lag(length, lag=lag, symbols=symbols).batch("train", 200, generator())
    assert x.shape == y.shape == (200, length) and x.dtype == y.dtype == torch.int64
    for step in range(length):
        assert torch.equal(y[:, step], x[:, step - lag]) if step >= lag else (y[:, step] == -100).all()
    assert set(x.unique().tolist()) == set(range(symbols))


def test_symbols_are_equally_likely() -> None:
    x, _ = Lag(100).batch("train", 1_000, generator(1))
    # 6,250 of each expected, standard deviation 77.
    assert (x.flatten().bincount() - 6_250).abs().max() < 390


def test_only_the_right_lag_is_right() -> None:
    task = Lag(40)
    x, y = task.batch("valid", 100, generator())
    metrics = {lag: task.metrics(copying(x, lag, 16), y) for lag in (4, 5, 6)}
    assert metrics[5] == {"loss": pytest.approx(0, abs=1e-12), "accuracy": 1.0}
    assert all(metrics[lag]["accuracy"] < 0.1 and metrics[lag]["loss"] > 50 for lag in (4, 6))


def test_the_first_positions_do_not_count() -> None:
    task = Lag(9, lag=3, symbols=4)
    _, y = task.batch("train", 8, generator())
    prediction = torch.randn(8, 9, 4, generator=generator(2), requires_grad=True)
    task.loss(prediction, y).backward()
    assert (prediction.grad[:, :3] == 0).all() and (prediction.grad[:, 3:].abs().sum(-1) > 0).all()
    changed = prediction.detach().clone()
    changed[:, :3] = 50.0
    assert task.metrics(changed, y) == task.metrics(prediction, y)


def test_metrics_do_not_depend_on_the_batches() -> None:
    task = Lag(12, lag=2)
    table = torch.randn(16, 16, generator=generator(3), dtype=torch.float64)

    def over_the_split(size: int) -> dict[str, float]:
        scores = [(len(y), task.metrics(table[x], y)) for x, y in task.batches("valid", size)]
        return {name: sum(rows * score[name] for rows, score in scores) / 1_000 for name in scores[0][1]}

    whole = over_the_split(1_000)
    for size in (1, 7, 250):
        assert over_the_split(size) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("symbols", [2, 16])
def test_baseline_is_what_a_uniform_guess_reaches(symbols: int) -> None:
    task = Lag(20, symbols=symbols)
    x, y = next(task.batches("test", 10_000))
    flat = task.metrics(torch.zeros(10_000, 20, symbols, dtype=torch.float64), y)
    assert flat["loss"] == pytest.approx(task.baselines()["uniform guess loss"], rel=1e-12)
    # 150,000 positions: the standard error of the accuracy is at most 0.0013.
    assert flat["accuracy"] == pytest.approx(task.baselines()["uniform guess"], abs=0.006)
    # Whoever is sure of another lag guesses no better.
    assert task.metrics(copying(x, 4, symbols), y)["accuracy"] == pytest.approx(1 / symbols, abs=0.006)
    assert task.baselines() == {"uniform guess": 1 / symbols, "uniform guess loss": math.log(symbols)}


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_same_generator_same_batch(split: str) -> None:
    one, two = generator(7), generator(7)
    for _ in range(2):
        torch.rand(3)  # the global generator does not matter
        (x, y), (x_again, y_again) = Lag(12).batch(split, 5, one), Lag(12).batch(split, 5, two)
        assert torch.equal(x, x_again) and torch.equal(y, y_again)
    assert not torch.equal(Lag(12).batch(split, 5, one)[0], x)


def test_finite_splits_are_the_same_for_everybody() -> None:
    for split, total in (("valid", 1_000), ("test", 10_000)):
        torch.manual_seed(len(split))
        pieces = list(Lag(9).batches(split, 999))
        assert [len(y) for _, y in pieces] == [999] * (total // 999) + [total % 999]
        ((x, y),) = Lag(9).batches(split, total)
        assert torch.equal(torch.cat([x for x, _ in pieces]), x) and torch.equal(torch.cat([y for _, y in pieces]), y)
        ((other, _),) = Lag(9, lag=2).batches(split, total)
        assert torch.equal(other, x)  # the same sequences for every lag
        assert (x[:, None] == Lag(9).batch(split, 1, generator())[0]).all(-1).any()
    assert not torch.equal(*(next(Lag(9).batches(split, 100))[0] for split in ("valid", "test")))


def test_the_finite_splits_have_known_numbers() -> None:
    """A record compares runs on the same test sequences: a change of these numbers is a change of the task."""
    ((x, _),) = Lag(100).batches("test", 10_000)
    assert x[0, :8].tolist() == [11, 9, 1, 7, 4, 7, 4, 5] and x.sum().item() == 7_500_653


@pytest.mark.parametrize(
    ("task", "name", "symbols"),
    [(Lag(64), "lag-64", 16), (Lag(64, lag=9), "lag-64-9x16", 16), (Lag(20, symbols=4), "lag-20-5x4", 4)],
)
def test_is_a_task_and_no_stream(task: Lag, name: str, symbols: int) -> None:
    assert isinstance(task, Task) and not isinstance(task, StreamTask)
    assert task.name == name and task.vocabulary == task.input_size == task.output_size == symbols
    _, y = task.batch("train", 2, generator())
    for values in (task.metrics(torch.zeros(2, task.length, symbols), y), task.baselines()):
        assert values and all(type(value) is float for value in values.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": 5}, "length is 5; .* at least 6"),
        ({"length": 3, "lag": 3}, "length is 3; .* at least 4"),
        ({"length": 9, "lag": 0}, "lag is 0; .* at least 1"),
        ({"length": 9, "symbols": 1}, "symbols is 1; .* at least 2"),
        ({"length": 9.5}, "length is 9.5; .* at least 6"),
    ],
)
def test_arguments_that_are_not_allowed(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Lag(**arguments)
