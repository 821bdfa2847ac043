"""Pieces of Mamba a second time, one number or one vector at a time."""

import torch
from reference import xlstm_loops
from reference.xlstm_loops import silu


def softplus(a):
    return torch.log(1 + torch.exp(a))


def convolve(x, weight, bias):
    """silu of the causal convolution of x (B, L, D) with taps (D, 1, k), the last of them the present."""
    return silu(xlstm_loops.convolve(x, weight, bias))
