"""Output recurrence, teacher forcing and scheduled sampling."""

import pytest
import torch
from support.helpers import relative_error

from rtx_lib.models.jordan import JordanRNN

pytestmark = pytest.mark.usefixtures("double")


@pytest.fixture
def model():
    torch.manual_seed(0)
    return JordanRNN(3, 6, 2)


def test_teacher_forcing_at_once_equals_step_by_step(model):
    x, targets = torch.randn(4, 7, 3), torch.rand(4, 7, 2)
    at_once, _ = model(x, targets=targets)
    previous, steps = torch.zeros(4, 2), []
    for t in range(7):
        logits, _ = model(x[:, t : t + 1], previous)
        steps.append(logits)
        previous = targets[:, t]
    assert relative_error(at_once, torch.cat(steps, 1)) < 1e-12


def test_sampling_never_the_teacher_equals_running_free(model):
    x, targets = torch.randn(4, 7, 3), torch.rand(4, 7, 2)
    assert torch.equal(model(x, targets=targets, teacher_probability=0.0)[0], model(x)[0])


def test_sampling_always_the_teacher_equals_teacher_forcing(model):
    """Just below 1 the steps are made one by one, and no coin falls the other way."""
    x, targets = torch.randn(4, 7, 3), torch.rand(4, 7, 2)
    coin = torch.Generator().manual_seed(0)
    one_by_one, last = model(x, targets=targets, teacher_probability=1 - 1e-12, generator=coin)
    assert relative_error(one_by_one, model(x, targets=targets)[0]) < 1e-12
    assert torch.equal(last, targets[:, -1])


def test_sampled_outputs_carry_no_gradient(model):
    x = torch.randn(1, 5, 3, requires_grad=True)
    free = torch.autograd.grad(model(x)[0][0, 3].sum(), x)[0].abs().sum((0, 2))
    assert (free[:4] > 0).all()
    sampled, _ = model(x, targets=torch.rand(1, 5, 2), teacher_probability=0.0)
    reached = torch.autograd.grad(sampled[0, 3].sum(), x)[0].abs().sum((0, 2))
    assert reached[3] > 0 and reached[[0, 1, 2, 4]].sum() == 0


@pytest.mark.parametrize("taught", [False, True])
def test_two_pieces_equal_the_whole(model, taught):
    x, true = torch.randn(4, 7, 3), torch.rand(4, 7, 2)
    whole, last = model(x, targets=true if taught else None)
    first, state = model(x[:, :3], targets=true[:, :3] if taught else None)
    second, state = model(x[:, 3:], state, targets=true[:, 3:] if taught else None)
    assert relative_error(torch.cat([first, second], 1), whole) < 1e-12 and relative_error(state, last) < 1e-12


def test_the_only_recurrence_runs_through_the_output(model):
    """With the teacher the output at t does not know x_{t-1}: the steps are decoupled."""
    x = torch.randn(1, 5, 3, requires_grad=True)
    y, _ = model(x, targets=torch.rand(1, 5, 2))
    reached = torch.autograd.grad(y[0, 3].sum(), x)[0].abs().sum((0, 2))
    assert reached[3] > 0 and reached[[0, 1, 2, 4]].sum() == 0


def test_the_coin_is_the_generators(model):
    x, targets = torch.randn(4, 7, 3), torch.rand(4, 7, 2)
    runs = [
        model(x, targets=targets, teacher_probability=0.5, generator=torch.Generator().manual_seed(seed))[0]
        for seed in (1, 1, 2)
    ]
    assert torch.equal(runs[0], runs[1]) and not torch.equal(runs[0], runs[2])


def test_bad_arguments(model):
    with pytest.raises(ValueError, match="hidden_size"):
        JordanRNN(3, 0, 2)
    with pytest.raises(ValueError, match="teacher_probability"):
        model(torch.zeros(1, 2, 3), teacher_probability=1.5)
    with pytest.raises(ValueError, match="targets"):
        model(torch.zeros(1, 2, 3), targets=torch.zeros(1, 3, 2))
    with pytest.raises(ValueError, match=r"state must have shape \(4, 2\), got \(1, 2\)"):
        model(torch.zeros(4, 2, 3), torch.zeros(1, 2))
    with pytest.raises(ValueError, match="x must"):
        model(torch.zeros(1, 0, 3))
