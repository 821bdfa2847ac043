"""Every task keeps the contract of `rtx_lib.tasks.protocol.Task`."""

from __future__ import annotations

import pytest
import torch

from rtx_lib import tasks
from rtx_lib.tasks import AddingProblem, CopyMemory, Lag, SequentialDigits, StreamTask, Task, WindowOrder

MAKERS = {
    "adding-12": lambda: AddingProblem(12),
    "adding-12-halves": lambda: AddingProblem(12, halves=True),
    "copy-12": lambda: CopyMemory(12),
    "copy-12-3x4": lambda: CopyMemory(12, symbols=3, length=4),
    "lag-12": lambda: Lag(12),
    "window-product-12": lambda: WindowOrder(12),
    "window-last-12-3": lambda: WindowOrder(12, window=3, question="last"),
    "digits-pixels": lambda: SequentialDigits(),
    "digits-rows": lambda: SequentialDigits(rows=True),
}


@pytest.fixture(params=MAKERS)
def task(request: pytest.FixtureRequest) -> Task:
    made = MAKERS[request.param]()
    assert made.name == request.param
    return made


def generated(task: Task) -> bool:
    return not isinstance(task, SequentialDigits)


def test_is_a_task_and_no_stream(task: Task) -> None:
    assert isinstance(task, Task) and not isinstance(task, StreamTask)


def test_protocol_notices_what_is_missing() -> None:
    class Half:
        name, input_size, output_size, vocabulary = "half", 1, 1, None

        def batch(self) -> None: ...

    assert not isinstance(Half(), Task)


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_same_generator_same_batch(task: Task, split: str) -> None:
    one, two = torch.Generator().manual_seed(7), torch.Generator().manual_seed(7)
    for _ in range(2):  # the second batch follows from the state too
        torch.rand(3)  # the global generator does not matter
        (x, y), (x_again, y_again) = task.batch(split, 5, one), task.batch(split, 5, two)
        assert torch.equal(x, x_again) and torch.equal(y, y_again)
    assert not torch.equal(task.batch(split, 5, one)[0], x)


def test_shapes(task: Task) -> None:
    x, y = task.batch("train", 5, torch.Generator().manual_seed(0))
    assert len(x) == len(y) == 5
    if task.vocabulary is None:
        assert x.ndim == 3 and x.shape[-1] == task.input_size and x.dtype == torch.float32
        assert torch.isfinite(x).all()
    else:
        assert x.ndim == 2 and x.dtype == torch.int64 and task.vocabulary == task.input_size
        assert x.min() >= 0 and x.max() < task.vocabulary


def test_loss_has_a_gradient_and_metrics_are_plain_numbers(task: Task) -> None:
    x, y = task.batch("test", 4, torch.Generator().manual_seed(0))
    prediction = torch.zeros(4, x.shape[1], task.output_size, requires_grad=True)
    loss = task.loss(prediction, y)
    assert loss.shape == ()
    loss.backward()
    assert prediction.grad is not None and prediction.grad[:, -1].abs().sum() > 0
    metrics = task.metrics(prediction, y)
    assert metrics and all(type(value) is float for value in metrics.values())
    assert all(type(value) is float for value in task.baselines().values())


@pytest.mark.parametrize("split", ["dev", "", "Train", None])
def test_unknown_split(task: Task, split: str) -> None:
    with pytest.raises(ValueError, match=f"split is {split!r}; it must be one of"):
        task.batch(split, 4, torch.Generator())
    with pytest.raises(ValueError, match=f"split is {split!r}; it must be one of"):
        task.batches(split, 4)


def test_endless_training_sequences_cannot_be_run_through() -> None:
    for make in MAKERS.values():
        if generated(task := make()):
            with pytest.raises(ValueError, match=r"split is 'train'.*use batch"):
                task.batches("train", 4)


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_size_below_one(task: Task, size: int) -> None:
    for split in ("train", "test"):
        with pytest.raises(ValueError, match=f"size is {size!r}; it must be a whole number of at least 1"):
            task.batch(split, size, torch.Generator())
    with pytest.raises(ValueError, match=f"size is {size!r}"):
        task.batches("test", size)  # at the call, not at the first batch


def test_prediction_of_wrong_shape(task: Task) -> None:
    x, y = task.batch("train", 4, torch.Generator().manual_seed(0))
    length, width = x.shape[1], task.output_size
    wrong = [(4, width), (3, length, width), (4, length, width + 1), (4, 0, width), (width,)]
    if y.shape == (4, length) and task.vocabulary:  # a label at every step
        wrong.append((4, length - 1, width))
    for shape in wrong:
        for judge in (task.loss, task.metrics):
            with pytest.raises(ValueError, match=r"prediction has shape \(.*must be the model's whole output"):
                judge(torch.zeros(shape), y)


def test_exports() -> None:
    for name in tasks.__all__:
        assert getattr(tasks, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Missing'"):
        tasks.Missing  # noqa: B018
