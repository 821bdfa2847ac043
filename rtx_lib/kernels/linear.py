"""The linear recurrence h_t = a_t h_{t-1} + b_t, element by element, by the fastest way at hand.

A step is the straight line h -> b_t + a_t h. Lines are closed under composition, b2 + a2 (b1 + a1 h) = (b2 + a2 b1) +
(a2 a1) h, so a prefix scan takes them in any grouping (Blelloch 1990; under recurrent networks Martin and Cundy 2018).

The gradient is such a recurrence in reversed time. With g_t, what the loss says of h_t directly,

    d_t = g_t + conj(a_{t+1}) d_{t+1},   db_t = d_t,   da_t = d_t conj(h_{t-1}),   dh_0 = conj(a_1) d_1

where conj, the complex conjugate, changes nothing of real numbers.
"""

import importlib
import math
from typing import Any

import torch
from torch import Tensor

from rtx_lib.shapes import expect, expect_floats, expect_like, traced

from . import linear_scan
from .backends import check_backend, gpu_problem, problem

HALVES = (torch.float16, torch.bfloat16)


def linear_recurrence_loop(a: Tensor, b: Tensor, h0: Tensor) -> Tensor:
    """The recurrence as it is written, for a, b (B, T, ...), h0 (B, ...): what every backend must equal."""
    h, states = h0, []
    for a_t, b_t in zip(a.unbind(1), b.unbind(1), strict=True):
        h = a_t * h + b_t
        states.append(h)
    return torch.stack(states, 1)


def linear_recurrence(a: Tensor, b: Tensor, h0: Tensor | None = None, *, backend: str = "auto") -> Tensor:
    """States of a recurrence that is linear in them, each element on its own:

        h_t = a_t h_{t-1} + b_t,  t = 1..T

    The fast forms are for ``|a| <= 1`` and finite numbers. There each gives what ``"loop"`` gives: in float64 the
    largest difference over the largest value stays below 1e-12 for states and 1e-10 for gradients. ``"auto"`` looks at
    the numbers and takes the loop where they are others; on a GPU, where a look would have to wait, Triton takes the
    steps in their order, as the loop does. float16 and bfloat16 are computed in float32 and returned in their own type.
    Gradients can be differentiated in their turn.

    Parameters
    ----------
    a
        What is left of the state in every step, real or complex; of b's shape, or of one that broadcasts to it.
    b
        (B, T, ...), what every step adds, of a's type; every size at least 1.
    h0
        (B, ...), the states before the first step; zeros if None.
    backend
        ``"loop"``: one step after the other, gradients by autograd; the reference. ``"scan"``: plain torch,
        T steps in about 3 sqrt(T) rounds. ``"numba"``: compiled, on a CPU. ``"triton"``: compiled, on a GPU.
        ``"auto"``: the fastest of these that is at hand, see :func:`explain_linear_backend`.

    Returns
    -------
    h
        (B, T, ...), the states of all steps.
    """
    _check(a, b, h0, "a", "b")
    check_backend(backend, b, "b")
    backend = _choose(a, b, h0)[0] if backend == "auto" else backend
    if b.dtype in HALVES:
        wide = linear_recurrence(a.float(), b.float(), None if h0 is None else h0.float(), backend=backend)
        return wide.to(b.dtype)
    h0 = torch.zeros_like(b[:, 0]) if h0 is None else h0
    if backend == "loop":
        return linear_recurrence_loop(a.expand_as(b), b, h0)
    return _fast(_Linear, a, b, h0, backend)


def gated_recurrence(f: Tensor, z: Tensor, h0: Tensor | None = None, *, backend: str = "auto") -> Tensor:
    """A running mean with a gate, the pooling of a QRNN (Bradbury et al. 2017, eq. 3):

        h_t = f_t h_{t-1} + (1 - f_t) z_t,  t = 1..T

    It is :func:`linear_recurrence` of f and (1 - f) z, with its precision, types and errors. With ``"numba"`` it is one
    pass, which never holds the product (1 - f) z of all steps.

    Parameters
    ----------
    f
        The share of the old state, from 0 to 1; of z's shape, or of one that broadcasts to it.
    z
        (B, T, ...), what is mixed in, of f's type; every size at least 1.
    h0
        (B, ...), the states before the first step; zeros if None.
    backend
        As in :func:`linear_recurrence`.

    Returns
    -------
    h
        (B, T, ...), the states of all steps.
    """
    _check(f, z, h0, "f", "z")
    check_backend(backend, z, "z")
    backend = _choose(f, z, h0)[0] if backend == "auto" else backend
    if backend != "numba":
        return linear_recurrence(f, (1 - f) * z, h0, backend=backend)
    if z.dtype in HALVES:
        return gated_recurrence(f.float(), z.float(), None if h0 is None else h0.float(), backend=backend).to(z.dtype)
    return _fast(_Gated, f, z, torch.zeros_like(z[:, 0]) if h0 is None else h0, backend)


def explain_linear_backend(a: Tensor, b: Tensor, h0: Tensor | None = None) -> str:
    """One sentence: what ``backend="auto"`` takes for these tensors, and why. For f and z it is the same."""
    _check(a, b, h0, "a", "b")
    return ": ".join(_choose(a, b, h0))


def _fast(function: Any, a: Tensor, b: Tensor, h0: Tensor, backend: str) -> Tensor:
    """The states, with all axes after time as one."""
    shape = (*b.shape[:2], -1)
    given = a.expand_as(b).reshape(shape), b.reshape(shape), h0.reshape(b.shape[0], -1)
    h: Tensor = linear_scan.forward(*given) if traced() else function.apply(*given, backend)
    return h.view(b.shape)


def _kernels(backend: str) -> Any:
    """The module with the passes of a backend; imported only when it is used."""
    return linear_scan if backend == "scan" else importlib.import_module(f".{backend}_linear", __package__)


class _Linear(torch.autograd.Function):
    """Joins a backend's forward and backward pass."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, h0: Tensor, backend: str) -> Tensor:
        h: Tensor = _kernels(backend).forward(a, b, h0)
        ctx.save_for_backward(a, h0, h)
        ctx.backend = backend
        return h

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # the gradients may be differentiated, and a backend's own pass leaves no graph
            return *linear_scan.gradients(linear_recurrence, g, *ctx.saved_tensors), None
        return *_kernels(ctx.backend).backward(g, *ctx.saved_tensors), None


class _Gated(torch.autograd.Function):
    """The same for :func:`gated_recurrence`: df_t = d_t conj(h_{t-1} - z_t), dz_t = d_t conj(1 - f_t)."""

    @staticmethod
    def forward(ctx: Any, f: Tensor, z: Tensor, h0: Tensor, backend: str) -> Tensor:
        h: Tensor = _kernels(backend).gated_forward(f, z, h0)
        ctx.save_for_backward(f, z, h0, h)
        ctx.backend = backend
        return h

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        f, z, h0, h = ctx.saved_tensors
        if torch.is_grad_enabled():
            df, d, dh0 = linear_scan.gradients(linear_recurrence, g, f, h0, h)
            return df - d * z.conj(), d * (1 - f).conj(), dh0, None
        return *_kernels(ctx.backend).gated_backward(g, f, z, h0, h), None


def _choose(a: Tensor, b: Tensor, h0: Tensor | None) -> tuple[str, str]:
    """The backend that "auto" takes for these tensors, and the reason."""
    batch, steps, *rest = b.shape
    if traced():
        return ("scan" if steps >= 100 else "loop"), "only plain operations can be recorded or transformed"
    on_gpu = b.device.type == "cuda"
    what = gpu_problem(b.device) if on_gpu else None
    if on_gpu and what is None:
        return "triton", "one kernel takes the whole sequence and reads and writes every value once"
    if not on_gpu and b.device.type != "cpu":
        return "loop", f"no faster way is known for the device {b.device.type}"
    if (wild := _wild(a, b, h0)) is not None:
        return "loop", f"the fast forms are for |a| <= 1 and finite numbers, and {wild}"
    if what is not None:
        return ("scan" if steps >= 100 else "loop"), what
    if problem("numba") is None:
        return "numba", "compiled for the CPU, it reads and writes every value once"
    return ("scan" if steps >= 200 and batch * math.prod(rest) <= 500 else "loop"), "numba cannot be imported"


def _wild(a: Tensor, b: Tensor, h0: Tensor | None) -> str | None:
    """What is beyond the fast forms' bounds; None if nothing is."""
    a, bound = a.detach(), 1 + 4 * torch.finfo(a.dtype).eps  # a number on the unit circle may be rounded up
    squares = a.real.square().addcmul_(a.imag, a.imag) if a.is_complex() else None  # sooner made than moduli
    if not all(abs(end) <= bound for end in (a.aminmax() if squares is None else [squares.amax().sqrt()])):
        return "a holds a value beyond 1"
    parts = (torch.view_as_real(x.resolve_conj()) if x.is_complex() else x for x in (b, h0) if x is not None)
    if not all(math.isfinite(end) for x in parts for end in x.detach().aminmax()):
        return "b or h0 holds a value that is not finite"
    return None


def _check(a: Tensor, b: Tensor, h0: Tensor | None, of_a: str, of_b: str) -> None:
    expect_floats(b, ("B", "T", *getattr(b, "shape", ())[2:]), of_b, complex=True)
    sizes = zip(reversed(getattr(a, "shape", b.shape)), reversed(b.shape), strict=False)
    expect(a, [1 if n == 1 else whole for n, whole in sizes][::-1], of_a, like=b, exact=True)
    expect_like(b, optional=True, h0=(h0, (b.shape[0], *b.shape[2:])))
