"""The linear recurrences compiled for a CPU: one pass forward, one backward, each value read and written once.

They take the steps in their order, so they compute what the loop computes, whatever the numbers. Numba compiles at the
first call for a type, which takes a second or two. The kernels use one thread.
"""

import functools
from collections.abc import Callable
from typing import Any

from torch import Tensor


def forward(a: Tensor, b: Tensor, h0: Tensor) -> Tensor:
    """States h (B, T, N) of h_t = a_t h_{t-1} + b_t for a, b (B, T, N), h0 (B, N), all of one type, on the CPU."""
    return states(_linear_forward, a, b, h0)


def backward(g: Tensor, a: Tensor, h0: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a, b and h0 for the gradient g (B, T, N) of h."""
    return _gradients(_linear_backward, g, a, h, h0, h)  # b is not read: h stands in its place


def gated_forward(f: Tensor, z: Tensor, h0: Tensor) -> Tensor:
    """States h (B, T, N) of h_t = f_t h_{t-1} + (1 - f_t) z_t; the product (1 - f) z is never a tensor."""
    return states(_gated_forward, f, z, h0)


def gated_backward(g: Tensor, f: Tensor, z: Tensor, h0: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of f, z and h0 for the gradient g (B, T, N) of h."""
    return _gradients(_gated_backward, g, f, z, h0, h)


def states(loop: Callable[..., None], *tensors: Tensor) -> Tensor:
    """What a loop writes behind its inputs, of the shape of the first."""
    h = tensors[0].new_empty(tensors[0].shape)  # on the CPU, whatever torch's default device is
    compiled(loop)(*map(array, tensors), h.numpy())
    return h


def _gradients(loop: Callable[..., None], g: Tensor, *tensors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    first, second = (g.new_empty(g.shape) for _ in range(2))
    start = g.new_zeros(len(g), g.shape[2])
    compiled(loop)(*map(array, (g, *tensors)), first.numpy(), second.numpy(), start.numpy())
    return first, second, start


def array(x: Tensor) -> Any:
    """The numbers of a tensor, side by side."""
    return x.contiguous().numpy(force=True)  # force: a complex conjugate is carried out first


@functools.cache
def compiled(loop: Callable[..., None]) -> Callable[..., None]:
    """The loop, ready to be compiled. Without fastmath: NaN counts, and no multiply-add is fused."""
    import numba

    return numba.njit(loop)


# The innermost loops run over what lies side by side in memory, so that they become vector instructions. Backward, only
# d_t = g_t + conj(a_{t+1}) d_{t+1} goes against the order of memory, and the products with it follow in that order: all
# in one loop took twice as long. Gradients of complex numbers are torch's, with the conjugate of a factor. `gated` is a
# constant to the compiler, which leaves out what is not needed.


def _forward(gated: bool) -> Callable[..., None]:
    def forward(a: Any, b: Any, h0: Any, h: Any) -> None:
        one = a.dtype.type(1)
        for i in range(a.shape[0]):
            before = h0[i]
            for t in range(a.shape[1]):
                now, factor, added = h[i, t], a[i, t], b[i, t]
                for n in range(a.shape[2]):
                    now[n] = factor[n] * before[n] + ((one - factor[n]) * added[n] if gated else added[n])
                before = now

    return forward


def _backward(gated: bool) -> Callable[..., None]:
    def backward(g: Any, a: Any, b: Any, h0: Any, h: Any, da: Any, db: Any, dh0: Any) -> None:
        one = a.dtype.type(1)
        for i in range(g.shape[0]):
            later = dh0[i]  # conj(a_{t+1}) d_{t+1}, in the end the gradient of h0
            for t in range(g.shape[1] - 1, -1, -1):
                d, added, factor = db[i, t], g[i, t], a[i, t]
                for n in range(g.shape[2]):
                    total = added[n] + later[n]
                    d[n] = total
                    later[n] = factor[n].conjugate() * total
            before = h0[i]
            for t in range(g.shape[1]):
                d, factor, new, of_factor = db[i, t], a[i, t], b[i, t], da[i, t]
                for n in range(g.shape[2]):
                    of_factor[n] = d[n] * (before[n] - new[n] if gated else before[n]).conjugate()
                for n in range(g.shape[2] if gated else 0):
                    d[n] *= (one - factor[n]).conjugate()  # from here on the gradient of z
                before = h[i, t]

    return backward


_linear_forward, _gated_forward = map(_forward, (False, True))
_linear_backward, _gated_backward = map(_backward, (False, True))
