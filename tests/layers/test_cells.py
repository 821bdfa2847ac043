"""The RNN layer equals torch.nn.RNN, a plain loop, and itself in pieces."""

import pytest
import torch
from support.helpers import drawn, relative_error
from torch import nn

from rtx_lib.layers import RNN

pytestmark = pytest.mark.usefixtures("double")


def pair(layers=2, bidirectional=False, nonlinearity="tanh"):
    torch.manual_seed(1)
    theirs = nn.RNN(3, 5, layers, nonlinearity=nonlinearity, batch_first=True, bidirectional=bidirectional)
    ours = RNN(3, 5, layers, nonlinearity=nonlinearity, bidirectional=bidirectional)
    ours.load_state_dict(theirs.state_dict())
    return ours, theirs, torch.randn(4, 7, 3, requires_grad=True)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("nonlinearity", ["tanh", "relu"])
def test_equals_torch(layers, bidirectional, nonlinearity):
    ours, theirs, x = pair(layers, bidirectional, nonlinearity)
    state = torch.randn(layers * (1 + bidirectional), 4, 5)
    results = []
    for model in (ours, theirs):
        y, last = model(x, state)
        gradients = torch.autograd.grad(y.sin().sum() + last.cos().sum(), [x, *model.parameters()])
        results.append([y, last, *gradients])
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    assert max(relative_error(a, b) for a, b in zip(*results, strict=True)) < 1e-12


def test_uniform_initialisation():
    for parameter in drawn(0, RNN, 3, 100).parameters():
        assert 0.08 < parameter.abs().max() <= 0.1


@pytest.mark.parametrize("std", [0.03, 0.3])
def test_identity_initialisation(std):
    rnn = drawn(0, RNN, 3, 50, init="identity", nonlinearity="relu", input_std=std)
    assert torch.equal(rnn.weight_hh_l0, torch.eye(50))
    assert not rnn.bias_ih_l0.any() and not rnn.bias_hh_l0.any()
    assert rnn.weight_ih_l0.std().item() == pytest.approx(std, rel=0.3) and abs(rnn.weight_ih_l0.mean()) < std / 3


def test_orthogonal_initialisation():
    rnn = drawn(0, RNN, 3, 20, init="orthogonal")
    assert relative_error(rnn.weight_hh_l0 @ rnn.weight_hh_l0.T, torch.eye(20)) < 1e-12
    assert 0.1 < rnn.weight_ih_l0.std() * 20**0.5 < 0.7
