"""The generated tasks: what a sequence looks like, its statistics, and the baselines in closed form."""

import itertools
import math
from collections import Counter, defaultdict

import pytest
import torch
from support.compare import generator

from rtx_lib.tasks import AddingProblem, CopyMemory, Lag, WindowOrder
from rtx_lib.tasks.generated import PERMUTATIONS, QUESTIONS


@pytest.mark.parametrize(
    ("one", "other"), [(Lag(9), Lag(9, lag=2)), (WindowOrder(9), WindowOrder(9, window=2, question="last"))]
)
def test_what_is_read_does_not_depend_on_what_is_asked(one, other) -> None:
    for split in ("valid", "test"):
        assert torch.equal(next(one.batches(split, 1_000))[0], next(other.batches(split, 1_000))[0])


@pytest.mark.parametrize("length", [2, 3, 7, 50])
def test_adding_labels_are_the_sum_of_the_two_marked_values(length: int) -> None:
    x, y = AddingProblem(length).batch("train", 500, generator())
    assert x.shape == (500, length, 2) and y.shape == (500, 1) and x.dtype == y.dtype == torch.float32
    values, markers = x.unbind(-1)
    assert ((values >= 0) & (values < 1)).all()
    assert ((markers == 0) | (markers == 1)).all() and (markers.sum(1) == 2).all()
    torch.testing.assert_close((values * markers).sum(1, keepdim=True), y)


def test_adding_baseline_is_the_error_of_predicting_one_and_no_constant_is_better() -> None:
    task = AddingProblem(20)
    ((_, y),) = task.batches("test", 10_000)
    constant = {value: task.loss(torch.full((10_000, 20, 1), value), y).item() for value in (0.9, 1.0, 1.1)}
    assert task.baselines() == {"predict 1": 1 / 6}
    assert abs(constant[1.0] - 1 / 6) < 0.01  # standard error 0.0019
    assert constant[1.0] < min(constant[0.9], constant[1.1])


def test_copy_layout() -> None:
    task = CopyMemory(5, length=3)
    x, y = task.batch("train", 200, generator())
    assert x.shape == y.shape == (200, 11) and x.dtype == y.dtype == torch.int64
    assert (x[:, 3:7] == 0).all() and (x[:, 7] == 9).all() and (x[:, 8:] == 0).all()
    assert (y[:, :8] == 0).all() and torch.equal(y[:, 8:], x[:, :3])
    assert set(x[:, :3].unique().tolist()) == set(range(1, 9))
    assert task.vocabulary == task.input_size == task.output_size == 10


@pytest.mark.parametrize(("delay", "length"), [(1, 1), (30, 10), (7, 4)])
def test_copy_baseline_is_the_loss_of_its_strategy(delay: int, length: int) -> None:
    """Certain of the blank until the answer is due, then equal probabilities of the symbols."""
    task = CopyMemory(delay, length=length)
    _, y = task.batch("train", 300, generator())
    logits = torch.full((300, delay + 2 * length, task.output_size), -1e9, dtype=torch.float64)
    logits[:, : delay + length, 0] = 0.0
    logits[:, delay + length :, 1:9] = 0.0
    assert task.loss(logits, y).item() == pytest.approx(task.baselines()["no memory"], rel=1e-12)


def test_copy_accuracy_counts_the_copied_symbols_only() -> None:
    task = CopyMemory(6, length=4)
    _, y = task.batch("train", 50, generator())
    perfect = 100.0 * torch.nn.functional.one_hot(y, task.output_size)
    assert task.metrics(perfect, y) == {"loss": pytest.approx(0.0, abs=1e-6), "accuracy": 1.0}
    perfect[:, :-4] = 0.0  # no idea before the answer, which is right
    assert task.metrics(perfect, y)["accuracy"] == 1.0
    perfect[:, -4:-2] = 0.0  # half of the answer is the blank now
    assert task.metrics(perfect, y)["accuracy"] == 0.5


@pytest.mark.parametrize(("length", "lag"), [(2, 1), (6, 5), (40, 5), (30, 29)])
def test_labels_are_the_symbols_of_lag_steps_ago(length: int, lag: int) -> None:
    x, y = Lag(length, lag=lag).batch("train", 200, generator())
    assert x.shape == y.shape == (200, length) and x.dtype == y.dtype == torch.int64
    for step in range(length):
        assert torch.equal(y[:, step], x[:, step - lag]) if step >= lag else (y[:, step] == -100).all()
    assert set(x.unique().tolist()) == set(range(16))
    assert Lag(length, lag=lag).baselines() == {"uniform guess": 1 / 16, "uniform guess loss": math.log(16)}


# Order within a window


def answer(window: tuple[int, ...], question: str) -> int:
    """What a window comes to, written a second time."""
    if question == "last":
        return next((symbol for symbol in reversed(window) if symbol < 2), 2)
    things = (0, 1, 2)
    for symbol in window:
        things = tuple(PERMUTATIONS[symbol][thing] for thing in things)
    return PERMUTATIONS.index(things)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("length", "window"), [(1, 1), (5, 5), (20, 4), (9, 1), (12, 7)])
def test_labels_are_what_the_window_comes_to(question: str, length: int, window: int) -> None:
    x, y = WindowOrder(length, window=window, question=question).batch("train", 30, generator())
    assert x.shape == y.shape == (30, length) and x.dtype == y.dtype == torch.int64
    for row, labels in zip(x.tolist(), y.tolist(), strict=True):
        for t, label in enumerate(labels):
            assert label == answer(tuple(row[max(0, t - window + 1) : t + 1]), question)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("window", [1, 2, 4])
def test_baselines_are_those_of_all_windows(question: str, window: int) -> None:
    bags = defaultdict(Counter)
    for symbols in itertools.product(range(6), repeat=window):
        bags[tuple(sorted(symbols))][answer(symbols, question)] += 1
    best = sum(max(answers.values()) for answers in bags.values()) / 6**window
    classes = {"product": 6, "last": 3}[question]
    bars = {"uniform guess": 1 / classes, "bag of the window": best, "uniform guess loss": math.log(classes)}
    assert WindowOrder(8, window=window, question=question).baselines() == pytest.approx(bars, rel=1e-12)
