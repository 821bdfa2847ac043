"""The stack of mixers is its equations, and attention as a mixer is a Transformer's; the rest asks test_contract."""

import pytest
import torch
from support.helpers import relative_error
from torch import nn

from rtx_lib.layers import LSTM, RNN, AttentionMixer, MixerStack
from rtx_lib.models.indrnn import IndRNNLayer

pytestmark = pytest.mark.usefixtures("double")


def rnn(width):
    return RNN(width, width)


@pytest.mark.parametrize("kernel_size", [None, 3])
@pytest.mark.parametrize("mlp", [0, 2])
def test_the_equations(mlp, kernel_size):
    """A short convolution, if there is one, stands in front of every mixer."""
    torch.manual_seed(0)
    model = MixerStack(3, 5, rnn, width=4, layers=2, mlp=mlp, kernel_size=kernel_size)
    x = torch.randn(2, 6, 3)
    h = model.embedding(x)
    for i in range(2):
        z = model.norms[i](h)
        h = h + model.mixers[i](model.convolutions[i](z)[0] if kernel_size else z)[0]
        if mlp:
            part = model.mlps[i]
            h = h + part.linear2(nn.functional.gelu(part.linear1(model.mlp_norms[i](h))))
    assert relative_error(model(x)[0], model.readout(model.norm(h))) < 1e-14
    assert len(model.mlps) == (2 if mlp else 0)


def test_each_layer_has_its_own_mixer_and_state():
    """The lowest first: what is composed by hand of the same weights, in two pieces."""
    torch.manual_seed(0)
    model = MixerStack(3, 5, [AttentionMixer, rnn, lambda width: LSTM(width, width)], width=4, mlp=0)
    assert [type(mixer) for mixer in model.mixers] == [AttentionMixer, RNN, LSTM]
    x, states, outputs, carried = torch.randn(2, 9, 3), [None] * 3, [], None
    for piece in x.split([4, 5], 1):
        h = model.embedding(piece)
        for i, mixer in enumerate(model.mixers):
            y, states[i] = mixer(model.norms[i](h), states[i])
            h = h + y
        y, carried = model(piece, carried)
        outputs.append(y)
        assert relative_error(y, model.readout(model.norm(h))) < 1e-14
    assert relative_error(torch.cat(outputs, 1), model(x)[0]) < 1e-12
    (keys, values), hidden, (h, c) = carried
    assert keys.shape == values.shape == (2, 1, 9, 4) and hidden.shape == h.shape == c.shape == (1, 2, 4)


@pytest.mark.parametrize("mixer, layers", [([], None), ([rnn, rnn], 3), ([rnn], 0), (rnn, None)])
def test_the_number_of_layers_is_that_of_the_mixers(mixer, layers):
    with pytest.raises(ValueError, match=r"^layers must be .*, got "):
        MixerStack(3, 5, mixer, width=4, layers=layers)
    assert len(MixerStack(3, 5, [rnn, rnn], width=4, layers=2).mixers) == 2


def test_a_bound_is_kept_where_a_mixer_has_one():
    model = MixerStack(3, 5, lambda width: IndRNNLayer(width, width, length=40), width=4, layers=2)
    for mixer in model.mixers:
        nn.init.constant_(mixer.u, -3.0)
    model.constrain_()
    assert all((mixer.u == -(2 ** (1 / 40))).all() for mixer in model.mixers)
    MixerStack(3, 5, rnn, width=4, layers=2).constrain_()  # has none
