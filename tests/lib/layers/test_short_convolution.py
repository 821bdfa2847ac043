"""The short convolution sees the last inputs, in pieces as in the whole."""

import pytest
import torch
from support.helpers import drawn, relative_error
from torch import nn

from rtx_lib.layers import ShortConvolution

X = torch.randn(2, 9, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize(("taps", "bias"), [(1, True), (2, False), (4, True), (12, True)])
def test_is_a_grouped_convolution_with_zeros_before_it(taps, bias):
    ours = drawn(1, ShortConvolution, 5, taps, bias).double()
    theirs = nn.Conv1d(5, 5, taps, groups=5, bias=bias, padding=taps - 1).double()
    theirs.load_state_dict(ours.state_dict())
    y, state = ours(X)
    assert relative_error(y, theirs(X.transpose(1, 2))[..., :9].transpose(1, 2)) < 1e-14
    assert state.shape == (2, taps - 1, 5) and torch.equal(state[:, -9:], X[:, max(0, 10 - taps) :])
    assert state.untyped_storage().nbytes() == state.numel() * 8, "the state keeps none of the rest alive"


def test_starts_as_torch_does():
    bound = 1 / 4**0.5
    layer = drawn(0, ShortConvolution, 500, 4)
    for weight in layer.parameters():
        assert 0.98 * bound < weight.abs().max() <= bound and abs(weight.mean()) < 0.1 * bound
