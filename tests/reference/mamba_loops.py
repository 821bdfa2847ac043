"""Mamba, Mamba-2, their scan and S4D a second time, one number or one vector at a time."""

import torch
from reference.plain_loops import sigmoid


def silu(a):
    return a * sigmoid(a)


def softplus(a):
    return torch.log(1 + torch.exp(a))


def convolve(x, weight, bias):
    """silu of the causal convolution of x (B, L, D) with taps (D, 1, k), the last of them the present."""
    taps, outputs = weight.shape[-1], []
    for t in range(x.shape[1]):
        total = bias
        for j in range(taps):
            if (s := t - taps + 1 + j) >= 0:
                total = total + weight[:, 0, j] * x[:, s]
        outputs.append(silu(total).expand_as(x[:, t]))
    return torch.stack(outputs, 1)
