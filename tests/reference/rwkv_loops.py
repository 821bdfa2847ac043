"""RWKV-4 written a second time, as the sums that its mean is made of."""

import torch
from reference.plain_loops import sigmoid


def mean(k, v, w, u):
    """The fading mean (T, D) of k, v (T, D): every weight on its own, none stabilised."""
    rows = []
    for t in range(len(k)):
        above, below = (u + k[t]).exp() * v[t], (u + k[t]).exp()
        for i in range(t):
            weight = (k[i] - (t - 1 - i) * w).exp()
            above, below = above + weight * v[i], below + weight
        rows.append(above / below)
    return torch.stack(rows)


def sums(k, v, w):
    """aa, bb and pp (D,) after the last step, one step at a time."""
    a, b, p = torch.zeros_like(w), torch.zeros_like(w), torch.full_like(w, -1e38)
    for t in range(len(k)):
        top = torch.maximum(p - w, k[t])
        old, new = (p - w - top).exp(), (k[t] - top).exp()
        a, b, p = old * a + new * v[t], old * b + new, top
    return a, b, p


def mixed(x, mu):
    """mu x_t + (1 - mu) x_{t-1}, with 0 before the first."""
    return torch.stack([mu * x[t] + (1 - mu) * (x[t - 1] if t else torch.zeros_like(x[0])) for t in range(len(x))])


def time_mixing(p, x):
    """The output (T, D) of x (T, D), and aa, bb, pp."""
    k, v, r = (mixed(x, p[f"time_mix_{name[0]}"]) @ p[name].T for name in ("key", "value", "receptance"))
    w = p["time_decay"].exp()
    return (sigmoid(r) * mean(k, v, w, p["time_first"])) @ p["output"].T, sums(k, v, w)


def channel_mixing(p, x):
    """The output (T, D) of x (T, D)."""
    k, r = (mixed(x, p[f"ffn_time_mix_{name[0]}"]) @ p[f"ffn_{name}"].T for name in ("key", "receptance"))
    return sigmoid(r) * (k.clamp(min=0) ** 2 @ p["ffn_value"].T)
