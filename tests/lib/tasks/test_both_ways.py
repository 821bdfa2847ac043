"""The task of both directions: what is to be named where, that nothing else counts, and what is its text's own."""

import math
from itertools import pairwise
from typing import Any

import pytest
import torch
from support import small_tasks as small
from support.compare import generator
from torch import Tensor, nn

from rtx_lib.tasks import AddingProblem, CharacterText, Enwik8, PennTreebank, PolyphonicMusic, StreamTask, Task
from rtx_lib.tasks.both_ways import BothNeighbours, neighbours
from rtx_lib.training import evaluate

TEXTS = {
    "shakespeare-5": lambda place: place(small.shakespeare(), CharacterText, length=5),
    "shakespeare-1": lambda place: place(small.shakespeare(), CharacterText, length=1),
    "ptb-characters-6": lambda place: place(small.ptb(), PennTreebank, length=6),
    "ptb-words-6": lambda place: place(small.ptb(), PennTreebank, "words", length=6),
    "enwik8-6": lambda place: place(small.enwik8(), Enwik8, 6),
}


@pytest.fixture(params=TEXTS)
def text(request: pytest.FixtureRequest, place) -> Any:
    return TEXTS[request.param](place)


@pytest.fixture
def task(text) -> BothNeighbours:
    return BothNeighbours(text)


class Model(nn.Module):
    """Two tables: what a symbol says about the next one, and about the one before."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.tables = torch.randn(2, symbols, symbols, generator=generator(3), dtype=torch.float64)

    def forward(self, x: Tensor, state: None = None) -> tuple[Tensor, None]:
        return self.tables[:, x].permute(1, 2, 0, 3).flatten(2), None

    def half(self, way: int) -> nn.Module:
        one = nn.Module()
        one.forward = lambda x: (self.tables[way][x], None)
        return one


def test_it_is_a_task_without_streams(task, text) -> None:
    assert isinstance(task, Task) and not isinstance(task, StreamTask) and task.name == f"{text.name}-both-ways"
    assert task.vocabulary == task.input_size == text.vocabulary and task.output_size == 2 * text.vocabulary
    with pytest.raises(ValueError, match=r"stream_length must be None because .*both-ways has no stream"):
        evaluate(Model(task.vocabulary), task, stream_length=4)


def test_a_window_and_its_neighbours(task, text) -> None:
    for split in ("train", "valid", "test"):
        x, y = task.batch(split, 4, generator())
        before, after = text.batch(split, 4, generator())
        assert torch.equal(x[:, :-1], before) and torch.equal(x[:, 1:], after) and x.dtype == y.dtype == torch.int64
        for row, labels in zip(x.tolist(), y.tolist(), strict=True):
            assert labels == [[next, last] for next, last in zip([*row[1:], -100], [-100, *row[:-1]], strict=True)]
        assert task.weight(y) == 2 * after.numel()


def test_neighbours_of_sentences_end_with_the_sentence() -> None:
    x = torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0], [5, 0, 0, 0]])
    none = [-100, -100]
    assert neighbours(x, padding=0).tolist() == [
        [[6, -100], [7, 5], [8, 6], [-100, 7]],
        [[6, -100], [-100, 5], none, none],
        [none] * 4,
    ]
    assert neighbours(x)[1].tolist() == [[6, -100], [0, 5], [0, 6], [-100, 0]]


def test_the_loss_is_half_the_sum_of_both_directions(task) -> None:
    x, y = task.batch("test", 4, generator())
    prediction = Model(task.vocabulary)(x)[0].requires_grad_()
    symbols, losses = task.vocabulary, []
    for way in (0, 1):
        logp = prediction[..., symbols * way : symbols * (way + 1)].log_softmax(-1)
        steps = range(x.shape[1] - 1)
        named = [(t, x[:, t + 1]) for t in steps] if way == 0 else [(t + 1, x[:, t]) for t in steps]
        losses.append(-sum(logp[b, t, ids[b]] for t, ids in named for b in range(4)) / (4 * len(steps)))
    loss = task.loss(prediction, y)
    assert loss.item() == pytest.approx(sum(losses).item() / 2, rel=1e-12)
    metrics = task.metrics(prediction, y)
    assert [metrics[f"{way} loss"] for way in ("forward", "backward")] == pytest.approx(
        [each.item() for each in losses]
    )
    assert metrics["loss"] == pytest.approx(loss.item(), rel=1e-12)
    assert metrics.get("bpc", loss.item() / math.log(2)) == pytest.approx(loss.item() / math.log(2))
    loss.backward()
    counts = prediction.grad.unflatten(-1, (2, -1)).abs().sum(-1) > 0
    assert torch.equal(counts, y >= 0)


def test_the_forward_loss_is_the_texts_own(task, text) -> None:
    """And the backward one that of the text read from its end."""
    model = Model(task.vocabulary)
    ours, own = evaluate(model, task, "test"), evaluate(model.half(0), text, "test")
    assert ours["forward loss"] == pytest.approx(own["loss"], rel=1e-12)
    backward = [(x.flip(1)[:, :-1], x.flip(1)[:, 1:]) for x, _ in task.batches("test", 1000)]
    total = sum(text.loss(model.half(1)(x)[0], y).item() * y.numel() for x, y in backward)
    assert ours["backward loss"] == pytest.approx(total / sum(y.numel() for _, y in backward), rel=1e-12)
    assert ("perplexity" in ours) == ("perplexity" in own) and ("bpc" in ours) == ("bpc" in own)
    assert ours.get("perplexity", math.exp(ours["loss"])) == pytest.approx(math.exp(ours["loss"]), rel=1e-12)


def test_baselines_are_means_of_both_directions(task, text) -> None:
    own, both = text.baselines(), task.baselines()
    assert set(own) == set(both) and both["uniform guess loss"] == pytest.approx(math.log(text.vocabulary))
    flat = torch.zeros(4, 6, task.output_size)
    assert task.metrics(flat, neighbours(torch.zeros(4, 6).long()))["loss"] == pytest.approx(both["uniform guess loss"])
    train, symbols = text.splits.splits["train"].tolist(), range(text.vocabulary)
    singles = [math.log((train.count(s) + 1) / (len(train) + text.vocabulary)) for s in symbols]
    pairs = list(zip(train[1:], train[:-1], strict=True))  # what stands, and what stands before it

    def backward(name: str, here: int, before: int) -> float:
        if name == "unigram loss":
            return -singles[before]
        of_here = sum(first == here for first, _ in pairs)
        return -math.log((pairs.count((here, before)) + 1) / (of_here + text.vocabulary))

    for name in set(own) - {"uniform guess loss"}:
        rows = [row for x, _ in task.batches("test", 1000) for row in x.tolist()]
        costs = [backward(name, b, a) for row in rows for a, b in pairwise(row)]
        assert both[name] == pytest.approx((own[name] + sum(costs) / len(costs)) / 2, rel=1e-9)


# What is not allowed


def test_other_tasks_are_refused(place) -> None:
    for other in (AddingProblem(12), place(small.music(), PolyphonicMusic, "jsb"), None):
        with pytest.raises(ValueError, match=rf"^task must read windows of a text, got {type(other).__name__}"):
            BothNeighbours(other)
    with pytest.raises(ValueError, match=r"^task must count every position, got a context of 2"):
        BothNeighbours(place(small.ptb(), PennTreebank, length=6, context=2))
