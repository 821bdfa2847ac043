"""S4D: the convolution and the recurrence, the steps that they are made of, and where the rates start."""

import math

import numpy as np
import pytest
import torch
from support.compare import draw, furthest, random_parameters
from support.helpers import FIXTURES, drawn, relative_error

from rtx_lib.models.s4d import S4D


def pair(**options):
    """The same layer by both routes."""
    models = [drawn(0, S4D, 3, 8, route=r, **options) for r in ("convolution", "recurrence")]
    return [random_parameters(model.double()) for model in models]


@pytest.mark.parametrize("steps", [1, 2, 9, 1000])
@pytest.mark.parametrize("backend", ["auto", "loop"])
def test_the_convolution_is_the_recurrence(steps, backend):
    """Outputs, last state, and the gradients of all weights, of the input, and of the state to begin from."""
    models = pair(backend=backend)
    x, h = draw(2, steps, 3).double().requires_grad_(), draw(2, 3, 4, 2, seed=1).double().requires_grad_()
    for state in (None, h):
        one, other = (model(x, state) for model in models)
        inputs = [x] if state is None else [x, h]
        weights = [[*inputs, *model.parameters()] for model in models]
        assert relative_error(one[0], other[0]) < 1e-12 and relative_error(one[1], other[1]) < 1e-12
        assert furthest(one, other, *weights) < 1e-10


def test_the_kernel_term_by_term():
    """From the definition, one complex number after the other."""
    model = pair()[0].requires_grad_(False)
    K = model.kernel(6)
    for d in (0, 2):
        delta = math.exp(model.log_dt[d])
        for step in range(6):
            total = 0j
            for n in range(4):
                A = complex(-math.exp(model.log_A_real[d, n]), model.A_imag[d, n])
                a = math.e ** (delta * A)
                b = (a - 1) / A
                total += complex(*model.C[d, n].tolist()) * b * a**step
            assert float(K[d, step]) == pytest.approx(2 * total.real, rel=1e-10, abs=1e-12)


def test_first_weights():
    given = np.load(FIXTURES / "s4d.npz")
    width, states = given["init/A_imag"].shape
    for name in ("log_A_real", "A_imag"):
        ours = getattr(S4D(width, 2 * states), name).detach().numpy()
        assert np.abs(ours - given[f"init/{name}"]).max() < 1e-6
    model = drawn(0, S4D, 500, 64)
    steps = model.log_dt.exp()
    assert 0.001 <= steps.min() < 0.0011 and 0.09 < steps.max() <= 0.1
    assert float(torch.view_as_complex(model.C.detach()).abs().square().mean()) == pytest.approx(1, abs=0.05)
    assert float(model.D.detach().std()) == pytest.approx(1, abs=0.1)
    bound = 500**-0.5
    assert 0.99 * bound < model.output_linear.weight.abs().max() <= bound
