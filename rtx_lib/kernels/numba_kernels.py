"""The recurrence compiled for a CPU: one pass forward, one backward, each value read and written once.

Numba compiles at the first call for a type, which takes a second or two. The kernels use one thread.
"""

from typing import Any

from torch import Tensor

from .numba_linear import array, compiled, states


def forward(z: Tensor, u: Tensor, h0: Tensor) -> Tensor:
    """States h (B, T, N) for z (B, T, N), u (N,), h0 (B, N), all float32 or all float64, on the CPU."""
    return states(_forward, z, u, h0)


def backward(g: Tensor, u: Tensor, h0: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of z, u and h0 for the gradient g (B, T, N) of h."""
    dz, dh0, du = g.new_empty(g.shape), g.new_zeros(h0.shape), g.new_zeros(h0.shape)  # du of each sequence
    compiled(_backward)(*map(array, (g, u, h0, h)), dz.numpy(), du.numpy(), dh0.numpy())
    return dz, du.sum(0), dh0


# The innermost loops run over neurons, which lie side by side in memory, so that they become vector instructions.
# `0 if x <= 0 else x` lets NaN through, as torch.relu does.


def _forward(z: Any, u: Any, h0: Any, h: Any) -> None:
    zero = z.dtype.type(0)
    for b in range(z.shape[0]):
        before = h0[b]
        for t in range(z.shape[1]):
            now, added = h[b, t], z[b, t]
            for n in range(z.shape[2]):
                x = added[n] + u[n] * before[n]
                now[n] = zero if x <= zero else x
            before = now


def _backward(g: Any, u: Any, h0: Any, h: Any, dz: Any, du: Any, dh0: Any) -> None:
    zero = g.dtype.type(0)
    for b in range(g.shape[0]):
        later, total = dh0[b], du[b]  # later: u d_{t+1}, in the end the gradient of h0
        for t in range(g.shape[1] - 1, -1, -1):
            before = h[b, t - 1] if t > 0 else h0[b]
            now, slope, added = h[b, t], dz[b, t], g[b, t]
            for n in range(g.shape[2]):
                d = zero if now[n] <= zero else added[n] + later[n]
                slope[n] = d
                total[n] += d * before[n]
                later[n] = u[n] * d
