"""ELMo: the loop, who sees whom, what learns from padding, and the mix.

That it computes what the authors' code computes is tested in tests/reference/test_official.py.
"""

import pytest
import torch
from reference.elmo_loops import read
from reference.plain_loops import lstm_step
from support.compare import draw, ids, random_parameters
from support.far_device import FAR, FarDevice
from support.helpers import drawn, relative_error
from torch import tensor

from rtx_lib.layers import cells
from rtx_lib.models.elmo import BidirectionalLM, ScalarMix

pytestmark = pytest.mark.usefixtures("double")

V, D, T = 7, 4, 5
KINDS = {"plain": {}, "fused": {"backend": "torch"}, "skipped": {"skip": True, "layers": 3}}
kinds = pytest.mark.parametrize("kind", KINDS)


def build(kind="plain", seed=0, **options):
    return random_parameters(drawn(seed, BidirectionalLM, V, width=D, **KINDS[kind] | options), seed).eval()


def halves(y):
    """Of both directions, by the last axis."""
    return y.unflatten(-1, (2, -1)).unbind(-2)


def steps_of(model):
    """The steps of the loops, with the model's weights."""

    def step(layer):
        return lambda x, h, c: lstm_step(*layer.state_dict().values(), x, h, c)

    return [[step(layer) for layer in layers] for layers in (model.forward_layers, model.backward_layers)]


@kinds
def test_it_is_a_loop(kind):
    """Sentences of any lengths, from any state."""
    model, x = build(kind, padding=0), ids(3, T, vocabulary=V, first=1)
    x[1, 3:] = x[2, 1:] = 0
    depth = len(model.forward_layers)
    state = draw(2 * depth, 3, D, seed=1), draw(2 * depth, 3, D, seed=2)
    layers, last = model.read(x, state)
    y, _ = model(x, state)
    for b, length in enumerate((T, 3, 1)):
        starts = [[(state[0][2 * j + d, b], state[1][2 * j + d, b]) for j in range(depth)] for d in (0, 1)]
        told, ends = read(model.embedding.weight[x[b, :length]], steps_of(model), starts, model.skip)
        for ours, theirs in zip(layers, told, strict=True):
            assert relative_error(ours[b, :length], theirs) < 1e-12 and not ours[b, length:].any()
        logits = [half @ model.softmax.weight.T + model.softmax.bias for half in told[-1].split(D, 1)]
        assert relative_error(y[b, :length], torch.cat(logits, 1)) < 1e-12
        for part in (0, 1):
            theirs = torch.stack([ends[d][j][part] for j in range(depth) for d in (0, 1)])
            assert relative_error(last[part][:, b], theirs) < 1e-12


def test_torchs_kernel_runs_where_no_padding_is_possible_or_seen(monkeypatch):
    """On a device nobody looks at the values."""
    ran, fused = [], cells.run_fused
    monkeypatch.setattr(cells, "run_fused", lambda *of: ran.append(None) or fused(*of))
    x, padded = tensor([[1, 2, 3]]), tensor([[1, 2, 0]])
    calls = {}
    for padding in (None, 0):
        model = build("fused", padding=padding).float()
        for name, words in (("full", x), ("padded", padded)):
            ran.clear()
            model(words)
            calls[padding, name] = len(ran)
        ran.clear()
        with FarDevice():
            model.to(FAR)(x.to(FAR))
        calls[padding, "far"] = len(ran)
    possible = {(0, "full"): 4, (0, "padded"): 0, (0, "far"): 0}
    assert calls == {(None, "full"): 4, (None, "padded"): 4, (None, "far"): 4} | possible


def test_nothing_learns_from_padding():
    model, x = build(padding=0), tensor([[1, 2, 0, 0], [3, 4, 5, 6]])
    layers, state = model.read(x)
    loss = sum(layer.square().sum() for layer in layers) + sum(part.sum() for part in state)
    gradient = torch.autograd.grad(loss, model.embedding.weight)[0]
    assert not gradient[0].any() and gradient[1:].any(1).all()


def test_the_first_weights():
    model = drawn(0, BidirectionalLM, 300, width=64)
    for layer in (model.embedding, model.softmax):
        assert float(layer.weight.detach().std()) == pytest.approx(1 / 8, rel=0.05)
    assert not model.softmax.bias.any()
    for layer in (*model.forward_layers, *model.backward_layers):
        assert (layer.bias_ih_l0[64:128] == 1).all() and not layer.bias_hh_l0[64:128].any()
        assert float(layer.weight_ih_l0.detach().abs().max()) == pytest.approx(1 / 8, rel=0.01)


def test_layers_are_features_without_gradients():
    model, x = build(), ids(2, T, vocabulary=V)
    layers = model.layers(x)
    assert len(layers) == 3 and all(layer.shape == (2, T, 2 * D) and not layer.requires_grad for layer in layers)
    assert all(map(torch.equal, layers, model.read(x)[0]))
    assert torch.equal(*halves(layers[0])) and torch.equal(halves(layers[0])[0], model.embedding.weight[x])
    mix = ScalarMix(3)
    mix(layers).square().sum().backward()
    assert mix.w.grad.any() and mix.gamma.grad.any() and all(p.grad is None for p in model.parameters())


def test_dropout_acts_on_what_layers_and_softmax_read():
    model, x = build("skipped", dropout=0.5).train(), ids(64, T, vocabulary=V)
    first, other = model.read(x)[0], model.read(x)[0]
    assert torch.equal(first[0], other[0]) and not torch.equal(first[1], other[1])
    model.eval()
    assert torch.equal(model(x)[0], build("skipped")(x)[0])


def test_what_a_layer_adds_has_dropout_too():
    """It is what the layer reads: with layers that say nothing, the last one's output is the first one's or 0."""
    model, x = build(skip=True, dropout=0.5).train(), ids(8, T, vocabulary=V)
    with torch.no_grad():
        for layers in (model.forward_layers, model.backward_layers):
            for parameter in layers[1].parameters():
                parameter.zero_()
    _, first, second = model.read(x)[0]
    dropped = second == 0
    assert 0.3 < dropped.double().mean() < 0.7 and torch.allclose(second[~dropped], 2 * first[~dropped])


def test_padding_under_autocast():
    model, x = build(padding=0), tensor([[1, 2, 3], [4, 0, 0]])
    y, state = model(x)
    with torch.autocast("cpu", torch.bfloat16):
        low, other = model.float()(x)
        again, _ = model(x, other)
    assert relative_error(low.double(), y) < 0.15 and again.isfinite().all()
    assert all(relative_error(a.double(), b) < 0.15 for a, b in zip(other, state, strict=True))


def test_gaps_between_words_are_refused():
    for call in (build(padding=0), build(padding=0).layers):
        with pytest.raises(ValueError, match=r"^x must hold words first and then padding \(0\), .* row 0"):
            call(tensor([[1, 0, 2]]))
