"""The QRNN: how it starts; its equations are tested in tests/reference/test_official.py."""

from support.helpers import drawn

from rtx_lib.models.qrnn import QRNNLayer


def test_the_first_weights_are_torchs_for_as_many_inputs():
    model = drawn(0, QRNNLayer, 25, 60, window=4)
    bound = 100**-0.5
    for weights in model.state_dict().values():
        assert 0.9 * bound < weights.abs().max() <= bound and weights.mean().abs() < bound / 5
