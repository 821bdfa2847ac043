"""The recurrence of a matrix state by matrix products: chunks of C steps, of which only the starts are recurrent.

Let S be the state that a chunk starts from, and D_ij what decay leaves at step i of what was written at step j <= i;
D_i0 of what was there before the chunk. A chunk whose steps write w_1 .. w_C at k_1 .. k_C ends with, and gives out,

    S' = D_C0 S + sum over j of D_Cj k_j w_j^T,    o_i = D_i0 S^T q_i + sum over j <= i of D_ij (k_j . q_i) w_j

Without beta w_j is v_j. With beta it is beta_j times what is new in v_j, and so depends on S and on all w before it:

    w_i = beta_i (v_i - D_i0 S^T k_i - sum over j < i of D_ij (k_j . k_i) w_j)

This is a triangular system. Solved for two right-hand sides, of all chunks at once, it leaves W = X - Y S: only that,
and S', is done chunk after chunk. It is the WY form of a product of Householder matrices (Bischof and Van Loan 1987),
which S. Yang et al. (2024, arXiv 2406.06484) brought to the delta rule.

Every D is a product of decays of at most 1, none is a quotient or a difference of logarithms: nothing overflows, and a
decay to nothing is as exact as any other.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

PIECE = 1024  # so many steps are in work at a time; without gradients, a longer sequence takes no more memory for it


def forward(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor | None, beta: Tensor | None, state: Tensor, chunk: int | None
) -> tuple[Tensor, Tensor]:
    """o and the last state of :func:`rtx_lib.kernels.matrix_state.matrix_recurrence`, for tensors of its shapes.

    All finite but for a log_decay of -inf, which is at most 0; ``beta |k|^2`` from 0 to 2.
    """
    heads, rows = q.shape[:2], log_decay is not None and log_decay.ndim == 4
    q, k, v, state = (x.flatten(0, 1) for x in (q, k, v, state))  # (N, T, K), .., (N, K, V)
    decay = None if log_decay is None else log_decay.exp().reshape(*q.shape[:2], -1)  # (N, T, 1 or K)
    twice = False
    if beta is not None:
        beta = beta.reshape(*q.shape[:2], 1)
        v = beta * v
        if rows and decay is not None:  # two steps for one: erase, then fade and write. Below, decay comes first
            twice = True
            q, v, beta = (_in_turn(*pair) for pair in ((0 * q, q), (0 * v, v), (beta, 0 * beta)))
            k, decay = _in_turn(k, k), _in_turn(torch.ones_like(decay), decay)
    chunk = min((16 if rows or beta is not None else 32) if chunk is None else chunk, int(q.shape[1]))
    if decay is not None:
        chunk = 2 ** (chunk - 1).bit_length()
    size = max(1, PIECE // chunk) * chunk
    outputs = []
    for start in range(0, q.shape[1], size):
        of_q, of_k, of_v = (x[:, start : start + size] for x in (q, k, v))
        of_decay, of_beta = (None if x is None else x[:, start : start + size] for x in (decay, beta))
        o, state = _piece(of_q, of_k, of_v, of_decay, of_beta, state, chunk)
        outputs.append(o[:, 1::2] if twice else o)
    return torch.cat(outputs, 1).unflatten(0, heads), state.unflatten(0, heads)


def _piece(
    q: Tensor, k: Tensor, v: Tensor, decay: Tensor | None, beta: Tensor | None, state: Tensor, chunk: int
) -> tuple[Tensor, Tensor]:
    """o (N, T, V) and the last state for q, k (N, T, K), v (N, T, V), of which beta (N, T, 1) is already a factor.

    decay is (N, T, 1 or K). All these steps are in work at once.
    """
    count, steps = q.shape[:2]
    q, k, v = (_chunks(x, chunk) for x in (q, k, v))  # (N n, C, K): all chunks are one axis
    asked, kept = [q] if beta is None else [q, k], None
    if decay is None:
        (scores, *overlaps), read, held, write = [(x @ k.mT).tril() for x in asked], q, k, k
    else:
        decay = _chunks(decay, chunk, 1.0)
        (scores, *overlaps), since, until = decayed_scores(asked, k, decay)
        read, held, write = q * since, k * since, k * until
        kept = _one_by_one(since[:, -1, :, None], count)  # D_C0
    if beta is None:
        x, y = _one_by_one(v, count), None
    else:
        rates = _chunks(beta, chunk)
        sides = torch.cat([v, rates * held], -1)  # the diagonal is taken as 1, and only what is below it is read
        solved = torch.linalg.solve_triangular(rates * overlaps[0], sides, upper=False, unitriangular=True)
        x, y = (_one_by_one(side, count) for side in solved.split([v.shape[-1], k.shape[-1]], -1))

    starts, writes = [], []
    for i, to in enumerate(_one_by_one(write, count)):
        starts.append(state)
        w = x[i] if y is None else torch.baddbmm(x[i], y[i], state, alpha=-1)
        writes.append(w)
        state = torch.baddbmm(state if kept is None else kept[i] * state, to.mT, w)
    written = v if beta is None else torch.stack(writes, 1).flatten(0, 1)
    o = torch.baddbmm(scores @ written, read, torch.stack(starts, 1).flatten(0, 1))
    return o.view(count, -1, v.shape[-1])[:, :steps], state


def _in_turn(first: Tensor, second: Tensor) -> Tensor:
    """Steps (N, 2 T, ...) that are taken from one and the other (N, T, ...) by turns."""
    return torch.stack([first, second], 2).flatten(1, 2)


def _chunks(x: Tensor, chunk: int, filling: float = 0.0) -> Tensor:
    """(N n, C, ...) of (N, T, ...): the last one is filled with steps that write nothing and keep all."""
    return F.pad(x, (0, 0, 0, -x.shape[1] % chunk), value=filling).reshape(-1, chunk, x.shape[-1])


def _one_by_one(x: Tensor, count: int) -> tuple[Tensor, ...]:
    """The chunks (N n, ...) in their order, each (N, ...)."""
    return x.view(count, -1, *x.shape[1:]).unbind(1)


def decayed_scores(queries: list[Tensor], k: Tensor, decay: Tensor) -> tuple[list[Tensor], Tensor, Tensor]:
    """Of each q sum over the features of q_i D_ij k_j (N, C, C), 0 above the diagonal; D_i0 and D_Ci, both like decay.

    q and k are (N, C, K), decay (N, C, K), or (N, C, 1) if it is one for all features; C is a power of 2.
    """
    if decay.shape[-1] == 1:
        one = torch.ones_like(decay)
        between, since, until = _by_halves(one, one, decay)
        return [q @ k.mT * between for q in queries], since, until
    found = [_by_halves(q, k, decay) for q in queries]
    return [scores for scores, _, _ in found], *found[0][1:]


def _by_halves(q: Tensor, k: Tensor, decay: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same for q, k and decay of one shape. Stretches of 1, 2, 4, .. steps are joined.

    What an earlier one wrote and a later one reads has decayed to where they meet, and from there on. Of these two
    factors of at most 1 one goes to k and one to q, and the rest is a product of matrices. With exp of sums of
    logarithms from the start of the chunk, k would have to be divided, and overflow where decay is strong.
    """
    scores = (q * k).sum(-1)[..., None, None]  # (N, C, 1, 1): C stretches of one step
    q, k, since, until = (x[..., None, :] for x in (q, k, decay, torch.ones_like(decay)))  # (N, C, 1, K)
    while (size := scores.shape[-1]) < decay.shape[-2]:
        pairs = (x.unflatten(1, (-1, 2)).unbind(2) for x in (scores, q, k, since, until))
        (earlier, later), (_, reads), (keys, _), (since_0, since_1), (until_0, until_1) = pairs
        across = (reads * since_1) @ (keys * until_0).mT
        scores = torch.cat([F.pad(earlier, (0, size)), torch.cat([across, later], -1)], -2)
        since = torch.cat([since_0, since_0[..., -1:, :] * since_1], -2)
        until = torch.cat([until_0 * since_1[..., -1:, :], until_1], -2)
        q, k = (x.reshape(*since.shape[:-1], -1) for x in (q, k))
    return scores.squeeze(1), since.squeeze(1), until.squeeze(1)
