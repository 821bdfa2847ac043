"""The LRU: eigenvalues inside the circle, the ring that they start from, and what gamma is for.

That it computes what the listing computes is tested in tests/reference/test_official.py.
"""

import math

import numpy as np
import pytest
import torch
from support.compare import draw
from support.helpers import FIXTURES, drawn

from rtx_lib.models.lru import LRU, gamma_log_of, ring


def test_no_parameters_leave_the_unit_circle():
    """Not even those that no one would choose; where rounding makes a modulus 1, it is not above."""
    model = drawn(0, LRU, 2, 4)
    with torch.no_grad():
        model.nu_log.copy_(torch.tensor([-50.0, -1.0, 3.0, 9.0]))
        model.theta_log.copy_(torch.tensor([-9.0, 0.0, 2.0, 5.0]))
    assert (model.eigenvalues().abs() <= 1 + 1e-6).all() and model(1e3 * draw(2, 200, 2))[0].isfinite().all()


def test_the_ring_is_uniform_in_area():
    """As 20,000 draws of the original's: radii between the two, their squares in the middle, phases below the most."""
    theirs = {name: float(value) for name, value in np.load(FIXTURES / "lru.npz").items() if name.startswith("init_")}
    torch.manual_seed(0)
    nu_log, theta_log = ring(20_000, 0.9, 0.999, 0.314)
    radius, phase = (-nu_log.exp()).exp(), theta_log.exp()
    ours = {"r_min": radius.min(), "r_max": radius.max(), "r2_mean": radius.square().mean()}
    ours |= {"phase_max": phase.max(), "phase_mean": phase.mean()}
    for name, value in ours.items():
        assert float(value) == pytest.approx(theirs[f"init_{name}"], abs=3e-3), name
    squares = (radius.square() - 0.81) / (0.999**2 - 0.81)
    for share in (0.25, 0.5, 0.75):
        assert float((squares < share).float().mean()) == pytest.approx(share, abs=0.015)
        assert float((phase < share * 0.314).float().mean()) == pytest.approx(share, abs=0.015)
    wide = (-ring(20_000)[0].exp()).exp()  # on a disc it shows that it is the area, not the radius
    assert float((wide < 0.5).float().mean()) == pytest.approx(0.25, abs=0.015)
    assert abs(np.corrcoef(squares, phase)[0, 1]) < 0.03


@pytest.mark.parametrize("ends", [(0.0, 1.0, 2 * math.pi), (0.9999, 1.0, 1e-3), (0.0, 1e-3, 1.0)])
def test_the_ring_can_be_wide_or_narrow(ends):
    model = drawn(0, LRU, 2, 5000, r_min=ends[0], r_max=ends[1], max_phase=ends[2])
    assert all(value.isfinite().all() for value in model.state_dict().values())
    radius = model.eigenvalues().abs()
    assert ends[0] - 1e-6 <= radius.min() and radius.max() <= ends[1] + 1e-6


def test_gamma_makes_states_as_large_as_the_inputs():
    """Without it white noise of variance 1 in makes E|h|^2 = 1 / (1 - |lambda|^2)."""
    model = drawn(0, LRU, 64, 200, r_min=0.5, r_max=0.98)
    assert torch.equal(model.gamma_log, gamma_log_of(model.nu_log))
    radius = model.eigenvalues().abs()
    assert torch.allclose(model.gamma_log.exp(), (1 - radius**2).sqrt(), rtol=1e-3)


def test_first_weights():
    model = drawn(0, LRU, 100, 80)
    stds = {"B_re": 200**-0.5, "B_im": 200**-0.5, "C_re": 80**-0.5, "C_im": 80**-0.5, "D": 1.0}
    weights = model.state_dict()
    for weight, std in ((weights[name], std) for name, std in stds.items()):
        assert float(weight.std()) == pytest.approx(std, rel=0.2) and abs(float(weight.mean())) < 0.3 * std
