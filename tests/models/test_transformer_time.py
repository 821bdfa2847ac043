"""No Transformer reads padding, and its state can be reordered and decoded from."""

import pytest
import torch
from support.compare import ids
from support.helpers import relative_error
from support.small_transformers import causal, reorder, sentences, translator

from rtx_lib.layers import SCHEMES, greedy

pytestmark = pytest.mark.usefixtures("double")

NORMS = ("pre", "post")


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
