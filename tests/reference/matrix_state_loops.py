"""Memories of matrix form written a second time, one head and one step after the other, and files made from them."""

import math

import torch
from reference.plain_loops import Parameters, sigmoid, write


def memory(q, k, v, beta=None, log_alpha=None, s=None):
    """o (T, V) and the last S (K, V) of one head; what is erased is what stands there after decay."""
    s = torch.zeros(k.shape[1], v.shape[1], dtype=k.dtype) if s is None else s
    outputs = []
    for t in range(len(q)):
        if log_alpha is not None:
            s = torch.diag(log_alpha[t].exp().expand(len(s))) @ s
        new = v[t] if beta is None else beta[t] * (v[t] - s.T @ k[t])
        s = s + torch.outer(k[t], new)
        outputs.append(s.T @ q[t])
    return torch.stack(outputs), s


def heads(run, *tensors):
    """Every head of every sample by itself, of tensors (B, H, T, ...) or None; both results are stacked."""
    found = [
        [run(*(None if x is None else x[b, h] for x in tensors)) for h in range(tensors[0].shape[1])]
        for b in range(len(tensors[0]))
    ]
    return tuple(torch.stack([torch.stack([head[i] for head in row]) for row in found]) for i in range(2))


def make_memory(
    path, *, seed=0, batch=2, heads_count=2, length=7, key=3, value=4, chunk=3, state=True, gradients=True, most=1.0
):
    """Write a file of the family that its name says; ``most`` is the largest beta."""
    p, kind = Parameters(seed=seed), path.stem
    heads_first = kind.startswith("delta_rule")
    first = (batch, heads_count, length)
    given = {"q": p.random(*first, key), "k": p.random(*first, key), "v": p.random(*first, value)}
    if "delta" in kind:
        given["k"] = given["k"] / given["k"].square().sum(-1, keepdim=True).sqrt()
        given["beta"] = most * sigmoid(p.random(*first))
    if not heads_first:
        given["log_alpha"] = -p.random(*first, *([key] if "gla" in kind else [])).abs()
        given = {name: x.transpose(1, 2) for name, x in given.items()}
    given = {name: x.detach().clone().requires_grad_() for name, x in given.items()}
    s0 = p.random(batch, heads_count, key, value)

    def run(s):
        inner = {name: x if heads_first else x.transpose(1, 2) for name, x in given.items()}
        q = inner["q"] / math.sqrt(key)
        o, last = heads(memory, q, inner["k"], inner["v"], inner.get("beta"), inner.get("log_alpha"), s)
        return o if heads_first else o.transpose(1, 2), last

    outcomes = {}
    outcomes["out"], outcomes["S_last"] = run(None)
    if state:
        outcomes["out_state"], outcomes["S_last_state"] = run(s0)
    if "delta" in kind:
        outcomes["out_chunkwise"] = outcomes["out"]
    grad_out, found = p.gradients(outcomes["out"], **given) if gradients else ({}, {})
    start = {"S0": s0} if state else {}
    return write(path, given | start | grad_out, p, outcomes | found, chunk_size=chunk)


def make_ssd(path, *, seed=0, batch=2, heads_count=2, length=7, states=3, size=4, chunk=3, state=True, gradients=True):
    """Write a file of the listing of Mamba-2's paper, whose state is ours transposed."""
    p, first = Parameters(seed=seed), (batch, length, heads_count)
    given = {"X": p.random(*first, size), "A": (-p.random(*first).abs()).detach().requires_grad_()}
    given |= {"B": p.random(*first, states), "C": p.random(*first, states)}
    if state:
        given["S0"] = p.random(batch, 1, heads_count, size, states)

    def run(s):
        x, a, b, c = (given[name].transpose(1, 2) for name in "XABC")
        o, last = heads(memory, c, b, x, None, a, s)
        return o.transpose(1, 2), last.transpose(2, 3)

    outcomes = {}
    outcomes["out"], outcomes["final_state"] = run(given["S0"][:, 0].transpose(2, 3) if state else None)
    outcomes["out_nostate"], outcomes["final_nostate"] = run(None)
    grad_out, found = p.gradients(outcomes["out"], **given) if gradients else ({}, {})
    return write(path, given | grad_out, p, outcomes | found, chunk_size=chunk)


def phi(x):
    return torch.where(x > 0, x + 1, x.exp())


def averaged(q, k, v, eps):
    """o and o over all keys, both (T, V) in one tensor (T, 2, V), and [S, z] (K, V + 1) of one head."""
    rows, q, k = [], phi(q), phi(k)
    for t in range(len(q)):
        weights = torch.stack([q[t] @ k[j] for j in range(len(k))])
        past = weights[: t + 1]
        rows.append(torch.stack([past @ v[: t + 1] / (past.sum() + eps), weights @ v / (weights.sum() + eps)]))
    sums = sum(torch.outer(k[j], torch.cat([v[j], torch.ones(1, dtype=v.dtype)])) for j in range(len(k)))
    return torch.stack(rows), sums


def make_linear_attention(path, *, seed=0, batch=2, heads_count=2, length=6, key=3, value=4, eps=1e-6, gradients=True):
    """Write a file of the family."""
    p, first = Parameters(seed=seed), (batch, length, heads_count)
    given = {"q": p.random(*first, key), "k": p.random(*first, key), "v": p.random(*first, value)}
    both, sums = heads(lambda *parts: averaged(*parts, eps), *(x.transpose(1, 2) for x in given.values()))
    outcomes = {"state_S": sums[..., :-1], "state_z": sums[..., -1]}
    for i, name in enumerate(("out", "out_noncausal")):
        outcomes[name] = both[:, :, :, i].transpose(1, 2)
    grad_out, found = p.gradients(outcomes["out"], **given) if gradients else ({}, {})
    return write(path, given | grad_out, p, outcomes | found, eps=eps)
