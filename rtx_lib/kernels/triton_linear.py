"""The linear recurrence compiled for a GPU, one kernel for both directions of time.

It walks through the steps of 32 columns (elements of sequences) at a time and computes what the loop computes,
whatever the numbers. The rows of 16 steps are asked for together before the first of them is used, as reading is what
takes long. A complex number is two real ones, side by side in memory.
"""

# mypy: disable-error-code="no-untyped-def, assignment, var-annotated"
from __future__ import annotations  # those of the kernels are triton's, which may be missing

import torch
from torch import Tensor

from .triton_kernels import COLUMNS, jit

try:
    import triton
    import triton.language as tl
except ImportError:  # for the reference pages, which only read the docstrings
    pass

DEPTH = 16


def forward(a: Tensor, b: Tensor, h0: Tensor) -> Tensor:
    """States h (B, T, N) of h_t = a_t h_{t-1} + b_t for a, b (B, T, N), h0 (B, N), all of one type."""
    return _run(a, b, h0, reverse=False)


def backward(g: Tensor, a: Tensor, h0: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a, b and h0 for the gradient g (B, T, N) of h: the kernel runs from the end with conj(a_{t+1})."""
    d = _run(a, g, torch.zeros_like(h0), reverse=True)
    before = torch.cat([h0[:, None], h[:, :-1]], 1)
    return d * before.conj(), d, a[:, 0].conj() * d[:, 0]


def _run(a: Tensor, b: Tensor, start: Tensor, *, reverse: bool) -> Tensor:
    batch, steps, width = b.shape
    h = torch.empty(b.shape, dtype=b.dtype, device=b.device)
    tensors = [x.resolve_conj().resolve_neg().contiguous() for x in (a, b, start)] + [h]
    parts = [torch.view_as_real(x) for x in tensors] if b.is_complex() else tensors
    grid = (triton.cdiv(batch * width, COLUMNS),)
    with torch.cuda.device_of(b):  # triton launches on the current device
        sizes = batch * width, steps, width, COLUMNS, DEPTH
        _steps[grid](*parts, *sizes, reverse, b.is_complex(), num_warps=1, enable_fp_fusion=False)
    return h


@jit
def _steps(
    a,
    b,
    start,
    h,
    count,
    steps,
    width,
    WIDTH: tl.constexpr,
    DEPTH: tl.constexpr,
    REVERSE: tl.constexpr,
    COMPLEX: tl.constexpr,
):
    column = tl.program_id(0).to(tl.int64) * WIDTH + tl.arange(0, WIDTH)
    there = column < count
    parts: tl.constexpr = 2 if COMPLEX else 1
    x = tl.load(start + column * parts, mask=there, other=0)
    y = tl.load(start + column * parts + parts - 1, mask=there, other=0)  # the imaginary part, if there is one
    first = (column // width * steps * width + column % width) * parts
    for group in range(0, steps, DEPTH):
        rows = ()
        for k in tl.static_range(DEPTH):
            t = group + k
            inside = there & (t < steps)
            at = first + tl.cast(steps - 1 - t if REVERSE else t, tl.int64) * width * parts
            # From the end each step takes the a of the step after it; the first has none, and starts from 0.
            of_a, has_a = (at + width * parts, inside & (t > 0)) if REVERSE else (at, inside)
            a_x, b_x = tl.load(a + of_a, mask=has_a, other=0), tl.load(b + at, mask=inside, other=0)
            at += parts - 1
            of_a += parts - 1
            rows += ((a_x, b_x, tl.load(a + of_a, mask=has_a, other=0), tl.load(b + at, mask=inside, other=0)),)
        for k in tl.static_range(DEPTH):
            t = group + k
            inside = there & (t < steps)
            at = first + tl.cast(steps - 1 - t if REVERSE else t, tl.int64) * width * parts
            a_x, b_x, a_y, b_y = rows[k]  # the parts x and y
            if COMPLEX:
                a_y = -a_y if REVERSE else a_y
                x, y = a_x * x - a_y * y + b_x, a_x * y + a_y * x + b_y
                tl.store(h + at + 1, y, mask=inside)
            else:
                x = a_x * x + b_x
            tl.store(h + at, x, mask=inside)
