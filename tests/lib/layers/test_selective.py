"""The recurrence that chooses what it keeps: its equation, the range of its factor, and what the sign is for."""

import pytest
import torch

from rtx_lib.layers import SelectiveRecurrence

RANGES = {"signed": (-1.0, 1.0), "positive": (0.0, 1.0)}


@pytest.mark.parametrize("sign", RANGES)
def test_it_is_the_equation_step_by_step(double, sign):
    torch.manual_seed(1)
    layer, x, h = SelectiveRecurrence(4, sign), torch.randn(3, 9, 4), torch.randn(3, 4)
    y, last = layer(x, h)
    (W_a, c_a), (W_b, c_b) = ((part.weight, part.bias) for part in (layer.keep, layer.write))
    for t in range(9):
        share = torch.sigmoid(x[:, t] @ W_a.T + c_a)
        a = 2 * share - 1 if sign == "signed" else share
        h = a * h + x[:, t] @ W_b.T + c_b
        assert torch.allclose(y[:, t], h, rtol=0, atol=1e-12)
    assert torch.equal(last, y[:, -1])


def test_one_signed_unit_keeps_parity_for_good_and_a_positive_one_stands_still_on_ones(double):
    """a = 1 - 2x and b = x: h is 1 while the number of ones is odd. A positive factor comes to rest on ones."""
    unit = SelectiveRecurrence(1)
    with torch.no_grad():
        unit.keep.weight.fill_(-80.0)
        unit.keep.bias.fill_(40.0)
        unit.write.weight.fill_(1.0)
        unit.write.bias.zero_()
    x = torch.randint(2, (3, 2000, 1), generator=torch.Generator().manual_seed(0)).double()
    assert torch.equal(unit(x)[0].round(), x.cumsum(1) % 2)
    torch.manual_seed(0)
    y, _ = SelectiveRecurrence(8, "positive")(torch.ones(1, 2000, 8))
    assert torch.equal(y[:, -1], y[:, -2])
