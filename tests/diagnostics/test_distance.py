"""Attention by distance: what is hidden, and what a mean over diagonals is."""

import pytest
import torch
from torch import nn

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.diagnostics.distance import attention_window, weight_by_distance
from rtx_lib.layers.attention import MultiHeadAttention, causal_mask

pytestmark = pytest.mark.usefixtures("double")


def test_a_window_is_a_mask():
    attention = MultiHeadAttention(8, 2)
    x = torch.randn(3, 9, 8)
    with attention_window(attention, 4), record_attention(attention) as seen:
        y, _ = attention(x, causal=True)
    expected, _ = attention(x, mask=causal_mask(9).triu(-3))
    assert torch.allclose(y, expected, atol=1e-14)
    weights = seen[0][1]
    assert (weights.diagonal(-4, -2, -1) == 0).all() and (weights.diagonal(-3, -2, -1) > 0).all()
    assert torch.equal(attention(x, causal=True)[0], attention(x, mask=causal_mask(9))[0])  # nothing is kept


def test_the_queries_are_the_last_positions():
    class Fixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights_tap = nn.Identity()

        def forward(self):
            return self.weights_tap(torch.full((1, 2, 6), 1 / 6))

    model = Fixed()
    with attention_window(model, 2):
        weights = model()
    assert weights[0].tolist() == [[0, 0, 0, 1 / 3, 1 / 3, 1 / 3], [0, 0, 0, 0, 1 / 2, 1 / 2]]


def test_what_no_window_is():
    for model, size, message in (
        (MultiHeadAttention(4, 1), 0, "size must be at least 1, was 0"),
        (nn.Linear(2, 2), 3, "weights_tap"),
    ):
        with pytest.raises(ValueError, match=message), attention_window(model, size):
            pass


def test_weight_by_distance_is_the_loop():
    weights = torch.rand(2, 7, 7)
    found = weight_by_distance(weights, 3)
    for d in range(3):
        by_hand = sum(weights[:, i, i - d] for i in range(3, 7)) / 4
        assert torch.allclose(found[:, d], by_hand, atol=1e-15)
    assert found.shape == (2, 3)


@pytest.mark.parametrize(
    ("shape", "first", "message"),
    [((2, 3), 1, "weights must"), ((3, 3), 3, "first must be from 1 to 2"), ((3, 3), 0, "first must")],
)
def test_what_has_no_distances(shape, first, message):
    with pytest.raises(ValueError, match=message):
        weight_by_distance(torch.rand(shape), first)
