"""RG-LRU written a second time, one step and one head at a time and without logarithms, and files made from it."""

import torch
from reference.plain_loops import Parameters, sigmoid, write


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


def make_rg_lru(path, *, seed=0, batch=2, length=6, heads=2, size=3, state=True, packed=True, gradients=True):
    """Write a file of the family."""
    p, width = Parameters(seed=seed), heads * size
    p.of("a_param", width)
    for name in ("input_gate", "a_gate"):
        p.of(f"{name}.w", heads, size, size), p.of(f"{name}.b", heads, size)
    x, h0 = p.random(batch, length, width), p.random(batch, width)
    position = torch.arange(length).expand(batch, length)
    out = rg_lru(p, x, 0 * h0, position == 0)
    given, outcomes = {"x": x}, {"out": out, "h_last": out[:, -1]}
    if state:
        given["h0"] = h0
        outcomes["out_state"] = rg_lru(p, x, h0, position < 0)
    if packed:
        ends = torch.arange(batch)[:, None] % length  # each row has its document's boundary elsewhere
        given["segment_pos_packed"] = torch.where(position > ends, position - ends - 1, position)
        outcomes["out_packed"] = rg_lru(p, x, 0 * h0, given["segment_pos_packed"] == 0)
    grad_out, found = p.gradients(out, x=x) if gradients else ({}, {})
    return write(path, given | grad_out, p, outcomes | found, num_heads=heads)
