"""ELMo: the loop, who sees whom, what learns from padding, the mix, and words from characters.

That it computes what the authors' code computes is tested in tests/reference/test_official.py.
"""

import pytest
import torch
from reference.elmo_loops import projected_step, read
from reference.plain_loops import lstm_step
from support.compare import draw, ids, random_parameters
from support.far_device import FAR, FarDevice
from support.helpers import drawn, relative_error
from torch import nn, tensor

from rtx_lib.layers import cells
from rtx_lib.layers.characters import CHARACTERS, PADDING, CharacterCNN, spell
from rtx_lib.models.elmo import BidirectionalLM, ProjectedLSTM, ScalarMix

pytestmark = pytest.mark.usefixtures("double")

V, D, H, T = 7, 4, 6, 5
PLAIN, FUSED = {}, {"backend": "torch"}
SKIPPED = {"skip": True, "layers": 3}
CLIPPED = {"hidden_size": H, "cell_clip": 0.7, "projection_clip": 0.3, "skip": True}
KINDS = {"plain": PLAIN, "fused": FUSED, "skipped": SKIPPED, "clipped": CLIPPED}
kinds = pytest.mark.parametrize("kind", KINDS)


def build(kind="plain", seed=0, **options):
    return random_parameters(drawn(seed, BidirectionalLM, V, width=D, **KINDS[kind] | options), seed).eval()


def halves(y):
    """Of both directions, by the last axis."""
    return y.unflatten(-1, (2, -1)).unbind(-2)


# ---- what it computes


def steps_of(model):
    """The steps of the loops, with the model's weights."""

    def step(layer):
        p = layer.state_dict()
        if isinstance(layer, ProjectedLSTM):
            weights = p["weight_ih_l0"], p["weight_hh_l0"], p["bias_ih_l0"] + p["bias_hh_l0"], p["weight_hr_l0"]
            return lambda x, h, c: projected_step(*weights, layer.cell_clip, layer.projection_clip, x, h, c)
        return lambda x, h, c: lstm_step(*p.values(), x, h, c)

    return [[step(layer) for layer in layers] for layers in (model.forward_layers, model.backward_layers)]


@kinds
def test_it_is_a_loop(kind):
    """Sentences of any lengths, from any state."""
    model, x = build(kind, padding=0), ids(3, T, vocabulary=V, first=1)
    x[1, 3:] = x[2, 1:] = 0
    depth = len(model.forward_layers)
    state = draw(2 * depth, 3, D, seed=1), draw(2 * depth, 3, H if kind == "clipped" else D, seed=2)
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


@pytest.mark.parametrize("sizes", [(3, 6, 2), (1, 2, 1), (5, 9, 4)], ids=str)
def test_without_clips_the_projected_lstm_is_torchs(sizes):
    inputs, cells, projection = sizes
    ours = drawn(0, ProjectedLSTM, *sizes)
    theirs = drawn(0, nn.LSTM, inputs, cells, batch_first=True, proj_size=projection)
    for name, weights in theirs.named_parameters():  # the first draw is torch's, but for the biases of f
        same = ours.state_dict()[name]
        if name.startswith("bias"):
            assert (same[cells : 2 * cells] == name.startswith("bias_ih")).all()
            same, weights = (torch.cat([each[:cells], each[2 * cells :]]) for each in (same, weights))
        assert torch.equal(same, weights)
    theirs.load_state_dict(random_parameters(ours).state_dict())
    x, state = draw(2, 7, inputs), (draw(1, 2, projection, seed=1), draw(1, 2, cells, seed=2))
    outcomes = []
    for model in (ours, theirs):
        y, (h, c) = model(x, state)
        weights = dict(model.named_parameters())
        found = torch.autograd.grad(y.sin().sum() + c.sum(), [weights[name] for name in sorted(weights)])
        outcomes.append([y, h, c, *found])
    assert max(map(relative_error, *outcomes)) < 1e-12


# ---- padding


def test_nothing_learns_from_padding():
    model, x = build(padding=0), tensor([[1, 2, 0, 0], [3, 4, 5, 6]])
    layers, state = model.read(x)
    loss = sum(layer.square().sum() for layer in layers) + sum(part.sum() for part in state)
    gradient = torch.autograd.grad(loss, model.embedding.weight)[0]
    assert not gradient[0].any() and gradient[1:].any(1).all()


# ---- the mix


def test_the_mixs_norm_adds_its_eps_to_the_variance():
    layer = draw(3, T, 2 * D)
    expected = (layer - layer.mean()) / (layer.var(correction=0) + 0.1).sqrt()
    assert relative_error(ScalarMix(1, norm=True, eps=0.1)([layer]), expected) < 1e-12


# ---- words from characters

FILTERS = [(1, 3), (2, 4), (5, 2)]
MANY = [["The", "cats", "sat"], ["naïve"], ["unquestionably", "."]]


def with_characters(seed=0, **options):
    torch.manual_seed(seed)
    cnn = CharacterCNN(D, FILTERS, character_width=3, **options)
    return random_parameters(BidirectionalLM(V, width=D, characters=cnn)).eval()


def test_spelling():
    x = spell([["é", "abcdefgh"], ["b"]], 6)
    pad = [PADDING] * 3
    assert x[0].tolist() == [
        [259, 257, 260, *pad],
        [259, 0xC3 + 1, 0xA9 + 1, 260, *pad[1:]],
        [259, *(ord(c) + 1 for c in "abcd"), 260],  # as much as there is room for
        [259, 258, 260, *pad],
    ]
    assert x[1, 1].tolist() == [259, ord("b") + 1, 260, *pad] and torch.equal(x[1, 2], x[0, 3]) and not x[1, 3].any()
    assert x.dtype == torch.int64 and spell([["a"]]).shape == (1, 3, 50) and int(spell(MANY).max()) < CHARACTERS


def test_padding_of_characters_changes_nothing():
    """Sentences of a batch are those alone; a longer place for each word lets its padding take part in the maxima."""
    model, x = with_characters(), spell(MANY, 20)
    layers, state = model.read(x)
    for b, sentence in enumerate(MANY):
        alone, own = model.read(spell([sentence], 20))
        for layer, expected in zip(layers, alone, strict=True):
            assert relative_error(layer[b, : len(sentence) + 2], expected[0]) < 1e-12
            assert not layer[b, len(sentence) + 2 :].any()
        assert all(relative_error(ours[:, b], theirs[:, 0]) < 1e-12 for ours, theirs in zip(state, own, strict=True))
    assert torch.equal(model.real(x), tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]]).bool())


def test_no_word_has_no_vector_and_learns_none():
    model = with_characters()
    with torch.no_grad():
        model.embedding.characters.weight[0] = 0
    y, _ = model(spell(MANY, 9))
    y.sin().sum().backward()
    assert not model.embedding.characters.weight.grad[0].any()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_the_first_weights():
    model = drawn(0, BidirectionalLM, 300, width=64)
    for layer in (model.embedding, model.softmax):
        assert float(layer.weight.detach().std()) == pytest.approx(1 / 8, rel=0.05)
    assert not model.softmax.bias.any()
    for layer in (*model.forward_layers, *model.backward_layers):
        assert (layer.bias_ih_l0[64:128] == 1).all() and not layer.bias_hh_l0[64:128].any()
        assert float(layer.weight_ih_l0.detach().abs().max()) == pytest.approx(1 / 8, rel=0.01)


# ---- use


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
    model, x = build("clipped", dropout=0.5).train(), ids(64, T, vocabulary=V)
    first, other = model.read(x)[0], model.read(x)[0]
    assert torch.equal(first[0], other[0]) and not torch.equal(first[1], other[1])
    model.eval()
    assert torch.equal(model(x)[0], build("clipped")(x)[0])


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


@pytest.mark.parametrize("kind", ["plain", "clipped"])
def test_padding_under_autocast(kind):
    model, x = build(kind, padding=0), tensor([[1, 2, 3], [4, 0, 0]])
    y, state = model(x)
    with torch.autocast("cpu", torch.bfloat16):
        low, other = model.float()(x)
        again, _ = model(x, other)
    assert relative_error(low.double(), y) < 0.15 and again.isfinite().all()
    assert all(relative_error(a.double(), b) < 0.15 for a, b in zip(other, state, strict=True))


# ---- refusals


def test_what_is_not_spelled_is_refused():
    x = spell([["a"], ["b", "c"]], 6)
    x[1, 1] = 0
    with pytest.raises(ValueError, match=r"^x must hold words first .* row 1: \[1, 0, 1, 1\]"):
        with_characters()(x)


def test_gaps_between_words_are_refused():
    for call in (build(padding=0), build(padding=0).layers):
        with pytest.raises(ValueError, match=r"^x must hold words first and then padding \(0\), .* row 0"):
            call(tensor([[1, 0, 2]]))
