"""The update rules of BERT and GPT and their schedules: corners, and use in `fit`."""

import contextlib
import math

import numpy as np
import pytest
import torch
from support.helpers import killed, refusals

from rtx_lib.layers import GRU, Readout
from rtx_lib.tasks import AddingProblem
from rtx_lib.training import fit
from rtx_lib.training.rules import BertAdam, bert_schedule, gpt_finetune_schedule, gpt_pretrain_schedule


def walk(make, gradients, start=1.0):
    """A number after each step by these gradients."""
    p = torch.tensor([start], dtype=torch.double, requires_grad=True)
    optimizer, after = make([p]), []
    for gradient in gradients:
        p.grad = torch.tensor([gradient], dtype=torch.double)
        optimizer.step()
        after.append(p.item())
    return after


def test_corrected_and_without_eps_and_decay_it_is_adam():
    draws = np.random.default_rng(0).normal(size=20)
    ours = walk(lambda p: BertAdam(p, 0.1, eps=0.0, weight_decay=0.0, bias_correction=True), draws)
    assert ours == pytest.approx(walk(lambda p: torch.optim.Adam(p, 0.1, eps=0.0), draws), rel=1e-12)


def test_decay_is_a_share_of_the_parameter_and_not_of_the_gradient():
    """Other than an L2 penalty, it is not divided by sqrt(v)."""
    assert walk(lambda p: BertAdam(p, 0.5, weight_decay=0.1), [0.0] * 3) == pytest.approx([0.95, 0.95**2, 0.95**3])


def test_what_has_no_gradient_stays():
    p, q = (torch.ones(2, requires_grad=True) for _ in range(2))
    optimizer = BertAdam([p, q], 0.1)
    p.sum().backward()
    optimizer.step()
    assert not torch.equal(p, torch.ones(2)) and torch.equal(q, torch.ones(2))


def cosine(share):
    return (1 + math.cos(math.pi * share)) / 2


SCHEDULES = [  # BERT jumps down where the warm-up ends; GPT multiplies both lines, and its cosine counts from the start
    (bert_schedule(50, 10), {1: 0, 6: 0.5, 10: 0.9, 11: 0.8, 36: 0.3, 51: 0, 60: 0}),
    (bert_schedule(4, 0), {1: 1, 2: 0.75, 5: 0}),
    (gpt_finetune_schedule(50, 10), {1: 0, 6: 0.45, 11: 0.8, 36: 0.3, 51: 0, 60: 0}),
    (gpt_finetune_schedule(4, 0), {1: 1, 2: 0.75}),
    (gpt_pretrain_schedule(50, 10), {1: 0, 6: 0.5, 11: 1, 12: cosine(0.22), 26: cosine(0.5), 51: 0, 60: 0}),
    (gpt_pretrain_schedule(4, 0), {1: 1}),
]


@pytest.mark.parametrize(("factor", "expected"), SCHEDULES)
def test_factors_of_some_steps(factor, expected):
    assert {step: factor(step) for step in expected} == pytest.approx(expected)


def how(model, **more):
    optimizer = BertAdam(model.parameters(), 0.01)
    settings = {"steps": 8, "batch_size": 4, "clip": 1.0, "schedule": bert_schedule(8, 2), "progress": False}
    return settings | {"optimizer": optimizer} | more


def build():
    torch.manual_seed(0)
    return Readout(GRU(2, 4), 1)


def test_fit_takes_them_and_can_be_resumed(tmp_path):
    """The first update of a warm-up changes nothing."""
    task, whole, resumed, first = AddingProblem(6), build(), build(), build()
    history = fit(whole, task, **how(whole))
    assert history.lr == pytest.approx([0.01 * share for share in (0, 0.5, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125)])
    path = tmp_path / "run.ckpt"
    with contextlib.suppress(KeyboardInterrupt):
        killed(fit)(resumed, task, **how(resumed, checkpoint=path))
    again = build()
    fit(again, task, **how(again, checkpoint=path))
    for name, value in whole.state_dict().items():
        assert torch.equal(again.state_dict()[name], value), name
    fit(first, task, **how(first, steps=1))
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), build().parameters(), strict=True))


test_bad_arguments = refusals(
    [
        (lambda: BertAdam([torch.ones(1)], math.nan), "lr must be at least 0 and finite, got nan"),
        (lambda: BertAdam([torch.ones(1)], betas=(0.9, 1.0)), r"betas\[1\] must be at least 0 and below 1, got 1.0"),
        (lambda: bert_schedule(5, 5), r"warmup must be at least 0 and below 5, got 5"),
        (lambda: gpt_finetune_schedule(5, -1), r"warmup must be at least 0 and below 5, got -1"),
        (lambda: gpt_pretrain_schedule(5, 5), r"warmup must be at least 0 and below 5, got 5"),
    ]
)
