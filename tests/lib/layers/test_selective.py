"""The recurrence that chooses what it keeps: its equation, the range of its factor, and what the sign is for."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from rtx_lib.layers import Readout, SelectiveRecurrence

RANGES = {"signed": (-1.0, 1.0), "positive": (0.0, 1.0)}


@pytest.fixture
def layer(double):
    torch.manual_seed(0)
    return SelectiveRecurrence(4)


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


@pytest.mark.parametrize("sign", RANGES)
def test_the_factor_fills_its_range_and_never_leaves_it(double, sign):
    torch.manual_seed(0)
    layer, (low, high) = SelectiveRecurrence(4, sign), RANGES[sign]
    a, _ = layer.steps(1e6 * torch.randn(50, 9, 4))
    assert low <= a.min() < low + 1e-6 and high - 1e-6 < a.max() <= high
    y, _ = layer(1e6 * torch.randn(1, 500, 4))
    assert y.isfinite().all()


def test_the_sign_goes_with_the_weights(layer):
    other, x = SelectiveRecurrence(4, "positive"), torch.randn(2, 5, 4)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x)[0], layer(x)[0])


def test_the_backends_agree(double):
    x = torch.randn(2, 300, 4)
    torch.manual_seed(0)
    loop = SelectiveRecurrence(4, backend="loop")
    scan = SelectiveRecurrence(4, backend="scan")
    scan.load_state_dict(loop.state_dict())
    assert torch.allclose(loop(x)[0], scan(x)[0], rtol=0, atol=1e-12)


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


def right(sign, steps):
    """Share of right answers at the last 64 of 256 steps, after a training on 40."""
    torch.manual_seed(0)
    model, generator = Readout(SelectiveRecurrence(16, sign), 2, vocabulary=2), torch.Generator().manual_seed(0)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(steps):
        x = torch.randint(2, (32, 40), generator=generator)
        loss = F.cross_entropy(model(x)[0].flatten(0, 1), (x.cumsum(1) % 2).flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    x = torch.randint(2, (100, 256), generator=generator)
    return ((model(x)[0].argmax(-1) == x.cumsum(1) % 2)[:, 192:]).double().mean().item()


def test_parity_is_learnt_with_a_sign_alone():
    assert right("signed", 150) > 0.99
    assert right("positive", 100) < 0.6
