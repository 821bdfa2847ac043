"""The recurrence compiled for a GPU, which follows neurons of sequences (columns) in parallel.

A program walks through the time steps of 32 columns at a time. Reading is what takes long, so the rows of 32 steps
(backward: 16) are asked for together before the first of them is used. It computes exactly what the loop computes.
"""

# mypy: disable-error-code="no-untyped-def, assignment"
from __future__ import annotations  # those of the kernels are triton's, which may be missing

import os
from typing import Any

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl

    jit = triton.jit
except ImportError:  # for the reference pages, which only read the docstrings

    def jit(function: Any) -> Any:
        return function


INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # how the kernels below will have been decorated
COLUMNS = 32  # of a program that walks in steps: one for each thread of a warp
DEPTH, DEPTH_BACKWARD = 32, 16  # backward reads two values for each step; more would not fit the registers


def forward(z: Tensor, u: Tensor, h0: Tensor) -> Tensor:
    """States h (B, T, N) for z (B, T, N), u (N,), h0 (B, N), all float32 or all float64."""
    z, u, h0 = (x.contiguous() for x in (z, u, h0))
    h = torch.empty_like(z)
    _launch(_steps_forward, z.shape, (z, u, h0, h), DEPTH)
    return h


def backward(g: Tensor, u: Tensor, h0: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of z, u and h0 for the gradient g (B, T, N) of h. No atomics: the same result in every run."""
    g, u, h0 = (x.contiguous() for x in (g, u, h0))
    dz, du, dh0 = torch.empty_like(g), torch.empty_like(h0), torch.empty_like(h0)  # du of each sequence
    _launch(_steps_backward, g.shape, (g, u, h0, h, dz, du, dh0), DEPTH_BACKWARD)
    return dz, du.sum(0), dh0


def _launch(kernel: Any, shape: torch.Size, tensors: tuple[Tensor, ...], depth: int) -> None:
    """Start the kernel on all columns; ``depth`` is how many steps one program reads at a time."""
    batch, steps, neurons = shape
    columns = batch * neurons
    with torch.cuda.device_of(tensors[0]):  # triton launches on the current device
        # A fused multiply-add would round once where the loop rounds twice, and miss the zero of z_t = -u h_{t-1}.
        kernel[(triton.cdiv(columns, COLUMNS),)](
            *tensors, columns, steps, neurons, COLUMNS, depth, num_warps=1, enable_fp_fusion=False
        )


@jit
def _columns(count, steps, neurons, WIDTH: tl.constexpr):
    """The columns of this program: which of them exist, their neurons, and where they begin in (B, N) and (B, T, N)."""
    column = tl.program_id(0).to(tl.int64) * WIDTH + tl.arange(0, WIDTH)
    neuron = column % neurons
    return column < count, neuron, column, column // neurons * steps * neurons + neuron


@jit
def _relu(x):
    return tl.where(x <= 0, 0.0, x).to(x.dtype)  # NaN passes, as in torch.relu


@jit
def _steps_forward(z, u, h0, h, count, steps, neurons, WIDTH: tl.constexpr, DEPTH: tl.constexpr):
    there, neuron, column, start = _columns(count, steps, neurons, WIDTH)
    weight = tl.load(u + neuron, mask=there, other=0)
    state = tl.load(h0 + column, mask=there, other=0)
    z += start
    h += start
    for first in range(0, steps, DEPTH):
        rows = ()
        for k in tl.static_range(DEPTH):
            rows += (tl.load(z + k * neurons, mask=there & (first + k < steps), other=0),)
        for k in tl.static_range(DEPTH):
            state = _relu(rows[k] + weight * state)
            tl.store(h + k * neurons, state, mask=there & (first + k < steps))
        z += DEPTH * neurons
        h += DEPTH * neurons


@jit
def _steps_backward(g, u, h0, h, dz, du, dh0, count, steps, neurons, WIDTH: tl.constexpr, DEPTH: tl.constexpr):
    there, neuron, column, start = _columns(count, steps, neurons, WIDTH)
    weight = tl.load(u + neuron, mask=there, other=0)
    initial = tl.load(h0 + column, mask=there, other=0)
    later = tl.zeros_like(initial)  # u d_{t+1}
    total = tl.zeros_like(initial)
    groups = (steps + DEPTH - 1) // DEPTH
    last = groups * DEPTH - 1  # the steps after the end come first and count for nothing
    start += tl.cast(last, tl.int64) * neurons
    g += start
    h += start
    dz += start
    now = tl.load(h, mask=there & (last < steps), other=0)
    for group in range(groups):
        rows, states = (), ()
        for k in tl.static_range(DEPTH):
            t = last - group * DEPTH - k
            rows += (tl.load(g - k * neurons, mask=there & (t < steps), other=0),)
            before = tl.load(h - (k + 1) * neurons, mask=there & (t <= steps) & (t > 0), other=0)
            states += (tl.where(t > 0, before, initial),)
        for k in tl.static_range(DEPTH):
            t = last - group * DEPTH - k
            d = tl.where(now <= 0, 0.0, rows[k] + later).to(now.dtype)
            tl.store(dz - k * neurons, d, mask=there & (t < steps))
            total += tl.where(t < steps, d * states[k], 0.0)
            later = tl.where(t < steps, weight * d, 0.0).to(now.dtype)
            now = states[k]
        g -= DEPTH * neurons
        h -= DEPTH * neurons
        dz -= DEPTH * neurons
    tl.store(du + column, total, mask=there)
    tl.store(dh0 + column, later, mask=there)
