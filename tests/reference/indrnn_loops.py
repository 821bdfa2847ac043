"""The recurrence of the IndRNN written a second time, time-major."""

import torch


def recur(x, u, h):
    """The states (T, B, N) of h_t = relu(x_t + u h_{t-1}) for x (T, B, N)."""
    states = []
    for t in range(len(x)):
        h = (x[t] + u * h).clamp(min=0)
        states.append(h)
    return torch.stack(states)
