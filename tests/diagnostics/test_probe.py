"""A linear probe finds what stands in the states, and nothing where nothing does."""

import pytest
import torch

from rtx_lib.diagnostics.probe import linear_probe


def test_a_number_that_stands_there_is_found():
    target = torch.arange(12.0)
    direction = torch.randn(5, generator=torch.Generator().manual_seed(0))
    noise = 1e-3 * torch.randn(20, 12, 5, generator=torch.Generator().manual_seed(1))
    states = target[:, None] * direction + 3 + noise
    assert linear_probe(states, target) < 1e-2


def test_noise_gives_the_mean():
    target = torch.arange(12.0)
    states = torch.randn(400, 12, 5, generator=torch.Generator().manual_seed(0))
    assert linear_probe(states, target) == pytest.approx((target - target.mean()).abs().mean().item(), rel=0.02)


def test_it_is_tested_on_other_sequences_than_it_was_fitted_to():
    states = torch.randn(2, 6, 30, generator=torch.Generator().manual_seed(0))  # more numbers than steps
    assert linear_probe(states, torch.arange(6.0)) > 0.3


def test_shapes():
    with pytest.raises(ValueError, match="states must"):
        linear_probe(torch.zeros(1, 4, 2), torch.arange(4.0))
    with pytest.raises(ValueError, match="target must have shape"):
        linear_probe(torch.zeros(2, 4, 2), torch.arange(5.0))
