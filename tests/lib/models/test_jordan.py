"""Output recurrence, teacher forcing and scheduled sampling; what the contract asks is in test_contract.py."""

import pytest
import torch
from support.compare import draw
from support.helpers import drawn, relative_error

from rtx_lib.models.jordan import JordanRNN

pytestmark = pytest.mark.usefixtures("double")

X, TARGETS = draw(4, 7, 3).double(), draw(4, 7, 2, seed=1).double().sigmoid()


@pytest.fixture
def model():
    return drawn(0, JordanRNN, 3, 6, 2)


def coin(seed=0):
    return torch.Generator().manual_seed(seed)


def test_teacher_forcing_at_once_equals_step_by_step(model):
    previous, steps = torch.zeros(4, 2), []
    for t in range(7):
        logits, _ = model(X[:, t : t + 1], previous)
        steps.append(logits)
        previous = TARGETS[:, t]
    whole, last = model(X, targets=TARGETS)
    assert relative_error(whole, torch.cat(steps, 1)) < 1e-12 and torch.equal(last, TARGETS[:, -1])
    assert relative_error(model(X[:, 3:], TARGETS[:, 2], targets=TARGETS[:, 3:])[0], whole[:, 3:]) < 1e-12


def test_sampling_never_the_teacher_equals_running_free(model):
    assert torch.equal(model(X, targets=TARGETS, teacher_probability=0.0)[0], model(X)[0])


def test_sampling_always_the_teacher_equals_teacher_forcing(model):
    """Just below 1 the steps are made one by one, and no coin falls the other way."""
    one_by_one, last = model(X, targets=TARGETS, teacher_probability=1 - 1e-12, generator=coin())
    assert relative_error(one_by_one, model(X, targets=TARGETS)[0]) < 1e-12 and torch.equal(last, TARGETS[:, -1])


def test_the_coin_is_the_generators(model):
    runs = [model(X, targets=TARGETS, teacher_probability=0.5, generator=coin(seed))[0] for seed in (1, 1, 2)]
    assert torch.equal(runs[0], runs[1]) and not torch.equal(runs[0], runs[2])


def test_bad_arguments(model):
    with pytest.raises(ValueError, match="teacher_probability"):
        model(X, teacher_probability=1.5)
    with pytest.raises(ValueError, match="targets"):
        model(X, targets=TARGETS[:, 1:])
    assert model.float()(X.float(), targets=TARGETS > 0.5)[1].dtype == torch.float32  # bits, and floats of another type
