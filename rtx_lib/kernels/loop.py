"""The recurrence as it is written: one step after the other, gradients by autograd."""

import torch
from torch import Tensor


def loop_recurrence(z: Tensor, u: Tensor, h0: Tensor) -> Tensor:
    """h_t = relu(z_t + u h_{t-1}) for z (B, T, N), u (N,), h0 (B, N); returns h (B, T, N). The reference."""
    h, states = h0, []
    for z_t in z.unbind(1):  # one backward node; z[:, t] would make T of them, each as large as z
        h = torch.relu(z_t + u * h)
        states.append(h)
    return torch.stack(states, 1)
