"""The task of both directions: what is to be named where, and what the loss is made of."""

import pytest
import torch
from support.compare import generator

from rtx_lib.tasks.both_ways import neighbours
from rtx_lib.tasks.masked_text import BothWaysText


def test_neighbours_of_sentences_end_with_the_sentence() -> None:
    x = torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0], [5, 0, 0, 0]])
    none = [-100, -100]
    rows = [[6, -100], [7, 5], [8, 6], [-100, 7]], [[6, -100], [-100, 5], none, none], [none] * 4
    assert neighbours(x, padding=0).tolist() == [*rows]
    assert neighbours(x)[1].tolist() == [[6, -100], [0, 5], [0, 6], [-100, 0]]


def test_the_loss_is_half_the_sum_of_both_directions() -> None:
    task = BothWaysText("small_world", length=16, size=60)
    x, y = task.batch("test", 4, generator())
    prediction = torch.randn(*x.shape, task.output_size, generator=generator(3), dtype=torch.float64).requires_grad_()
    losses, places = [], [(b, t) for b, n in enumerate((x > 0).sum(1).tolist()) for t in range(n - 1)]
    for way, logits in enumerate(prediction.split(task.vocabulary, -1)):
        logp = logits.log_softmax(-1)
        losses.append(-sum(logp[b, t + way, x[b, t + 1 - way]] for b, t in places) / len(places))
    loss = task.loss(prediction, y)
    assert loss.item() == pytest.approx(sum(losses).item() / 2, rel=1e-12)
    metrics = task.metrics(prediction, y)
    assert [metrics[f"{way} loss"] for way in ("forward", "backward")] == pytest.approx([one.item() for one in losses])
    loss.backward()
    assert torch.equal(prediction.grad.unflatten(-1, (2, -1)).abs().sum(-1) > 0, y >= 0)
