"""The two cells of xLSTM, as their equations stand and as numbers allow; the layers are :mod:`rtx_lib.models.xlstm`'s.

M. Beck et al., *xLSTM: Extended Long Short-Term Memory*, NeurIPS 2024 (arXiv 2405.04517). An exponential gate
overflows, its share in a mean does not. So one divides c, n and C by e^m, where m_t is the larger of the two exponents
that meet; the quotients stay as they were, and no output depends on m.

Two consequences are used here. (1) In the sLSTM only r = c / n and L = log n, with m in it, matter. They step by

    L_t = log(f_t e^L_{t-1} + i_t),   p_t = i_t e^-L_t,   r_t = r_{t-1} + p_t (z_t - r_{t-1}),   h_t = o_t r_t

a running mean of the candidates, whose gate p knows how much has been written before. So h stays between -1 and 1. (2)
In the mLSTM m is known without a loop. Let F_t be the sum of log f up to t, and M_t the largest of m_0 and all
log i_s - F_s up to t. Then m_t = F_t + M_t, log f'_t = M_{t-1} - M_t and log i'_t = log i_t - F_t - M_t. The last two
are at most 0, so this is :func:`rtx_lib.kernels.matrix_state.matrix_recurrence` with a scalar decay, in which n is one
more column of C, under values of 1.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.shapes import expect, expect_each, expect_like, expect_state

from .matrix_state import matrix_recurrence

FORMS = ("chunked", "recurrent")
State = tuple[Tensor, ...]


def slstm_loop(a: Tensor, weight: Tensor, state: State) -> tuple[Tensor, State]:
    """Equations 8 to 17 as they stand: h (B, T, H, K) and (h, c, n, m), each (B, H, K).

    a (B, T, H, 4 K) is what the input says to the gates i, f, z, o of each head, ``weight`` (H, 4 K, K) what h says to
    them. With m at 0 and n at 0, a first i far below f leaves 0 / 0: :func:`slstm` does not.
    """
    h, c, n, m = state
    outputs = []
    for a_t in a.unbind(1):
        i, f, z, o = (a_t + torch.einsum("bhk,hgk->bhg", h, weight)).chunk(4, -1)  # the logarithm of i
        f = F.logsigmoid(f)
        before, m = m, torch.maximum(f + m, i)  # eq. 15
        i, f = torch.exp(i - m), torch.exp(f + before - m)  # eq. 16, 17
        c, n = f * c + i * torch.tanh(z), f * n + i  # eq. 8, 9
        h = torch.sigmoid(o) * c / n  # eq. 10
        outputs.append(h)
    return torch.stack(outputs, 1), (h, c, n, m)


def mlstm_loop(
    q: Tensor, k: Tensor, v: Tensor, log_i: Tensor, log_f: Tensor, C: Tensor, m: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Equations 15 to 20 as they stand: what is read of C in every step, C after the last, and every m.

    n is the column of C (B, H, K, V + 1) under values of 1; k is scaled already. What is read has still to be divided
    (eq. 21, :func:`mlstm_output`).
    """
    reads, levels = [], []
    for q_t, k_t, v_t, i_t, f_t in zip(*(x.unbind(2) for x in (q, k, v, log_i, log_f)), strict=True):
        before, m = m, torch.maximum(f_t + m, i_t)  # eq. 15
        i, f = (torch.exp(gate - m).to(v.dtype)[..., None, None] for gate in (i_t, f_t + before))  # eq. 16, 17
        C = f * C + i * k_t[..., None] * v_t[..., None, :]  # eq. 19, 20
        reads.append((q_t[..., None, :] @ C).squeeze(2))
        levels.append(m)
    return torch.stack(reads, 2), C, torch.stack(levels, 2)


def mlstm_output(o: Tensor, m: Tensor, eps: float) -> Tensor:
    """h = C^T q / (max(abs(n . q), e^-m) + eps) of o = [C^T q; n . q] (B, H, T, V + 1) and m (B, H, T) (eq. 21)."""
    wide = torch.promote_types(o.dtype, torch.float32)
    m, o = m[..., None], o.to(wide)
    own = m.clamp(max=0)  # where e^-m is large, both sides of the fraction are multiplied by e^m
    small, bound = own.exp().to(wide), (own - m).exp().to(wide)
    below = torch.maximum(small * o[..., -1:].abs(), bound) + eps * small
    return small * o[..., :-1] / below.clamp(min=torch.finfo(wide).tiny ** 0.5)  # of k = 0 under a large m it is 0/0


def slstm(a: Tensor, weight: Tensor, state: State | None = None) -> tuple[Tensor, State]:
    """The sLSTM cell over a sequence (Beck et al. 2024, eq. 8-17).

    Parameters
    ----------
    a
        (B, T, H, 4 K), what the input says to the gates, W x + b: in each head the blocks i, f, z, o.
    weight
        R (H, 4 K, K), what h says to them.
    state
        (h, c, n, m), each (B, H K), c and n divided by e^m; zeros if None. Where n is 0 nothing has been written, and m
        means nothing.

    Returns
    -------
    h, state
        (B, T, H K), and (h, c, n, m) after the last step. The gradient takes m as given, which is exact for all that
        depends on c and n through c / n and n e^m.
    """
    heads, gates, size = expect(weight, ("H", "4K", "K"), "weight").shape
    expect(weight, ("H", 4 * size, size), "weight")
    batch = expect(a, ("B", "T", heads, gates), "a", like=weight).shape[0]
    shape = (batch, heads * size)
    given = expect_state(state, dict.fromkeys(("h", "c", "n", "m"), shape), a)
    h, c, n, m = (part.to(weight.dtype).view(batch, heads, size) for part in given)
    y, last = _running_mean(a, weight, (h, c, n, m))
    return y.flatten(2), tuple(part.reshape(shape) for part in last)


def _running_mean(a: Tensor, weight: Tensor, state: State) -> tuple[Tensor, State]:
    """What :func:`slstm_loop` gives, by r and L."""
    h, c, n, m = (part.transpose(0, 1) for part in state)  # (H, B, K)
    inputs, recurrent = a.permute(1, 2, 0, 3).contiguous(), weight.mT  # (T, H, B, 4 K): a head is a matrix product
    written = n > 0
    mass = torch.where(written, n, 1)  # so that no gradient is 0/0
    level = torch.where(written, m + mass.log(), -math.inf)  # L = log n, m included
    m, r = torch.where(written, m, -math.inf), c / mass
    states = []
    for a_t in inputs.unbind(0):
        i, f, z, o = torch.baddbmm(a_t, h, recurrent).to(weight.dtype).chunk(4, -1)
        f = F.logsigmoid(f)
        m, kept = torch.maximum(f + m, i).detach(), f + level
        level = m + torch.log(torch.exp(kept - m) + torch.exp(i - m))  # logaddexp's second derivative is NaN at -inf
        r = torch.lerp(r, z.tanh(), torch.sigmoid(i - kept))  # p = i / (f n + i) is a sigmoid
        h = o.sigmoid() * r
        states.append(h)
    n = torch.exp(level - m)
    y = torch.stack(states, 2).permute(1, 2, 0, 3)  # (B, T, H, K)
    return y, tuple(part.transpose(0, 1) for part in (h, r * n, n, m))


def mlstm(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_i: Tensor,
    log_f: Tensor,
    state: State | None = None,
    *,
    form: str = "chunked",
    eps: float = 0.0,
) -> tuple[Tensor, State]:
    """The mLSTM cell over a sequence (Beck et al. 2024, eq. 15-27), in two forms that are one function.

    Parameters
    ----------
    q, k
        (B, H, T, K); k is scaled here.
    v
        (B, H, T, V).
    log_i, log_f
        (B, H, T), the logarithms of the gates, finite: of i the preactivation, of f that or its log-sigmoid.
    state
        (C (B, H, K, V), n (B, H, K), m (B, H)), C and n divided by e^m; zeros if None. Where m is -inf nothing has been
        written. In single precision at least, as is what is computed here.
    form
        ``"recurrent"``: step by step. ``"chunked"``: by the kernel of matrix states, parallel within chunks and
        recurrent from chunk to chunk.
    eps
        Added to the denominator, which has been divided by e^m. With 0 the result does not depend on m.

    Returns
    -------
    h, state
        (B, H, T, V), and (C, n, m) after the last step.
    """
    expect_each(form=(form, FORMS), eps=(eps, "[0, inf]"))
    batch, heads, steps, size = expect(q, "B H T K", "q").shape
    gates, wide = (batch, heads, steps), torch.float32
    expect_like(q, exact=False, k=(k, q.shape), v=(v, (*gates, "V")), log_i=(log_i, gates), log_f=(log_f, gates))
    shapes = {"C": (*gates[:2], size, v.shape[3], wide), "n": (*gates[:2], size, wide), "m": (*gates[:2], wide)}
    c, n, m = expect_state(state, shapes, q)
    dtype, q, k, v = q.dtype, q.to(c.dtype), k.to(c.dtype), v.to(c.dtype)
    memory = torch.cat([c, n[..., None]], 3)  # n is the column under values of 1
    k, v = k / math.sqrt(size), torch.cat([v, torch.ones_like(v[..., :1])], 3)
    precise = torch.float32 if q.device.type == "mps" else torch.float64  # sums over all steps lose small differences
    log_i, log_f, m = log_i.to(precise), log_f.to(precise), m.to(precise)
    if form == "recurrent":
        o, memory, levels = mlstm_loop(q, k, v, log_i, log_f, memory, m)
    else:
        total, first = log_f.cumsum(2), m[..., None]  # F, and m_0
        entries = log_i - total  # what each step writes, as it was before anything faded
        most = torch.maximum(first, entries.cummax(2).values)  # M
        if not eps:
            most = most.detach()  # the result does not depend on it
        levels = total + most
        fade, write = torch.cat([first, most[..., :-1]], 2) - most, torch.exp(entries - most).to(q.dtype)
        o, memory = matrix_recurrence(q, write[..., None] * k, v, log_decay=fade.to(q.dtype), state=memory)
    h = mlstm_output(o, levels, eps).to(dtype)
    return h, (memory[..., :-1].clone(), memory[..., -1].clone(), levels[:, :, -1].to(c.dtype, copy=True))
