"""The yardstick: causal, tied, of nanoGPT's size."""

import pytest
import torch

from rtx_lib.models.plain_gpt import PlainGPT


def test_it_has_the_size_of_its_recipe_and_shares_the_table():
    model = PlainGPT(65)
    blocks = 4 * (12 * 128 * 128 + 2 * 128) + 128
    assert sum(p.numel() for p in model.parameters()) == blocks + 65 * 128 + 64 * 128
    x = torch.randint(65, (2, 64))
    logits, state = model(x)
    assert logits.shape == (2, 64, 65) and state is None
    model.tokens.weight.data.zero_()
    assert not model(x)[0].any(), "the output weights are the embedding's"


def test_bad_input():
    with pytest.raises(ValueError, match="width must be a multiple of heads, got width=10, heads=4"):
        PlainGPT(5, width=10)
    for name in ("heads", "layers", "length"):
        with pytest.raises(ValueError, match=f"{name} must be at least 1, got 0"):
            PlainGPT(5, **{name: 0})
    with pytest.raises(ValueError, match="at most 64 positions, got 65"):
        PlainGPT(5)(torch.zeros(1, 65, dtype=torch.long))
