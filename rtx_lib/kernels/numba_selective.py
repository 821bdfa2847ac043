"""The selective scan compiled for a CPU: decays and states of all steps are made where they are used, and never kept.

Written out, the scan of a width D with N states needs half a dozen arrays of T x D x N numbers. Here one sequence at a
time has its states in the processor's cache, and the backward pass computes them again, as the authors' kernel for a
GPU does (Gu and Dao 2023, section 3.3.2). A row of N x D numbers holds state n of all channels side by side, so that
the loops are over what is side by side in memory.

Decays are exponentials, one a state, which a compiled loop would ask for one by one. So they are computed here, many
in one vector instruction: exp(z) = 2^k exp(z - k log 2), k the nearest whole number to z / log 2, and the second factor
by its series. Errors are 2e-16 in double and 1e-7 in single precision, those of the last digit. Steps are taken in
their order. Numba compiles at the first call for a type, which takes a second or two; the kernels use one
thread.
"""

import functools
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .numba_linear import array


def forward(x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, h0: Tensor, signed: bool) -> tuple[Tensor, ...]:
    """y (B, T, D) and the last states (B, D, N), for x, delta (B, T, D), A (D, N), h0 (B, D, N), B and C.

    h_t = a_t h_{t-1} + x_t B_t and y_t = the sum of h_t C_t over the states, with a_t = exp(delta_t A), or twice that
    less 1 if ``signed``. B and C are both (B, T, N), shared by all channels, or both (D, N), shared by all steps.
    delta >= 0, A <= 0, and all of one type, float32 or float64, on the CPU.
    """
    y = x.new_zeros(x.shape)
    last = h0.transpose(1, 2).clone(memory_format=torch.contiguous_format)  # (B, N, D)
    arrays = (array(part) for part in (x, delta, A.T, _rows(B), _rows(C)))
    _compiled(A.dtype, B.ndim == 2)[0](*arrays, _real(A.dtype)(signed), y.numpy(), last.numpy())
    return y, last.transpose(1, 2)


def backward(
    g: Tensor, g_last: Tensor, x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, h0: Tensor, signed: bool
) -> tuple[Tensor, ...]:
    """Gradients of x, delta, A, B, C and h0, for those of y (B, T, D) and of the last states (B, D, N)."""
    dx, ddelta, dB, dC = (part.new_zeros(part.shape) for part in (x, delta, _rows(B), _rows(C)))
    dA, dh0 = A.new_zeros(A.T.shape), g_last.transpose(1, 2).clone(memory_format=torch.contiguous_format)
    arrays = (array(part) for part in (g, x, delta, A.T, _rows(B), _rows(C), h0.transpose(1, 2)))
    outcomes = (part.numpy() for part in (dx, ddelta, dA, dB, dC, dh0))
    _compiled(A.dtype, B.ndim == 2)[1](*arrays, _real(A.dtype)(signed), *outcomes)
    dB, dC = (part[0].T if B.ndim == 2 else part for part in (dB, dC))
    return dx, ddelta, dA.T, dB, dC, dh0.transpose(1, 2)


def _rows(x: Tensor) -> Tensor:
    """B or C as the loops read it: (B, T, N), or (1, N, D) if it is the same in all steps."""
    return x.T[None] if x.ndim == 2 else x


def _real(dtype: torch.dtype) -> Any:
    return np.float32 if dtype == torch.float32 else np.float64


@functools.cache
def _compiled(dtype: torch.dtype, fixed: bool) -> tuple[Any, Any]:
    """The forward and the backward pass, ready to be compiled for this type, and for B and C that are ``fixed``."""
    import numba

    real = _real(dtype)
    powers = numba.njit(fastmath={"contract"})(_powers(real))
    # Sums over channels may be taken in any order, else they would not become vector instructions.
    in_any_order = numba.njit(fastmath={"reassoc", "nsz", "contract"})
    again = in_any_order(_states_again(real, powers, fixed))
    return in_any_order(_states(real, powers, fixed)), in_any_order(_gradients(real, again, fixed))


# With s = 1 for signed decays and 0 else, a = e + s (e - 1) and da = (1 + s) e = a + s. No inner loop writes more than
# two arrays: before it becomes vector instructions it has to be certain that none of them overlaps with another.


def _states(real: Any, powers: Any, fixed: bool) -> Any:
    """The forward pass: ``last`` begins as the first states, and y at 0."""

    def states(x: Any, delta: Any, A: Any, B: Any, C: Any, s: Any, y: Any, last: Any) -> None:
        batch, steps, width = x.shape
        count = A.shape[0]
        a, exponents = np.empty(count * width, real), np.empty(count * width, real)
        for i in range(batch):
            for t in range(steps):
                for n in range(count):
                    for d in range(width):
                        a[n * width + d] = delta[i, t, d] * A[n, d]
                powers(a, exponents)
                for n in range(count):
                    of_all = (real(0), real(0)) if fixed else (B[i, t, n], C[i, t, n])
                    for d in range(width):
                        e = a[n * width + d]
                        written, read = (B[0, n, d], C[0, n, d]) if fixed else of_all
                        last[i, n, d] = (e + s * (e - real(1))) * last[i, n, d] + written * x[i, t, d]
                        y[i, t, d] += read * last[i, n, d]

    return states


def _states_again(real: Any, powers: Any, fixed: bool) -> Any:
    """The forward pass of sequence i once more, for the gradients: decays a (T, N D) and states h (T + 1, N D)."""

    def again(i, x, delta, A, B, s, a, h, exponents):  # type: ignore[no-untyped-def]
        count, width = A.shape
        for t in range(x.shape[1]):
            for n in range(count):
                for d in range(width):
                    a[t, n * width + d] = delta[i, t, d] * A[n, d]
            powers(a[t], exponents)
            for n in range(count):
                of_all = real(0) if fixed else B[i, t, n]
                for j in range(n * width, (n + 1) * width):
                    written = B[0, n, j - n * width] if fixed else of_all
                    a[t, j] += s * (a[t, j] - real(1))
                    h[t + 1, j] = a[t, j] * h[t, j] + written * x[i, t, j - n * width]

    return again


def _gradients(real: Any, again: Any, fixed: bool) -> Any:
    """The backward pass: ``dh0`` begins as the gradient of the last states, what else is given back at 0."""

    def gradients(g, x, delta, A, B, C, h0, s, dx, ddelta, dA, dB, dC, dh0):  # type: ignore[no-untyped-def]
        batch, steps, width = x.shape
        count, size = A.shape[0], A.shape[0] * width
        a, h = np.empty((steps, size), real), np.empty((steps + 1, size), real)
        exponents, of_power = np.empty(size, real), np.empty(width, real)
        for i in range(batch):
            later = dh0[i]  # a_{t+1} d_{t+1}, where d_t is the gradient of h_t
            for n in range(count):
                for d in range(width):
                    h[0, n * width + d] = h0[i, n, d]
            again(i, x, delta, A, B, s, a, h, exponents)
            for t in range(steps - 1, -1, -1):
                for n in range(count):
                    if fixed:
                        for d in range(width):
                            later[n, d] += C[0, n, d] * g[i, t, d]  # now d_t
                            dC[0, n, d] += g[i, t, d] * h[t + 1, n * width + d]
                        for d in range(width):
                            dB[0, n, d] += later[n, d] * x[i, t, d]
                            dx[i, t, d] += B[0, n, d] * later[n, d]
                    else:
                        written, read, of_written, of_read = B[i, t, n], C[i, t, n], real(0), real(0)
                        for d in range(width):
                            later[n, d] += read * g[i, t, d]
                            of_read += g[i, t, d] * h[t + 1, n * width + d]
                            of_written += later[n, d] * x[i, t, d]
                            dx[i, t, d] += written * later[n, d]
                        dB[i, t, n], dC[i, t, n] = of_written, of_read
                    for d in range(width):
                        of_power[d] = (a[t, n * width + d] + s) * later[n, d] * h[t, n * width + d]
                        later[n, d] *= a[t, n * width + d]
                    for d in range(width):
                        ddelta[i, t, d] += of_power[d] * A[n, d]
                        dA[n, d] += of_power[d] * delta[i, t, d]

    return gradients


def _powers(real: Any) -> Any:
    """The loop that puts exp(z) in the place of every z <= 0 of a row, of this type; ``exponents`` is room for it.

    Adding 3 2^51 (in single precision 3 2^22) rounds a number to a whole one, which then stands in its last bits.
    Shifted to the place of the exponent these are 2^k. exp(-708) (exp(-87)) stands for what is smaller.
    """
    single = real is np.float32
    whole: Any = np.int32 if single else np.int64
    digits, bias, terms, least = (23, 127, 8, -87.0) if single else (52, 1023, 14, -708.0)
    rounding, least = real(1.5 * 2.0**digits), real(least)
    shift, bias, per_power = whole(digits), whole(bias), real(1 / math.log(2))
    # log 2 in two parts, the first of few digits, so that k times it is exact
    coarse = real(0.693359375) if single else real(0.693145751953125)
    fine = real(-2.121944400546905827679e-4) if single else real(1.42860682030941723212e-6)
    last, *others = (real(1 / math.factorial(k)) for k in range(terms - 1, -1, -1))
    series = tuple(others)

    def powers(z: Any, exponents: Any) -> None:
        bits = exponents.view(whole)
        for j in range(z.shape[0]):
            value = least if z[j] < least else z[j]
            k = value * per_power + rounding
            exponents[j] = k
            k = k - rounding
            rest = value - k * coarse - k * fine
            total = last
            for factor in series:
                total = total * rest + factor
            z[j] = total
        for j in range(z.shape[0]):
            bits[j] = (bits[j] + bias) << shift
        for j in range(z.shape[0]):
            z[j] *= exponents[j]

    return powers
