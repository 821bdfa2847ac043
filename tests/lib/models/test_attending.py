"""Models that attend as they write: their weights are seen once for all steps, and those that a hook returns are used.

That looking changes neither outputs nor states nor gradients is in test_contract.py.
"""

import pytest
import torch
from lib.models.test_contract import B, T, example, in_pieces, make, tensors
from support.helpers import relative_error

from rtx_lib.diagnostics.attention import ablate_heads, record_attention

SHAPES = {"seq2seq-additive": (T, 6), "seq2seq-dot": (T, 6), "dtmt": (3, T, 6), "captioner-attention": (T, 4)}
models = pytest.mark.parametrize("name", SHAPES)


@models
def test_weights_are_seen_once_for_all_steps(name):
    model, x = make(name), example(name)
    with record_attention(model) as recorded:
        model(x)
    ((called, weights),) = recorded
    assert called == "attention" and weights.shape == (B, *SHAPES[name])
    assert relative_error(weights.sum(-1), torch.ones(B, *SHAPES[name][:-1])) < 1e-12
    real = x[0] > 0 if name != "captioner-attention" else torch.ones(B, 4) > 0
    assert (weights > 0).equal(real.view(B, *[1] * (weights.ndim - 2), -1).expand_as(weights))


@models
def test_weights_that_a_hook_returns_are_used(name):
    model, x = make(name), example(name)
    logits, _ = model(x)
    with ablate_heads(model, range(3) if name == "dtmt" else [0], to="uniform"):
        uniform, state = model(x)
        pieces, _ = in_pieces(model, x, [2, T - 2])
    # The same from a model that attends to all words alike, as all its scores are 0.
    with torch.no_grad():
        (model.attention.query if name == "seq2seq-dot" else model.attention.score).weight.zero_()
    alike, alike_state = model(x)
    assert relative_error(pieces, uniform) < 1e-12 and relative_error(uniform, alike) < 1e-12
    assert relative_error(uniform, logits) > 1e-3
    for ours, theirs in zip(tensors(state), tensors(alike_state), strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-12)
