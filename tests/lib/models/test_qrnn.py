"""The QRNN: zoneout, and how it starts; its equations are tested in tests/reference/test_official.py."""

import pytest
import torch
from support.compare import draw
from support.helpers import drawn

from rtx_lib.models.qrnn import QRNNLayer


def test_zoneout_keeps_a_share_of_the_states():
    """In training that many units of a step keep theirs exactly; in evaluation all are as far on as in the mean."""
    model = drawn(0, QRNNLayer, 3, 50, pooling="f", zoneout=0.3)
    x = draw(4, 100, 3)
    torch.manual_seed(1)
    h = model(x)[0]
    assert float((h[:, 1:] == h[:, :-1]).float().mean()) == pytest.approx(0.3, abs=0.02)
    z, f = model.eval().gates(torch.cat([x.new_zeros(4, 1, 3), x], 1))
    model.zoneout = 0.0
    same, plain = model.gates(torch.cat([x.new_zeros(4, 1, 3), x], 1))
    assert torch.equal(z, same) and torch.allclose(1 - f, 0.7 * (1 - plain))


def test_the_first_weights_are_torchs_for_as_many_inputs():
    model = drawn(0, QRNNLayer, 25, 60, window=4)
    bound = 100**-0.5
    for weights in model.state_dict().values():
        assert 0.9 * bound < weights.abs().max() <= bound and weights.mean().abs() < bound / 5
