"""Order within a window: what the symbols come to, and how far a bag of them goes."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict

import pytest
import torch

from rtx_lib.tasks import StreamTask, Task, WindowOrder
from rtx_lib.tasks.permutations import PERMUTATIONS, QUESTIONS


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


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


def test_a_product_depends_on_order_and_the_first_symbol_changes_nothing() -> None:
    pairs = list(itertools.product(range(6), repeat=2))
    assert sum(answer((a, b), "product") != answer((b, a), "product") for a, b in pairs) == 18
    assert all(answer((0, a), "product") == answer((a, 0), "product") == a for a in range(6))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("window", [1, 2, 4])
def test_baselines_are_those_of_all_windows(question: str, window: int) -> None:
    bags = defaultdict(Counter)
    for symbols in itertools.product(range(6), repeat=window):
        bags[tuple(sorted(symbols))][answer(symbols, question)] += 1
    best = sum(max(answers.values()) for answers in bags.values()) / 6**window
    classes = {"product": 6, "last": 3}[question]
    assert WindowOrder(8, window=window, question=question).baselines() == {
        "uniform guess": 1 / classes,
        "bag of the window": pytest.approx(best, rel=1e-12),
        "uniform guess loss": pytest.approx(math.log(classes), rel=1e-12),
    }


def test_a_product_is_as_often_one_as_another() -> None:
    _, y = next(WindowOrder(50).batches("test", 1_000))
    # 8,333 of each expected; the windows overlap, so the standard deviation of 83 is only a guide.
    assert (y.flatten().bincount(minlength=6) - 8_333).abs().max() < 500


@pytest.mark.parametrize("question", QUESTIONS)
def test_metrics_of_right_and_of_flat_predictions(question: str) -> None:
    task = WindowOrder(12, question=question)
    _, y = task.batch("valid", 40, generator())
    right = 100 * torch.nn.functional.one_hot(y, task.output_size).double()
    assert task.metrics(right, y) == {"loss": pytest.approx(0, abs=1e-12), "accuracy": 1.0}
    flat = task.metrics(torch.zeros_like(right), y)
    assert flat["loss"] == pytest.approx(task.baselines()["uniform guess loss"], rel=1e-12)


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_same_generator_same_batch(split: str) -> None:
    one, two = generator(7), generator(7)
    for _ in range(2):
        torch.rand(3)  # the global generator does not matter
        (x, y), (x_again, y_again) = (WindowOrder(12).batch(split, 5, g) for g in (one, two))
        assert torch.equal(x, x_again) and torch.equal(y, y_again)
    assert not torch.equal(WindowOrder(12).batch(split, 5, one)[0], x)


def test_finite_splits_are_the_same_for_everybody() -> None:
    for split, total in (("valid", 1_000), ("test", 10_000)):
        torch.manual_seed(len(split))
        pieces = list(WindowOrder(9).batches(split, 999))
        assert [len(y) for _, y in pieces] == [999] * (total // 999) + [total % 999]
        ((x, y),) = WindowOrder(9).batches(split, total)
        assert torch.equal(torch.cat([x for x, _ in pieces]), x) and torch.equal(torch.cat([y for _, y in pieces]), y)
        ((other, _),) = WindowOrder(9, window=2, question="last").batches(split, total)
        assert torch.equal(other, x)
    assert not torch.equal(*(next(WindowOrder(9).batches(split, 100))[0] for split in ("valid", "test")))


def test_is_a_task_and_no_stream() -> None:
    for task, name, classes in (
        (WindowOrder(32), "window-product-32", 6),
        (WindowOrder(20, window=3, question="last"), "window-last-20-3", 3),
    ):
        assert isinstance(task, Task) and not isinstance(task, StreamTask)
        assert task.name == name and (task.vocabulary, task.input_size, task.output_size) == (6, 6, classes)
        for values in (
            task.metrics(torch.zeros(2, task.length, classes), task.batch("test", 2, generator())[1]),
            task.baselines(),
        ):
            assert values and all(type(value) is float for value in values.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": 4}, "length is 4; .* at least 5"),
        ({"length": 9, "window": 0}, "window is 0; .* at least 1"),
        ({"length": 9, "window": 2.5}, "window is 2.5; .* at least 1"),
        ({"length": 9, "question": "first"}, "question is 'first'; it must be one of 'product', 'last'"),
    ],
)
def test_arguments_that_are_not_allowed(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WindowOrder(**arguments)
