"""The recurrence compiled for a GPU, in two ways; both follow neurons of sequences (columns) in parallel.

``"steps"`` walks through the time steps of 32 columns at a time. Reading is what takes long, so the rows of 32 steps
(backward: 16) are asked for together before the first of them is used. It computes exactly what the loop computes.

``"tiles"`` takes 64 steps of 16 columns at once by the associative scan of :mod:`rtx_lib.kernels.scan`, with maps
of four numbers forward and of two backward. Tiles in which a power could overflow or a cancellation could cost
digits (a weight beyond 1 + 1/64, huge values, NaN) are walked through step by step.

Float32 with few columns goes in tiles, everything else in steps. Where the border lies was estimated, not measured.
"""

# mypy: disable-error-code="no-untyped-def, assignment"
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
TILE_COLUMNS, TILE_STEPS = 16, 64
FEW = 4096


def best_kernel(z: Tensor) -> str:
    """``"steps"`` or ``"tiles"``, for z (B, T, N)."""
    batch, steps, neurons = z.shape
    few = batch * neurons <= FEW and steps >= 4 * TILE_STEPS
    return "tiles" if few and z.dtype == torch.float32 else "steps"


def forward(z: Tensor, u: Tensor, h0: Tensor, kernel: str | None = None) -> Tensor:
    """States h (B, T, N) for z (B, T, N), u (N,), h0 (B, N), all float32 or all float64."""
    z, u, h0 = (x.contiguous() for x in (z, u, h0))
    h = torch.empty_like(z)
    if (kernel or best_kernel(z)) == "steps":
        _launch(_steps_forward, z.shape, (z, u, h0, h), COLUMNS, DEPTH, num_warps=1)
    else:
        _launch(_tiles_forward, z.shape, (z, u, h0, h), TILE_COLUMNS, TILE_STEPS, num_warps=4)
    return h


def backward(g: Tensor, u: Tensor, h0: Tensor, h: Tensor, kernel: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of z, u and h0 for the gradient g (B, T, N) of h. No atomics: the same result in every run."""
    g, u, h0 = (x.contiguous() for x in (g, u, h0))
    dz, du, dh0 = torch.empty_like(g), torch.empty_like(h0), torch.empty_like(h0)  # du of each sequence
    tensors = (g, u, h0, h, dz, du, dh0)
    if (kernel or best_kernel(g)) == "steps":
        _launch(_steps_backward, g.shape, tensors, COLUMNS, DEPTH_BACKWARD, num_warps=1)
    else:
        _launch(_tiles_backward, g.shape, tensors, TILE_COLUMNS, TILE_STEPS, num_warps=4)
    return dz, du.sum(0), dh0


def _launch(
    kernel: Any, shape: torch.Size, tensors: tuple[Tensor, ...], columns: int, rows: int, num_warps: int
) -> None:
    """Start the kernel on all columns; ``columns`` and ``rows`` are what one program takes at a time."""
    batch, steps, neurons = shape
    grid = (triton.cdiv(batch * neurons, columns),)
    with torch.cuda.device_of(tensors[0]):  # triton launches on the current device
        # A fused multiply-add would round once where the loop rounds twice, and miss the zero of z_t = -u h_{t-1}.
        kernel[grid](
            *tensors, batch * neurons, steps, neurons, columns, rows, num_warps=num_warps, enable_fp_fusion=False
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


@jit
def _compose(a1, u1, low1, high1, a2, u2, low2, high2):
    """The second clamp map after the first: :func:`rtx_lib.kernels.scan.compose`."""
    p = a2 + u2 * low1
    q = a2 + u2 * high1
    low = tl.minimum(tl.maximum(tl.minimum(p, q), low2), high2)
    high = tl.minimum(tl.maximum(tl.maximum(p, q), low2), high2)
    return a2 + u2 * a1, u2 * u1, low, high


@jit
def _join_lines(a1, s1, a2, s2):
    """The line a2 + s2 d after the line a1 + s1 d."""
    return a2 + s2 * a1, s2 * s1


@jit
def _any_above(x, bound):
    """Whether a value is larger than the bound, or NaN."""
    return tl.max(tl.where(tl.abs(x) <= bound, 0, 1)) > 0


@jit
def _huge(x):
    """Whether a value is so large that a tile could overflow, or NaN."""
    return _any_above(x, 1e18)  # a tile multiplies it by less than 200


@jit
def _tiles_forward(z, u, h0, h, count, steps, neurons, WIDTH: tl.constexpr, TILE: tl.constexpr):
    there, neuron, column, start = _columns(count, steps, neurons, WIDTH)
    weight = tl.load(u + neuron, mask=there, other=0)
    state = tl.load(h0 + column, mask=there, other=0)
    row = tl.arange(0, TILE)[:, None]
    z += start
    h += start
    steep = _any_above(weight, 1 + 1 / TILE)
    for first in range(0, steps, TILE):
        inside = there[None, :] & (first + row < steps)
        a = tl.load(z[None, :] + row * neurons, mask=inside, other=0)
        if steep | _huge(a) | _huge(state):
            for k in range(TILE):
                z_t = tl.load(z + k * neurons, mask=there & (first + k < steps), other=0)
                state = _relu(z_t + weight * state)
                tl.store(h + k * neurons, state, mask=there & (first + k < steps))
        else:
            slope = tl.broadcast_to(weight[None, :], (TILE, WIDTH))
            low = tl.zeros_like(a)
            high = low + 1e30  # above every state that such a tile can have, and far from overflow
            a, slope, low, high = tl.associative_scan((a, slope, low, high), 0, _compose)
            now = tl.minimum(tl.maximum(a + slope * state[None, :], low), high)
            tl.store(h[None, :] + row * neurons, now, mask=inside)
            state = tl.sum(tl.where(row == TILE - 1, now, 0.0), axis=0)
        z += TILE * neurons
        h += TILE * neurons


@jit
def _tiles_backward(g, u, h0, h, dz, du, dh0, count, steps, neurons, WIDTH: tl.constexpr, TILE: tl.constexpr):
    there, neuron, column, start = _columns(count, steps, neurons, WIDTH)
    weight = tl.load(u + neuron, mask=there, other=0)
    initial = tl.load(h0 + column, mask=there, other=0)
    later = tl.zeros_like(initial)  # d_{t+1}
    total = tl.zeros_like(initial)
    row = tl.arange(0, TILE)[:, None]
    tiles = (steps + TILE - 1) // TILE
    start += tl.cast(tiles - 1, tl.int64) * TILE * neurons
    g += start
    h += start
    dz += start
    steep = _any_above(weight, 1 + 1 / TILE)
    for tile in range(tiles):
        first = (tiles - 1 - tile) * TILE
        inside = there[None, :] & (first + row < steps)
        a = tl.load(g[None, :] + row * neurons, mask=inside, other=0)
        if steep | _huge(a) | _huge(later):
            for back in range(TILE):
                k = TILE - 1 - back
                t = first + k
                if t < steps:
                    g_t = tl.load(g + k * neurons, mask=there, other=0)
                    now = tl.load(h + k * neurons, mask=there, other=0)
                    before = tl.where(t > 0, tl.load(h + (k - 1) * neurons, mask=there & (t > 0), other=0), initial)
                    if t + 1 < steps:
                        g_t += weight * later
                    later = tl.where(now <= 0, 0.0, g_t).to(now.dtype)
                    tl.store(dz + k * neurons, later, mask=there)
                    total += later * before
        else:
            states = tl.load(h[None, :] + row * neurons, mask=inside, other=0)
            before = tl.load(h[None, :] + (row - 1) * neurons, mask=inside & (first + row > 0), other=0)
            before = tl.where(first + row > 0, before, initial[None, :])
            dead = states <= 0
            a = tl.where(dead, 0.0, a).to(states.dtype)
            slope = tl.where(dead, 0.0, weight[None, :]).to(states.dtype)
            a, slope = tl.associative_scan((a, slope), 0, _join_lines, reverse=True)
            d = a + slope * later[None, :]
            tl.store(dz[None, :] + row * neurons, d, mask=inside)
            total += tl.sum(tl.where(first + row < steps, d * before, 0.0), axis=0)
            later = tl.sum(tl.where(row == 0, d, 0.0), axis=0)
        g -= TILE * neurons
        h -= TILE * neurons
        dz -= TILE * neurons
    tl.store(du + column, total, mask=there)
    tl.store(dh0 + column, weight * later, mask=there)
