"""The recurrence of a matrix state by matrix products: chunks of C steps, in which only their starts are recurrent.

What a chunk does to the state S that it starts from is one affine map, and so is what it reads:

    S' = M S + N,    O = R S + Z,    O (C, V), M (K, K), R (C, K)

All four are matrix products over the chunk's q, k and v, made for many chunks at once. Then a loop over T / C chunks
hands the states on. Let D_ij be what decay leaves at step i of what was written at step j <= i, D_i0 of what was there
before the chunk, and D_Ci at its end. Without beta,

    Z = A V,  A_ij = D_ij q_i . k_j  (i >= j);    R_i = D_i0 q_i;    N = sum over i of D_Ci k_i v_i^T;    M = D_C0

With beta, step i writes not v_i but w_i = beta_i (v_i - what S holds at k_i), which depends on all w before it:

    w_i = beta_i (v_i - D_i0 S^T k_i - sum over j < i of D_ij (k_i . k_j) w_j)

This is a triangular system, solved once for all chunks with two right-hand sides: W = X - Y S. It is the WY form of a
product of Householder matrices (Bischof and Van Loan 1987), which S. Yang et al. (2024, arXiv 2406.06484) brought here.

Every D is the exponential of a sum of logarithms that are at most 0, and no sum is made by a difference: nothing
overflows, and a decay to nothing (log 0 = -inf) is as exact as any other.
"""

import functools

import torch
import torch.nn.functional as F
from torch import Tensor

PIECE = 1024  # so many steps are in work at a time; without gradients, no more memory is taken for a longer sequence


def forward(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor | None, beta: Tensor | None, state: Tensor, chunk: int
) -> tuple[Tensor, Tensor]:
    """o (N, T, V) and the last state (N, K, V).

    q, k are (N, T, K), v (N, T, V), log_decay (N, T, K) or (N, T, 1), beta (N, T, 1), state (N, K, V); all finite but
    for a log_decay of -inf, and ``beta |k|^2`` from 0 to 2. With beta, log_decay is (N, T, 1). With a log_decay for
    each feature, the chunk is a power of 2.
    """
    given = [x for x in (q, k, v, log_decay, beta) if x is not None]
    outputs = []
    for piece in zip(*(x.split(max(1, PIECE // chunk) * chunk, 1) for x in given), strict=True):
        parts = iter(piece)
        inputs = [None if x is None else next(parts) for x in (q, k, v, log_decay, beta)]
        o, state = _piece(*inputs, state, chunk)  # type: ignore[arg-type]
        outputs.append(o)
    return torch.cat(outputs, 1), state


def _piece(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor | None, beta: Tensor | None, state: Tensor, chunk: int
) -> tuple[Tensor, Tensor]:
    """The same for a number of steps that are all in work at once."""
    steps = q.shape[1]
    fill = -steps % chunk  # steps after the end, which write nothing and keep all
    q, k, v = (_chunks(x, fill, chunk) for x in (q, k, v))  # (N, n, C, K)
    since = until = total = None
    if log_decay is not None:
        log_decay = _chunks(log_decay, fill, chunk)
        since, until = log_decay.cumsum(2).exp(), _after(log_decay).exp()  # D_i0 and D_Ci
        total = since[:, :, -1, :, None]  # D_C0, (N, n, K or 1, 1)
    scores = functools.partial(_scores, log_decay=log_decay, decays=_decays(log_decay))
    into, read, write = scores(q, k), _times(q, since), _times(k, until).mT
    if beta is None:
        handed = None
        offered, added = into @ v, write @ v
    else:
        beta = _chunks(beta, fill, chunk)
        system, sides = beta * scores(k, k), torch.cat([beta * v, beta * _times(k, since)], -1)
        solved = torch.linalg.solve_triangular(system, sides, upper=False, unitriangular=True)
        x, y = solved.split([v.shape[-1], k.shape[-1]], -1)
        offered, added = into @ x, write @ x
        read, handed = read - into @ y, -(write @ y)
    starts = []
    for i in range(q.shape[1]):
        starts.append(state)
        kept = state if total is None else total[:, i] * state
        state = added[:, i] + kept if handed is None else torch.baddbmm(added[:, i] + kept, handed[:, i], state)
    o = offered + read @ torch.stack(starts, 1)
    return o.flatten(1, 2)[:, :steps], state


def _chunks(x: Tensor, fill: int, chunk: int) -> Tensor:
    """(N, n, C, ...) of (N, T, ...) with zeros behind."""
    return F.pad(x, (0, 0, 0, fill)).unflatten(1, (-1, chunk))


def _times(x: Tensor, decay: Tensor | None) -> Tensor:
    return x if decay is None else x * decay


def _after(log_decay: Tensor) -> Tensor:
    """At each step of a chunk the sum over the steps after it."""
    return F.pad(log_decay[..., 1:, :], (0, 0, 0, 1)).flip(-2).cumsum(-2).flip(-2)


def _decays(log_decay: Tensor | None) -> Tensor | None:
    """D_ij (N, n, C, C) if one decay is for all features, 0 above the diagonal."""
    if log_decay is None or log_decay.shape[-1] > 1:
        return None
    steps = log_decay.transpose(-1, -2).expand(*log_decay.shape[:-1], log_decay.shape[-2])  # [j, i]: of step i
    return steps.triu(1).cumsum(-1).exp().triu().mT


def _scores(q: Tensor, k: Tensor, log_decay: Tensor | None, decays: Tensor | None) -> Tensor:
    """sum over the features of q_i D_ij k_j, (N, n, C, C), 0 above the diagonal."""
    if log_decay is None:
        return (q @ k.mT).tril()
    return _by_halves(q, k, log_decay) if decays is None else q @ k.mT * decays


def _by_halves(q: Tensor, k: Tensor, log_decay: Tensor) -> Tensor:
    """The same if each feature has its own decay, of which one product of matrices knows nothing.

    What the first half of a stretch wrote and the second half reads has decayed to the middle and from there on: two
    factors of at most 1, one goes to k and one to q. The halves themselves are done in the same way before.
    """
    scores = (q * k).sum(-1)[..., None, None]  # (N, n, C, 1, 1): C stretches of one step
    while (size := scores.shape[-1]) < q.shape[-2]:
        first_k, later_q = (x.unflatten(-2, (-1, 2, size))[..., half, :, :] for half, x in enumerate((k, q)))
        first, later = log_decay.unflatten(-2, (-1, 2, size)).unbind(-3)
        across = (later_q * later.cumsum(-2).exp()) @ (first_k * _after(first).exp()).mT
        upper, lower = scores.unflatten(-3, (-1, 2)).unbind(-3)
        scores = torch.cat([F.pad(upper, (0, size)), torch.cat([across, lower], -1)], -2)
    return scores.squeeze(-3)
