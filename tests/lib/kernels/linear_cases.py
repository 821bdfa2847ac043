"""Sequences for the linear recurrences, and how far a backend is from the loop on them."""

import torch
from support.helpers import relative_error

from rtx_lib.kernels import gated_recurrence, linear_recurrence

FUNCTIONS = [linear_recurrence, gated_recurrence]
REAL, COMPLEX = torch.float64, torch.complex128


def sequence(steps, dtype=REAL, batch=2, seed=0):
    """a, b (B, T, 2, 5), h0 and a gradient g: of every step |a| is 0, tiny, drawn, near 1, and 1, of every sign."""
    generator = torch.Generator().manual_seed(seed)
    shape = (batch, steps, 2, 5)
    size = torch.tensor([0, 1e-30, 0.5, 0.999, 1], dtype=REAL).expand(shape).clone()
    size[..., 2] = torch.rand(shape[:-1], generator=generator, dtype=REAL)
    if dtype.is_complex:
        a = torch.polar(size, 6.3 * torch.rand(shape, generator=generator, dtype=REAL))
    else:
        a = size * (torch.randint(2, shape, generator=generator) * 2 - 1)
    b, g = (torch.randn(shape, generator=generator, dtype=dtype) for _ in range(2))
    return a, b, torch.randn(batch, 2, 5, generator=generator, dtype=dtype), g


def results(function, backend, tensors, g):
    """The states, and the gradients of all tensors of <g, h>."""
    tensors = [x.detach().requires_grad_() for x in tensors]
    h = function(*tensors, backend=backend)
    return [h.detach(), *torch.autograd.grad(h, tensors, g)]


def errors(function, backend, tensors, g):
    """The largest error of the states and of the gradients, against the loop."""
    pairs = zip(results(function, backend, tensors, g), results(function, "loop", tensors, g), strict=True)
    # Of one step from nothing the gradient of a is 0, without a scale to compare with.
    states, *gradients = [
        relative_error(ours, loop) if loop.any() else relative_error(1 + ours, 1 + loop) for ours, loop in pairs
    ]
    return states, max(gradients)
