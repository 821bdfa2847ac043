"""Triton's kernels in Triton's interpreter, on sizes that it can manage. test_triton.py runs this file.

The interpreter has to be chosen (TRITON_INTERPRET=1) before triton is imported, so these tests need a process of
their own.
"""

import pytest
import torch
from kernels import linear_cases
from kernels.against_loop import NAMES, error, holds, random, results
from support.helpers import relative_error

from rtx_lib.kernels import linear_recurrence, relu_recurrence, triton_kernels, triton_linear

# NumPy, which interprets, warns where a GPU would not.
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")


@pytest.fixture(autouse=True)
def shallow(monkeypatch):
    """Few steps at a time, so that short sequences take several; of the linear recurrence 8 columns a program."""
    for kernels, name in ((triton_kernels, "DEPTH"), (triton_kernels, "DEPTH_BACKWARD"), (triton_linear, "DEPTH")):
        monkeypatch.setattr(kernels, name, 4)
    monkeypatch.setattr(triton_linear, "COLUMNS", 8)


def errors(z, u, h0=None, g=None):
    g = random(*z.shape, seed=99, dtype=z.dtype) if g is None else g
    ours, loop = (results(backend, z, u, h0, g) for backend in ("triton", "loop"))
    return {name: error(ours[name], loop[name]) for name in NAMES if name in loop}


@pytest.mark.parametrize("shape", [(1, 1, 3), (2, 8, 3), (1, 21, 7)])
def test_equals_the_loop(shape):
    u = torch.tensor([0.0, 0.9, -1.0, 1.002, 1e-30, -0.9, 1.0], dtype=torch.float64)[: shape[2]]
    z, h0 = random(*shape), 2 * random(shape[0], shape[2], seed=1)  # h0 of both signs
    assert holds(errors(z, u, h0))
    assert holds(errors(z.abs().float(), u.float()), 1e-5, 1e-5)


def test_steep_weights():
    u = torch.tensor([2.5, -2.5, 0.5, 1.2], dtype=torch.float64)
    z = random(1, 20, 4) - 3
    z[..., 1] += 3
    assert relu_recurrence(z, u, backend="loop").isfinite().all()
    assert holds(errors(z, u))
    # An unstable fixed point: z + u * 1 = 1, and a rounding anywhere would grow.
    u[0], ones = 2.3, torch.ones(1, 1, dtype=torch.float64)
    assert (relu_recurrence((1 - u[:1]).expand(1, 20, 1), u[:1], ones, backend="triton") == 1).all()
    assert holds(errors(1e30 * z.float(), u.float()), 1e-5, 1e-5)


def test_ties():
    """A zero is exact whatever the numbers."""
    u = torch.tensor([0.5, 1.0, -0.5, 0.75], dtype=torch.float64)
    z = random(1, 20, 4).abs() + 0.1
    state = torch.zeros(1, 4, dtype=torch.float64)
    for t in range(20):
        if t % 5 == 4:
            z[:, t] = -(u * state)
        state = torch.relu(z[:, t] + u * state)
    assert holds(errors(z, u))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite(value):
    z, u = random(2, 13, 4), torch.tensor([0.9, -0.9, 0.0, 1.0], dtype=torch.float64)
    z[1, 5], z[0, -1] = value, value
    assert holds(errors(z, u))
    g = random(2, 13, 4)
    g[0, 9] = value
    assert holds(errors(random(2, 13, 4).abs(), u, None, g))
    u[1] = value
    assert holds(errors(random(2, 13, 4), u))


def test_half_precision_and_strides():
    z, u = random(9, 2, 3, dtype=torch.bfloat16).transpose(0, 1), random(3, dtype=torch.bfloat16)
    wide = relu_recurrence(z.float(), u.float(), backend="loop")
    h = relu_recurrence(z, u, backend="triton")
    assert h.dtype == torch.bfloat16 and error(h.float(), wide) < 0.01
    assert holds(errors(random(9, 2, 3).transpose(0, 1), random(3), None, torch.ones(()).double().expand(2, 9, 3)))


@pytest.mark.parametrize("function", linear_cases.FUNCTIONS)
@pytest.mark.parametrize("dtype", [linear_cases.REAL, linear_cases.COMPLEX], ids=str)
@pytest.mark.parametrize("steps", [1, 4, 9])
def test_the_linear_recurrence_equals_the_loop(function, dtype, steps):
    *tensors, g = linear_cases.sequence(steps, dtype)
    states, gradients = linear_cases.errors(function, "triton", tensors, g)
    assert states < 1e-12 and gradients < 1e-10


def test_the_linear_recurrence_in_single_and_half_precision_views_and_conjugates():
    *tensors, g = linear_cases.sequence(6, linear_cases.COMPLEX)
    for *given, of_h in ([x.conj() for x in (*tensors, g)], [x.conj().imag / 2 for x in (*tensors, g)]):
        assert max(linear_cases.errors(linear_recurrence, "triton", [x.flip(0) for x in given], of_h)) < 1e-10
    single = [x.to(torch.complex64) for x in tensors]
    assert relative_error(linear_recurrence(*single, backend="triton"), linear_recurrence(*tensors)) < 1e-5
    half = [x.real.bfloat16() for x in tensors]
    assert linear_recurrence(*half, backend="triton").dtype == torch.bfloat16


def test_any_numbers_of_the_linear_recurrence_are_the_loops_own():
    a, b, h0, _ = linear_cases.sequence(9)
    a[0, 2, 0], b[1, 3], h0[0, 1, 0] = 3.0, float("inf"), float("nan")
    ours, loop = (linear_recurrence(a, b, h0, backend=backend) for backend in ("triton", "loop"))
    assert torch.equal(ours.nan_to_num(7), loop.nan_to_num(7))
