"""RWKV-4's mean written a second time, as the sums that it is made of."""

import torch


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
