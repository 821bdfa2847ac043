"""The cells of xLSTM and the convolution before them written a second time, step by step as the authors have them."""

import math

import torch
from reference.plain_loops import sigmoid

# ---- cells


def slstm(x, kernel, bias, state):
    """h (B, T, D) and the last (h, c, n, m) of preactivations x (B, T, 4, H, K), one head and step at a time.

    Whether this is the first step is decided for the whole batch, as the authors have it.
    """
    heads, size = len(kernel), kernel.shape[2]
    bias = bias.view(4, heads, size)
    outputs, state = [], [part.unflatten(1, (heads, size)) for part in state]
    for t in range(x.shape[1]):
        h, c, n, m = state
        first = bool((n == 0).all())
        parts = []
        for head in range(heads):
            a = x[:, t, :, head] + (h[:, head] @ kernel[head].T).unflatten(1, (4, size)) + bias[:, head]
            i, f, z, o = a.unbind(1)
            kept = m[:, head] - torch.log1p(torch.exp(-f))
            new = i if first else torch.maximum(kept, i)
            cell = torch.exp(kept - new) * c[:, head] + torch.exp(i - new) * torch.tanh(z)
            norm = torch.exp(kept - new) * n[:, head] + torch.exp(i - new)
            parts.append((sigmoid(o) * cell / norm, cell, norm, new))
        state = [torch.stack(part, 1) for part in zip(*parts, strict=True)]
        outputs.append(state[0])
    return torch.stack(outputs, 1).flatten(2), [part.flatten(1) for part in state]


def mlstm(q, k, v, log_i, log_f, c, n, m, eps=0.0):
    """h (B, H, T, V) and the last (C, n, m), one step at a time; (B, H, T) gates."""
    outputs = []
    for t in range(q.shape[2]):
        key = k[:, :, t] / math.sqrt(k.shape[3])
        kept = log_f[:, :, t] + m
        m = torch.maximum(kept, log_i[:, :, t])
        f, i = torch.exp(kept - m)[..., None], torch.exp(log_i[:, :, t] - m)[..., None]
        c = f[..., None] * c + i[..., None] * key[..., :, None] * v[:, :, t][..., None, :]
        n = f * n + i * key
        read, weight = (q[:, :, t][..., None] * c).sum(2), (q[:, :, t] * n).sum(2)
        outputs.append(read / (torch.maximum(weight.abs(), torch.exp(-m)) + eps)[..., None])
    return torch.stack(outputs, 2), (c, n, m)


# ---- what stands before them


def convolve(x, weight, bias):
    """Each feature of x (B, T, D) on its own, with zeros before the first step."""
    taps, outputs = weight.shape[2], []
    for t in range(x.shape[1]):
        past = [x[:, t - taps + 1 + j] * weight[:, 0, j] for j in range(taps) if t - taps + 1 + j >= 0]
        outputs.append(sum(past) + bias)
    return torch.stack(outputs, 1)
