"""The tests of the first assignment, beside `recurrent.py`."""

import ast
import inspect

import pytest
import recurrent
import torch

from rtx_book.checks.grading import limited, seeds


@pytest.fixture(params=seeds())
def given(request):
    """From a seed x, h, c, d and torch's two layers, whose second bias is 0."""
    nodes = [*ast.walk(ast.parse(inspect.getsource(recurrent)))]
    names = {
        name
        for node in nodes
        for name in (vars(node).get(key) for key in ("id", "attr", "name", "module"))
        if name
    }
    banned = {name for name in names if name.startswith(("torch.nn", "torch.autograd"))}
    banned |= names & {
        "nn",
        "autograd",
        "backward",
        "grad",
        "func",
        "vjp",
        "rnn_tanh",
        "rnn_tanh_cell",
        "lstm_cell",
        "_VF",
    }
    banned |= {getattr(node, "attr", "") for node in nodes} & {"lstm"}
    assert not banned, f"tensors alone, please: {banned} in recurrent.py"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(request.param)
        B, T, D, H = torch.randint(2, 7, (4,)).tolist()
        layers = [
            kind(D, H, batch_first=True, dtype=torch.float64)
            for kind in (torch.nn.RNN, torch.nn.LSTM)
        ]
        for layer in layers:
            torch.nn.init.zeros_(layer.bias_hh_l0)
        shapes = ((B, T, D), (B, H), (B, H), (B, T, H))
        return *(torch.randn(shape, dtype=torch.float64) for shape in shapes), *layers


def weights(layer):
    """W, U and b of a layer of torch.nn."""
    return [
        layer.get_parameter(f"{name}_l0").detach().clone()
        for name in ("weight_ih", "weight_hh", "bias_ih")
    ]


def close(found, right):
    torch.testing.assert_close(found, right, rtol=1e-10, atol=1e-10)


def test_the_rnn_gives_what_torch_gives(given):
    x, h, _, _, layer, _ = given
    with limited():
        found = recurrent.rnn(x.clone(), h.clone(), *weights(layer))
    close(found, layer(x, h[None])[0].detach())


def test_the_rnn_goes_on_where_it_stopped(given):
    x, h, _, _, layer, _ = given
    with limited():
        first = recurrent.rnn(x[:, :1], h, *weights(layer))
        close(
            recurrent.rnn(x[:, 1:], first[:, -1], *weights(layer)),
            recurrent.rnn(x, h, *weights(layer))[:, 1:],
        )


def test_the_backward_pass_gives_what_autograd_gives(given):
    x, h, _, d, layer, _ = given
    x, h = x.requires_grad_(), h.requires_grad_()
    wanted = [x, h, layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0]
    right = torch.autograd.grad((layer(x, h[None])[0] * d).sum(), wanted)
    with limited(), torch.no_grad():
        found = recurrent.rnn_backward(
            x.detach(), h.detach(), *weights(layer), d.clone()
        )
    for name, one, other in zip(("x", "h", "W", "U", "b"), found, right, strict=True):
        torch.testing.assert_close(
            one,
            other,
            rtol=1e-10,
            atol=1e-10,
            msg=lambda told, name=name: f"d{name}: {told}",
        )


def test_the_lstm_gives_what_torch_gives(given):
    x, h, c, _, _, layer = given
    with limited():
        found, last = recurrent.lstm(x.clone(), h.clone(), c.clone(), *weights(layer))
    right, (_, last_right) = layer(x, (h[None], c[None]))
    close(found, right.detach())
    close(last, last_right[0].detach())
