"""Triton's kernel of the linear recurrence in Triton's interpreter. test_triton.py runs this file.

The interpreter has to be chosen (TRITON_INTERPRET=1) before triton is imported, so these tests need a process of
their own.
"""

import pytest
import torch
from kernels.linear_cases import COMPLEX, FUNCTIONS, REAL, errors, sequence
from support.helpers import relative_error

from rtx_lib.kernels import linear_recurrence, triton_linear

# NumPy, which interprets, warns where a GPU would not.
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")


@pytest.fixture(autouse=True)
def shallow(monkeypatch):
    """Groups of 4 steps, and programs of 8 columns."""
    monkeypatch.setattr(triton_linear, "DEPTH", 4)
    monkeypatch.setattr(triton_linear, "COLUMNS", 8)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [REAL, COMPLEX], ids=str)
@pytest.mark.parametrize("steps", [1, 4, 9])
def test_equals_the_loop(function, dtype, steps):
    *tensors, g = sequence(steps, dtype)
    states, gradients = errors(function, "triton", tensors, g)
    assert states < 1e-12 and gradients < 1e-10


def test_single_and_half_precision_views_and_conjugates():
    *tensors, g = sequence(6, COMPLEX)
    for *given, of_h in ([x.conj() for x in (*tensors, g)], [x.conj().imag / 2 for x in (*tensors, g)]):
        assert max(errors(linear_recurrence, "triton", [x.flip(0) for x in given], of_h)) < 1e-10
    single = [x.to(torch.complex64) for x in tensors]
    assert relative_error(linear_recurrence(*single, backend="triton"), linear_recurrence(*tensors)) < 1e-5
    half = [x.real.bfloat16() for x in tensors]
    assert linear_recurrence(*half, backend="triton").dtype == torch.bfloat16


def test_any_numbers_are_the_loops_own():
    a, b, h0, _ = sequence(9)
    a[0, 2, 0], b[1, 3], h0[0, 1, 0] = 3.0, float("inf"), float("nan")
    ours, loop = (linear_recurrence(a, b, h0, backend=backend) for backend in ("triton", "loop"))
    assert torch.equal(ours.nan_to_num(7), loop.nan_to_num(7))
