"""The recurrence of a state that is a matrix: one kernel for a whole family.

S is a memory of K rows: k_t says where v_t is written, q_t where it is read, o_t = S_t^T q_t. What differs is what is
left of the memory in a step:

    nothing is lost             S_t = S_{t-1} + k_t v_t^T                              linear attention
    everything fades            S_t = diag(a_t) S_{t-1} + k_t v_t^T                    Mamba-2, retention, GLA
    what stood there is erased  S_t = (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t v_t^T    the delta rule
    both                        S_t = a_t (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t v_t^T    gated delta rule
"""

import contextlib
import functools
import math

import torch
from torch import Tensor

from rtx_lib.shapes import Shape, at_hand, expect_each, expect_floats, expect_like

from . import matrix_chunks

BACKENDS = ("auto", "loop", "chunks")
HALVES = (torch.float16, torch.bfloat16)
FEW = 8  # below so many steps the loop is the faster


def matrix_recurrence_loop(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor | None, beta: Tensor | None, state: Tensor
) -> tuple[Tensor, Tensor]:
    """The recurrence as it is written: what every backend must equal."""
    steps = q.shape[2]
    decays = steps * (None,) if log_decay is None else log_decay.exp().unbind(2)
    rates = steps * (None,) if beta is None else beta.unbind(2)
    s, outputs = state, []
    for q_t, k_t, v_t, decay_t, beta_t in zip(q.unbind(2), k.unbind(2), v.unbind(2), decays, rates, strict=True):
        k_t, written = k_t[..., None], v_t[..., None, :]  # (B, H, K, 1) and (B, H, 1, V)
        if beta_t is not None:
            stands = k_t.mT @ s  # what k_t finds there, (B, H, 1, V)
            k_t = beta_t[..., None, None] * k_t
            s = s - k_t * stands
        if decay_t is not None:
            s = (decay_t if decay_t.ndim == 3 else decay_t[..., None])[..., None] * s
        s = s + k_t * written
        outputs.append((q_t[..., None, :] @ s).squeeze(-2))
    return torch.stack(outputs, 2), s


def matrix_recurrence(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    log_decay: Tensor | None = None,
    beta: Tensor | None = None,
    state: Tensor | None = None,
    backend: str = "auto",
    chunk: int | None = None,
) -> tuple[Tensor, Tensor]:
    """What a memory of matrix form gives out at every step, and the memory after the last one:

        S_t = diag(exp(log_decay_t)) (I - beta_t k_t k_t^T) S_{t-1} + beta_t k_t v_t^T,    o_t = S_t^T q_t

    Without ``beta`` nothing is erased, S_t = diag(exp(log_decay_t)) S_{t-1} + k_t v_t^T; without ``log_decay`` nothing
    fades. With both, what stands at k_t is erased first and the rest fades then; with one decay for all rows the order
    is of no account. Nothing is scaled or normalised.

    Chunks are for finite numbers, a log_decay of at most 0 (-inf, which forgets all, is allowed), and ``beta |k|^2``
    from 0 to 2, as with keys of unit length and beta up to 2: then no step makes the memory longer, but for what it
    writes. There they give what ``"loop"`` gives: in float64 the largest difference over the largest value stays below
    1e-12 for o and S and 1e-10 for gradients. Beyond, a memory grows with every step, as keys of another length make it
    do; once it overflows, chunks spoil earlier steps too. On a CPU ``"auto"`` looks at the numbers, and takes the loop
    where they are others. On a GPU, where a look would have to wait, it does not look.
    float16 and bfloat16 are computed in float32, and o is returned in their own type. S is in float32 then, before and
    after: in half precision a sum soon stops growing.

    Parameters
    ----------
    q, k
        (B, H, T, K), where each step reads and writes; every size at least 1.
    v
        (B, H, T, V), what it writes.
    log_decay
        (B, H, T), one for all of S, or (B, H, T, K), one for each of its rows.
    beta
        (B, H, T), how much of what stands at k_t is replaced: 0 nothing, 1 all (of a key of unit length), 2 a mirror.
    state
        (B, H, K, V), S before the first step; zeros if None.
    backend
        ``"loop"``: one step after the other, gradients by autograd; the reference. ``"chunks"``: matrix products within
        chunks (:mod:`rtx_lib.kernels.matrix_chunks`). ``"auto"``: see :func:`explain_matrix_backend`.
    chunk
        Steps in a chunk; if None 32, but 16 with beta or a decay for each row, which is the fastest on a CPU for K = V
        = 32. With a log_decay it is rounded up to a power of 2.

    Returns
    -------
    o, state
        (B, H, T, V), and (B, H, K, V) after the last step.
    """
    _check(q, k, v, log_decay, beta, state)
    dtype = q.dtype
    expect_each(backend=(backend, BACKENDS), chunk=1 if chunk is None else chunk)
    backend = _choose(q, k, v, log_decay, beta, state)[0] if backend == "auto" else backend
    if q.dtype in HALVES:
        q, k, v = (x.float() for x in (q, k, v))
        log_decay, beta = (None if x is None else x.float() for x in (log_decay, beta))
    start = q.new_zeros(*q.shape[:2], q.shape[3], v.shape[3]) if state is None else state
    run = matrix_recurrence_loop if backend == "loop" else functools.partial(matrix_chunks.forward, chunk=chunk)
    device = q.device.type  # under autocast the products would be of half the precision, and of another type
    with torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else contextlib.nullcontext():
        o, last = run(q, k, v, log_decay, beta, start)
    return o.to(dtype), last


def explain_matrix_backend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    log_decay: Tensor | None = None,
    beta: Tensor | None = None,
    state: Tensor | None = None,
) -> str:
    """One sentence: what ``backend="auto"`` takes for these tensors, and why."""
    _check(q, k, v, log_decay, beta, state)
    return ": ".join(_choose(q, k, v, log_decay, beta, state))


def _choose(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor | None, beta: Tensor | None, state: Tensor | None
) -> tuple[str, str]:
    """The backend that "auto" takes for these tensors, and the reason."""
    if q.shape[2] < FEW:
        return "loop", f"so few steps ({q.shape[2]}) are not worth a chunk"
    if at_hand(q):
        wild = _wild(q, k, v, log_decay, beta, state)
        if wild is not None:
            return "loop", wild
    return "chunks", "matrix products within chunks, and a state is handed on only between them"


def _wild(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor | None, beta: Tensor | None, state: Tensor | None
) -> str | None:
    """What is beyond the bounds of the chunks; None if nothing is."""
    for name, x in {"q": q, "k": k, "v": v, "state": state}.items():
        if x is not None and not all(math.isfinite(end) for end in x.detach().aminmax()):
            return f"chunks are for finite numbers, and {name} holds others"
    if log_decay is not None and not log_decay.detach().max() <= 0:
        return "chunks are for a log_decay of at most 0, and it holds others"
    if beta is not None:
        low, high = (beta.detach() * k.detach().square().sum(-1)).aminmax()
        if not (low >= 0 and high <= 2.001):  # 2, and what rounding makes of it
            return "chunks are for beta |k|^2 from 0 to 2, where no step makes the memory grow, and it is beyond"
    return None


def _check(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor | None, beta: Tensor | None, state: Tensor | None
) -> None:
    *steps, size = expect_floats(q, "B H T K", "q").shape
    decays = q.shape if getattr(log_decay, "ndim", 3) == 4 else steps
    expect_like(q, k=(k, q.shape), v=(v, (*steps, "V")))
    memory: Shape = (*steps[:2], size, v.shape[3], torch.float32)
    expect_like(q, optional=True, log_decay=(log_decay, decays), beta=(beta, steps), state=(state, memory))
