"""No Transformer looks ahead or behind a mask, and a cache changes nothing."""

import itertools

import pytest
import torch
from support.helpers import relative_error
from support.small_transformers import causal, ids, reorder, sentences, translator

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers import SCHEMES, causal_mask, greedy

pytestmark = pytest.mark.usefixtures("double")

NORMS = ("pre", "post")
# Seed, batch, length, width, heads, layers: every head width is even, as rotation wants it.
SHAPES = [(0, 2, 7, 8, 2, 2), (1, 1, 2, 4, 1, 1), (2, 3, 12, 12, 3, 3)]


def leaks(run, x, change):
    """The steps t whose input changes an output before t; ``run`` maps x (B, T) to y (B, T, ...)."""
    before, found = run(x), []
    for t in range(x.shape[1]):
        after = run(change(x, t))
        assert not torch.equal(after[:, t], before[:, t]), "the step's own output has to change"
        if relative_error(after[:, :t], before[:, :t]) if t else 0.0:
            found.append(t)
    return found


def other_id(x, t):
    changed = x.clone()
    changed[:, t] = (changed[:, t] + 1) % 6
    return changed


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", SCHEMES)
def test_no_position_sees_a_later_one(positions, norm, shape):
    seed, batch, length, width, heads, layers = shape
    sizes = {"width": width, "heads": heads, "layers": layers, "positions": positions, "norm": norm}
    x, source = ids(batch, length, seed=seed), sentences(batch, seed=seed)
    model, both = causal(seed, **sizes), translator(seed, **sizes)
    assert leaks(lambda x: model(x)[0], x, other_id) == []
    assert leaks(lambda x: both((source, x))[0], x, other_id) == []
    with record_attention(model):  # the form that keeps its weights
        assert leaks(lambda x: model(x)[0], x, other_id) == []


@pytest.mark.parametrize("positions", SCHEMES)
def test_floats_do_not_leak_either(positions):
    model, x = causal(vocabulary=None, positions=positions), torch.randn(2, 7, 6)

    def other(x, t):
        changed = x.clone()
        changed[:, t] += 1
        return changed

    assert leaks(lambda x: model(x)[0], x, other) == []
    x.requires_grad_()
    for t in range(7):
        (gradient,) = torch.autograd.grad(model(x)[0][:, t].sum(), x)
        assert not gradient[:, t + 1 :].any() and gradient[:, : t + 1].any(-1).all()


def test_a_mask_that_is_off_by_one_is_seen(monkeypatch):
    model, x = causal(positions="none"), ids(2, 7)
    for block in model.stack.blocks:
        block.causal = False
    assert leaks(lambda x: model(x)[0], x, other_id) == [1, 2, 3, 4, 5, 6]
    seen = causal_mask(7).roll(-1, 0) | causal_mask(7)
    model.stack.register_forward_pre_hook(lambda _, args, options: (args, {"mask": seen}), with_kwargs=True)
    assert leaks(lambda x: model(x)[0], x, other_id)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", SCHEMES)
def test_padding_in_the_source_changes_nothing(positions, norm):
    model, x = translator(positions=positions, norm=norm), ids(1, 4)
    source = ids(1, 5, vocabulary=7, first=1)
    before = model((source, x))[0]
    padded = torch.cat([source, torch.zeros(1, 3, dtype=torch.long)], 1)
    assert relative_error(model((padded, x))[0], before) < 1e-12
    longer = torch.cat([padded, ids(1, 8, vocabulary=7, first=1, seed=2)])
    assert relative_error(model((longer, x.expand(2, 4)))[0][:1], before) < 1e-12
    # Under an explicit mask, what stands behind it may be any id, anywhere in the sentence.
    mask = torch.tensor([True, False, True, True, False])[None, None, None]
    state, other = source.clone(), source.clone()
    other[:, [1, 4]] = other[:, [1, 4]] % 6 + 1
    logits = [model((None, x), model.encode(s, mask))[0] for s in (state, other)]
    assert relative_error(logits[1], logits[0]) < 1e-12 < 1e-3 < relative_error(logits[0], before)


def test_a_source_mask_that_is_ignored_is_seen():
    model, x = translator(), ids(1, 4)
    source = sentences(1)
    state = model.encode(source)
    everything = (state[0], torch.ones_like(state[1]), None)
    assert relative_error(model((None, x), everything)[0], model((source, x))[0]) > 1e-3
    assert relative_error(model((source[:, :2], x))[0], model((source, x))[0]) < 1e-12


def cuts(length, seed):
    """Pieces of random lengths, and single tokens."""
    generator = torch.Generator().manual_seed(seed)
    at = (torch.rand(length - 1, generator=generator) < 0.4).nonzero()[:, 0] + 1
    edges = [0, *at.tolist(), length]
    return [[b - a for a, b in itertools.pairwise(edges)], [1] * length]


def in_pieces(run, x, sizes):
    outputs, state = [], None
    for piece in x.split(sizes, dim=1):
        y, state = run(piece, state)
        outputs.append(y)
    return torch.cat(outputs, 1)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("positions", SCHEMES)
def test_pieces_equal_the_whole(positions, norm):
    for seed in range(3):
        x, source = ids(2, 9, seed=seed), sentences(seed=seed)
        model, both = causal(seed, positions=positions, norm=norm), translator(seed, positions=positions, norm=norm)
        whole, translated = model(x)[0], both((source, x))[0]
        for sizes in cuts(9, seed):
            assert relative_error(in_pieces(model, x, sizes), whole) < 1e-10
            pieces = in_pieces(lambda x, state: both((source if state is None else None, x), state), x, sizes)  # noqa: B023
            assert relative_error(pieces, translated) < 1e-10


def test_gradients_flow_through_the_cache():
    model, x = causal(), ids(2, 9)
    parameters = list(model.parameters())
    gradients = [torch.autograd.grad(y.sin().sum(), parameters) for y in (model(x)[0], in_pieces(model, x, [4, 1, 4]))]
    assert max(relative_error(a, b) for a, b in zip(*gradients, strict=True)) < 1e-10


def test_with_a_state_the_source_is_not_read():
    model, source, x = translator(), sentences(), ids(2, 6)
    state = model((source, x[:, :3]))[1]
    expected = model((None, x[:, 3:]), state)[0]
    for other in (sentences(seed=5), torch.zeros_like(source)):
        assert torch.equal(model((other, x[:, 3:]), state)[0], expected)


def test_a_state_can_be_reordered_by_the_batch():
    """What beam search does."""
    index, source, x = torch.tensor([1, 1, 0]), sentences(), ids(2, 6)
    for model, first in ((translator(), (source, x[:, :3])), (causal(), x[:, :3])):
        state = model(first)[1]
        rest = x[index, 3:]
        whole = model((source[index], x[index]) if isinstance(first, tuple) else x[index])[0]
        again = model((None, rest) if isinstance(first, tuple) else rest, reorder(state, index))[0]
        assert relative_error(again, whole[:, 3:]) < 1e-10
    start = reorder(translator().encode(source), index)
    assert start[2] is None and start[0].shape == (3, 5, 8) and start[1].shape == (3, 1, 1, 5)


def test_greedy_decoding_with_a_cache_equals_it_without():
    model, source = translator(), sentences()
    ours = greedy(model, source, start=1, end=5, max_length=8)
    x = torch.ones(2, 1, dtype=torch.long)
    for _ in range(ours.shape[1]):
        x = torch.cat([x, model((source, x))[0][:, -1:].argmax(-1)], 1)
    ended = (x[:, 1:] == 5).cumsum(1).cumsum(1) > 1
    assert torch.equal(ours, x[:, 1:].masked_fill(ended, 0))
