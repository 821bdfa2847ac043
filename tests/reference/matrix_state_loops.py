"""Memories of matrix form written a second time, one head and one step after the other."""

import torch


def heads(run, *tensors):
    """Every head of every sample by itself, of tensors (B, H, T, ...) or None; both results are stacked."""
    found = [
        [run(*(None if x is None else x[b, h] for x in tensors)) for h in range(tensors[0].shape[1])]
        for b in range(len(tensors[0]))
    ]
    return tuple(torch.stack([torch.stack([head[i] for head in row]) for row in found]) for i in range(2))


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
