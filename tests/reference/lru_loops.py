"""The LRU written a second time, one step at a time and without complex numbers."""

import torch


def lru(p, x, state=None):
    """y (B, T, D) and the last real and imaginary parts, of x (B, T, D) and a pair of them (B, N)."""
    radius, angle = torch.exp(-torch.exp(p["nu_log"])), torch.exp(p["theta_log"])
    along, across = radius * torch.cos(angle), radius * torch.sin(angle)
    scale = torch.exp(p["gamma_log"])
    re, im = (x.new_zeros(len(x), len(radius)),) * 2 if state is None else state
    rows = []
    for t in range(x.shape[1]):
        turned = along * re - across * im, along * im + across * re
        re, im = turned[0] + scale * (x[:, t] @ p["B_re"].T), turned[1] + scale * (x[:, t] @ p["B_im"].T)
        rows.append(re @ p["C_re"].T - im @ p["C_im"].T + p["D"] * x[:, t])
    return torch.stack(rows, 1), (re, im)
