"""RG-LRU written a second time, one step and one head at a time and without logarithms."""

import torch
from reference.plain_loops import sigmoid


def gate(w, b, x):
    """The sigmoid of a map in which head j sees its own features alone, of x (B, D)."""
    size = w.shape[1]
    return torch.cat([sigmoid(x[:, j * size : (j + 1) * size] @ w[j] + b[j]) for j in range(len(w))], 1)


def rg_lru(p, x, h, first):
    """h (B, T, D) of x (B, T, D) from h (B, D); ``first`` (B, T) is 1 where a document begins."""
    rows, base = [], sigmoid(-p["a_param"])
    for t in range(x.shape[1]):
        a = base ** (8 * gate(p["a_gate.w"], p["a_gate.b"], x[:, t]))
        new = gate(p["input_gate.w"], p["input_gate.b"], x[:, t]) * x[:, t]
        begins = first[:, t, None].to(x.dtype)
        h = (1 - begins) * (a * h + (1 - a * a).sqrt() * new) + begins * new
        rows.append(h)
    return torch.stack(rows, 1)
