"""The recurrence of a ReLU IndRNN, h_t = relu(z_t + u h_{t-1}), by the fastest exact way at hand."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from rtx_lib.shapes import expect_floats, expect_like, traced

from . import scan
from .backends import check_backend, gpu_problem, problem

Forward = Callable[[Tensor, Tensor, Tensor], Tensor]
Backward = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]


def relu_recurrence_loop(z: Tensor, u: Tensor, h0: Tensor) -> Tensor:
    """The recurrence as it is written, for z (B, T, N), u (N,), h0 (B, N): what every backend must equal."""
    h, states = h0, []
    for z_t in z.unbind(1):  # one backward node; z[:, t] would make T of them, each as large as z
        h = torch.relu(z_t + u * h)
        states.append(h)
    return torch.stack(states, 1)


def relu_recurrence(z: Tensor, u: Tensor, h0: Tensor | None = None, *, backend: str = "auto") -> Tensor:
    """States of a ReLU IndRNN (Li et al. 2018, eq. 2), whose neurons each see their own past only:

        h_t = relu(z_t + u h_{t-1}),  t = 1..T

    Every backend gives what ``"loop"`` gives, gradients included, with NaN and infinity in the same places. The
    largest difference over the largest value stays below 1e-12 for states and 1e-10 for gradients in float64, below
    2e-5 and 1e-4 in float32. float16 and bfloat16 are computed in float32 and returned in their own type.

    Parameters
    ----------
    z
        (B, T, N), the input of every step, already projected: z_t = W x_t + b. B, T and N at least 1.
    u
        (N,), one recurrent weight for each neuron, of any size and sign.
    h0
        (B, N), the states before the first step, which may be negative; zeros if None.
    backend
        ``"loop"``: one step after the other, gradients by autograd; the reference. ``"scan"``: plain torch,
        T steps in about sqrt(T) rounds. ``"numba"``: compiled, on a CPU. ``"triton"``: compiled, on a GPU.
        ``"auto"``: the fastest of these that is at hand, see :func:`explain_backend`.

    Returns
    -------
    h
        (B, T, N), the states of all steps.
    """
    _check(z, u, h0)
    check_backend(backend, z, "z")
    backend = _choose(z)[0] if backend == "auto" else backend
    if z.dtype in (torch.float16, torch.bfloat16):
        return relu_recurrence(z.float(), u.float(), None if h0 is None else h0.float(), backend=backend).to(z.dtype)
    h0 = z.new_zeros(z.shape[0], z.shape[2]) if h0 is None else h0
    if backend == "loop":
        return relu_recurrence_loop(z, u, h0)
    kernels = _kernels(backend)
    h: Tensor = _Recurrence.apply(z, u, h0, kernels.forward, kernels.backward)
    return h


def _kernels(backend: str) -> ModuleType:
    """The module with the forward and the backward pass of a backend; imported only when it is used."""
    return scan if backend == "scan" else importlib.import_module(f".{backend}_kernels", __package__)


def loop_backward(g: Tensor, u: Tensor, h0: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of z, u and h0 for the gradient g (B, T, N) of h, step by step and differentiable themselves."""
    later, slopes = torch.zeros_like(h0), []
    for g_t, h_t in zip(g.unbind(1)[::-1], h.unbind(1)[::-1], strict=True):
        slopes.append((g_t + later).masked_fill(h_t <= 0, 0))
        later = u * slopes[-1]
    dz = torch.stack(slopes[::-1], 1)
    return dz, (dz * torch.cat([h0[:, None], h[:, :-1]], 1)).sum((0, 1)), later


class _Recurrence(torch.autograd.Function):
    """Joins a backend's forward and backward pass."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, u: Tensor, h0: Tensor, forward: Forward, backward: Backward) -> Tensor:
        h = forward(z, u, h0)
        ctx.save_for_backward(u, h0, h)
        ctx.backward_pass = backward
        return h

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        # With create_graph the gradients may be differentiated in their turn, and a backend's pass leaves no graph.
        backward = loop_backward if torch.is_grad_enabled() else ctx.backward_pass
        return *backward(g, *ctx.saved_tensors), None, None


def explain_backend(z: Tensor, u: Tensor | None = None, h0: Tensor | None = None) -> str:
    """One sentence: what ``backend="auto"`` takes for these tensors, and why."""
    _check(z, u, h0)
    return ": ".join(_choose(z))


def _choose(z: Tensor) -> tuple[str, str]:
    """The backend that "auto" takes for z, and the reason."""
    batch, steps, neurons = z.shape
    if traced():
        return "loop", "only plain operations can be recorded or transformed"
    if z.device.type == "cuda":
        what = gpu_problem(z.device)
        if what is None:
            return "triton", "one kernel takes the whole sequence and reads and writes every value once"
        if steps >= 100:
            return "scan", f"{what}, and the scan starts far fewer GPU kernels than the loop with its few a step"
        return "loop", f"{what}, and so few steps are not worth a scan"
    if z.device.type != "cpu":
        return "loop", f"no faster way is known for the device {z.device.type}"
    if problem("numba") is None:
        return "numba", "compiled for the CPU, it reads and writes every value once"
    if batch * neurons <= 500 and steps >= 200:
        return "scan", "numba cannot be imported, and up to B * N = 500 it is the number of operations that takes time"
    return "loop", "numba cannot be imported, and the scan pays only from T = 200 and up to B * N = 500"


def _check(z: Tensor, u: Tensor | None, h0: Tensor | None) -> None:
    batch, _, neurons = expect_floats(z, "B T N", "z").shape
    expect_like(z, optional=True, u=(u, (neurons,)), h0=(h0, (batch, neurons)))
