"""Parameters without gradient are counted: dead biases on keys, branches that nothing uses, and nothing else."""

import pytest
import torch
from torch import nn

from rtx_lib.diagnostics.idle import idle_parameters
from rtx_lib.layers import MultiHeadAttention


def loss_of(model, x):
    out = model(x, x, x) if isinstance(model, nn.MultiheadAttention) else model(x)
    (out[0] if isinstance(out, tuple) else out).square().sum().backward()
    return model


@pytest.fixture
def x():
    return torch.randn(2, 5, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_the_bias_on_the_keys_is_idle_and_nothing_else_of_attention(x):
    for model, keys in ((nn.MultiheadAttention(8, 2, batch_first=True), 8), (MultiHeadAttention(8, 4, key_heads=1), 2)):
        for bias in (model.double().in_proj_bias, model.out_proj.bias):
            nn.init.normal_(bias)
        assert idle_parameters(loss_of(model, x)) == keys


def test_a_plain_layer_has_none_and_an_unused_one_is_idle_whole(x):
    model = nn.Sequential(nn.Linear(8, 3), nn.Tanh()).double()
    assert idle_parameters(loss_of(model, x)) == 0
    model.spare = nn.Linear(4, 2).double()  # forward does not use it
    model.forward = lambda x: nn.Sequential.forward(nn.Sequential(*list(model)[:2]), x)
    model.zero_grad()
    assert idle_parameters(loss_of(model, x)) == 10


def test_a_bias_that_batch_norm_takes_out_again_is_idle(x):
    model = nn.Sequential(nn.Linear(8, 3), nn.Flatten(0, 1), nn.BatchNorm1d(3), nn.Tanh()).double()
    assert idle_parameters(loss_of(model, x)) == 3


def test_it_takes_float64_and_gradients(x):
    with pytest.raises(ValueError, match=r"float64, got weight in torch\.float32"):
        idle_parameters(nn.Linear(8, 3))
    with pytest.raises(ValueError, match="must have gradients"):
        idle_parameters(nn.Linear(8, 3).double())
