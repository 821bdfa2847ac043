"""The RNN layer equals torch.nn.RNN, a plain loop, and itself in pieces."""

import pytest
import torch
from support.helpers import relative_error
from torch import nn

from rtx_lib.layers import RNN, Readout

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


def test_weights_move_back_to_torch():
    ours, theirs, _ = pair(bidirectional=True)
    theirs.load_state_dict(ours.state_dict())


def test_causal_one_way_and_not_causal_both_ways():
    """In the forward direction y_t reads x_1..x_t; the backward half reads x_t..x_T."""
    ours, _, x = pair(layers=1, bidirectional=True)
    y, _ = ours(x)
    t = 3
    forward = torch.autograd.grad(y[:, t, :5].sum(), x, retain_graph=True)[0].abs().sum((0, 2))
    backward = torch.autograd.grad(y[:, t, 5:].sum(), x)[0].abs().sum((0, 2))
    assert (forward[: t + 1] > 0).all() and (forward[t + 1 :] == 0).all()
    assert (backward[t:] > 0).all() and (backward[:t] == 0).all()


def test_uniform_initialisation():
    for parameter in RNN(3, 100, generator=torch.Generator().manual_seed(0)).parameters():
        assert 0.08 < parameter.abs().max() <= 0.1


@pytest.mark.parametrize("std", [0.03, 0.3])
def test_identity_initialisation(std):
    rnn = RNN(3, 50, init="identity", nonlinearity="relu", input_std=std, generator=torch.Generator().manual_seed(0))
    assert torch.equal(rnn.weight_hh_l0, torch.eye(50))
    assert not rnn.bias_ih_l0.any() and not rnn.bias_hh_l0.any()
    assert rnn.weight_ih_l0.std().item() == pytest.approx(std, rel=0.3)


def test_orthogonal_initialisation():
    rnn = RNN(3, 20, init="orthogonal", generator=torch.Generator().manual_seed(0))
    assert relative_error(rnn.weight_hh_l0 @ rnn.weight_hh_l0.T, torch.eye(20)) < 1e-12
    assert 0.1 < rnn.weight_ih_l0.std() * 20**0.5 < 0.7


def test_hooks_see_every_state_and_are_not_kept():
    ours, _, x = pair(layers=2, bidirectional=True)
    seen = []
    handle = ours.tap.register_forward_hook(lambda module, args, states: seen.append(states))
    ours(x)
    handle.remove()
    ours(x)
    assert len(seen) == 4 and all(len(states) == 7 and states[0].shape == (4, 5) for states in seen)


def test_readout_of_floats_and_ids():
    y, state = Readout(RNN(3, 5, bidirectional=True), 2)(torch.randn(4, 7, 3))
    assert y.shape == (4, 7, 2) and state.shape == (2, 4, 5)
    model = Readout(RNN(3, 5), 2, vocabulary=11)
    assert model(torch.randint(11, (4, 7)))[0].shape == (4, 7, 2)
    with pytest.raises(ValueError, match="ids"):
        model(torch.randn(4, 7, 3))
    with pytest.raises(ValueError, match="floats"):
        Readout(RNN(3, 5), 2)(torch.randint(3, (4, 7)))
    with pytest.raises(ValueError, match="output_size"):
        Readout(RNN(3, 5), 0)
