"""The selective scan: a linear recurrence whose decays, inputs and read-out are made of a few numbers per step.

A channel d has N states of its own, each with a decay rate. Every step says how much time passes, delta, what is
written, B, and what is read, C (Gu and Dao 2023, algorithm 2):

    h_t = exp(delta_t A) h_{t-1} + delta_t B_t u_t,    y_t = C_t h_t

Written out, it is :func:`~rtx_lib.kernels.linear.linear_recurrence` of D N elements. On a CPU one compiled pass does it
all.
"""

import importlib
import math
from typing import Any

import torch
from torch import Tensor

from rtx_lib.shapes import expect_each, expect_floats, expect_like, traced

from .backends import check_backend, problem
from .linear import HALVES, linear_recurrence

DISCRETISATIONS = ("euler", "zoh")
EIGENVALUES = ("positive", "signed")


def selective_scan_loop(
    u: Tensor,
    delta: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    h: Tensor,
    discretisation: str = "euler",
    eigenvalues: str = "positive",
) -> tuple[Tensor, Tensor]:
    """The recurrence as it is written: what every backend of :func:`selective_scan` must equal. h is the first state.

    All are of every step: u and delta (B, T, D), B and C (B, T, N); or B and C (B, T, D, N), one for each channel.
    """
    B, C = (x if x.ndim == 4 else x[:, :, None] for x in (B, C))  # beside the channels
    outputs = []
    for u_t, delta_t, B_t, C_t in zip(u.unbind(1), delta.unbind(1), B.unbind(1), C.unbind(1), strict=True):
        a_t, b_t = discretised(delta_t[..., None], A, B_t, discretisation, eigenvalues)
        h = a_t * h + b_t * u_t[..., None]  # (B, D, N)
        outputs.append((C_t * h).sum(-1))  # (B, D)
    return torch.stack(outputs, 1), h


def discretised(
    delta: Tensor, A: Tensor, B: Tensor, discretisation: str = "euler", eigenvalues: str = "positive"
) -> tuple[Tensor, Tensor]:
    """What is left of a state in a step of size delta, and how much of an input it takes in; all broadcast to A."""
    a = torch.exp(delta * A)
    b = delta * B if discretisation == "euler" else torch.expm1(delta * A) / A * B
    return (2 * a - 1 if eigenvalues == "signed" else a), b


def selective_scan(
    u: Tensor,
    delta: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    state: Tensor | None = None,
    *,
    discretisation: str = "euler",
    eigenvalues: str = "positive",
    backend: str = "auto",
) -> tuple[Tensor, Tensor]:
    """S6, the state space model whose parameters are chosen by the input (Gu and Dao 2023, section 3.2):

        h_t = a_t h_{t-1} + b_t u_t,    y_t = sum over n of C_t h_t

    for every channel d and state n alone, with a_t = exp(delta_t A), and b_t = delta_t B_t or, from a zero-order hold,
    (exp(delta_t A) - 1) / A B_t.

    Parameters
    ----------
    u
        (B, T, D), the inputs.
    delta
        (B, T, D), the step sizes, at least 0; or (D,), the same in all steps.
    A
        (D, N), the rates, below 0.
    B, C
        (B, T, N), what each step writes and reads, shared by all channels; or (D, N), the same in all steps.
    state
        (B, D, N), the states before the first step; zeros if None.
    discretisation
        ``"euler"``, delta B, as in the authors' code; ``"zoh"``, the zero-order hold of their paper (eq. 4).
    eigenvalues
        ``"positive"``: the decays a_t as above, in (0, 1). ``"signed"``: 2 a_t - 1 in their place, in (-1, 1), with
        which a state can change its sign (Grazzi et al. 2025).
    backend
        ``"auto"``: on a CPU with numba one compiled pass, which never holds a_t, b_t or h_t of all steps, if the
        discretisation is Euler's, and B and C have one form. ``"numba"`` is the same by name, without a look at the
        numbers. In other cases, and by any other name, :func:`~rtx_lib.kernels.linear.linear_recurrence` with this
        backend.

    Returns
    -------
    y
        (B, T, D).
    state
        (B, D, N), the states after the last step.
    """
    _check(u, delta, A, B, C, state)
    expect_each(discretisation=(discretisation, DISCRETISATIONS), eigenvalues=(eigenvalues, EIGENVALUES))
    check_backend(backend, u, "u")
    state = u.new_zeros(u.shape[0], *A.shape) if state is None else state
    if u.dtype in HALVES:
        wide = (x.float() for x in (u, delta, A, B, C, state))
        y, state = selective_scan(*wide, discretisation=discretisation, eigenvalues=eigenvalues, backend=backend)
        return y.to(u.dtype), state.to(u.dtype)
    signed = eigenvalues == "signed"
    if backend == "loop":
        B, C = (x if x.ndim == 3 else x.expand(*u.shape, -1) for x in (B, C))
        return selective_scan_loop(u, delta.expand_as(u), A, B, C, state, discretisation, eigenvalues)
    if discretisation == "euler" and _compiled(backend, u, delta, A, B, C, state):
        outcome: tuple[Tensor, Tensor] = _Selective.apply(delta * u, delta.expand_as(u), A, B, C, state, signed)
        return outcome
    a, b = discretised(delta[..., None], A, _to_states(B), discretisation, eigenvalues)
    return _written_out(a, b * u[..., None], C, state, backend)


def _written_out(decays: Tensor, added: Tensor, C: Tensor, state: Tensor, backend: str) -> tuple[Tensor, Tensor]:
    """y and the last states, from decays (D, N) or (B, T, D, N) and what is added, (B, T, D, N)."""
    h = linear_recurrence(decays.flatten(-2), added.flatten(2), state.flatten(1), backend=backend).view(added.shape)
    return (h * _to_states(C)).sum(-1), h[:, -1].clone()  # a view would keep all of h


def _to_states(x: Tensor) -> Tensor:
    """B or C beside states (B, T, D, N): (B, T, 1, N), or (D, N)."""
    return x[:, :, None] if x.ndim == 3 else x


class _Selective(torch.autograd.Function):
    """Joins the compiled passes. Only what came in is kept."""

    @staticmethod
    def forward(ctx: Any, *given: Any) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(*given[:-1])
        ctx.signed = given[-1]
        y, last = _kernels().forward(*given)
        return y, last

    @staticmethod
    def backward(ctx: Any, g: Tensor, g_last: Tensor) -> tuple[Tensor | None, ...]:
        given = ctx.saved_tensors
        if not torch.is_grad_enabled():
            return *_kernels().backward(g, g_last, *given, ctx.signed), None
        # The gradients may be differentiated, and the compiled pass leaves no graph. Those of views: where one input is
        # made of another, as the state of a piece is of A, a gradient of the inputs would walk that way, too.
        x, delta, A, B, C, state = given = tuple(part.view_as(part) for part in given)
        decays = (delta[..., None] * A).exp()  # and x is delta u
        decays = 2 * decays - 1 if ctx.signed else decays
        outcomes = _written_out(decays, x[..., None] * _to_states(B), C, state, "auto")
        needed = [part for part in given if part.requires_grad]
        found = iter(torch.autograd.grad(outcomes, needed, (g, g_last), create_graph=True, materialize_grads=True))
        return *(next(found) if part.requires_grad else None for part in given), None


def _kernels() -> Any:
    """The module with the compiled passes; imported only when it is used."""
    return importlib.import_module(".numba_selective", __package__)


def _compiled(backend: str, u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor) -> bool:
    """Whether one compiled pass can do it, and is asked for: "auto" looks at the numbers."""
    if traced() or u.device.type != "cpu" or B.ndim != C.ndim or problem("numba") is not None:
        return False
    if backend != "auto":
        return backend == "numba"
    ends = [[float(end) for end in x.detach().aminmax()] for x in (delta, A, u, B, C, state)]
    return ends[0][0] >= 0 >= ends[1][1] and all(math.isfinite(end) for pair in ends for end in pair)


def _check(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, state: Tensor | None) -> None:
    batch, steps, width = expect_floats(u, "B T D", "u").shape
    of_b, of_c = ((batch, steps, "N") if getattr(x, "ndim", 3) == 3 else (width, "N") for x in (B, C))
    of_delta = u.shape if getattr(delta, "ndim", 3) == 3 else (width,)
    expect_like(u, A=(A, (width, "N")), B=(B, of_b), C=(C, of_c), delta=(delta, of_delta))
    expect_like(u, optional=True, state=(state, (batch, *A.shape)))
