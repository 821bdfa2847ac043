"""The cells and layers of xLSTM written a second time, step by step as the authors have them, and files made so."""

import math

import torch
from reference.plain_loops import Parameters, sigmoid, write

# ---- cells


def slstm(x, kernel, bias, state, forget="sigmoid", whole_batch=True):
    """h (B, T, D) and the last (h, c, n, m) of preactivations x (B, T, 4, H, K), one head and step at a time.

    Whether this is the first step is decided for the ``whole_batch``, as the authors have it, or never.
    """
    heads, size = len(kernel), kernel.shape[2]
    bias = bias.view(4, heads, size)
    outputs, state = [], [part.unflatten(1, (heads, size)) for part in state]
    for t in range(x.shape[1]):
        h, c, n, m = state
        first = whole_batch and bool((n == 0).all())
        parts = []
        for head in range(heads):
            a = x[:, t, :, head] + (h[:, head] @ kernel[head].T).unflatten(1, (4, size)) + bias[:, head]
            i, f, z, o = a.unbind(1)
            kept = m[:, head] + (f if forget == "exp" else -torch.log1p(torch.exp(-f)))
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


# ---- what stands around them


def silu(x):
    return x * sigmoid(x)


def convolve(x, weight, bias):
    """Each feature of x (B, T, D) on its own, with zeros before the first step."""
    taps, outputs = weight.shape[2], []
    for t in range(x.shape[1]):
        past = [x[:, t - taps + 1 + j] * weight[:, 0, j] for j in range(taps) if t - taps + 1 + j >= 0]
        outputs.append(sum(past) + bias)
    return torch.stack(outputs, 1)


def blockwise(x, weight):
    """Blocks of features, each through its own matrix (N, O, I)."""
    size = weight.shape[2]
    return torch.cat([x[..., n * size : (n + 1) * size] @ w.T for n, w in enumerate(weight)], -1)


def head_norm(x, heads, weight):
    """x (B, T, D): each head to mean 0 and variance 1; the weight is the distance from 1."""
    parts = x.unflatten(-1, (heads, -1))
    centred = parts - parts.mean(-1, keepdim=True)
    return (centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()).flatten(-2) * (1 + weight)


# ---- files


def make_slstm_layer(path, *, seed=0, batch=2, length=6, heads=2, size=3, taps=3, gradients=True):
    """Write a file of the family."""
    p, width = Parameters(seed=seed), heads * size
    x = p.random(batch, length, width)
    seen = x
    if taps:
        seen = silu(convolve(x, p.of("conv1d.conv.weight", width, 1, taps), p.of("conv1d.conv.bias", width)))
    # Under the name of f stand the weights of i, and the other way round.
    given = {"fgate": seen, "igate": seen, "zgate": x, "ogate": x}
    a = [blockwise(y, p.of(f"{name}.weight", heads, size, size)) for name, y in given.items()]
    kernel, bias = p.of("slstm_cell._recurrent_kernel_", heads, 4 * size, size), p.of("slstm_cell._bias_", 4 * width)
    start = 4 * [torch.zeros(batch, width).double()]
    y, _ = slstm(torch.stack(a, 2).unflatten(3, (heads, size)), kernel, bias, start)
    out = head_norm(y, heads, p.of("group_norm.weight", width))
    return _finish(path, p, {"x": x}, {"out": out}, {"x": x}, gradients, num_heads=heads)


def make_mlstm_layer(
    path, *, seed=0, batch=2, length=8, width=8, heads=2, inner=12, block=2, taps=3, bias=True, gradients=True
):
    p = Parameters(seed=seed)

    def linear(at, y, outputs, bias=True):
        y = y @ p.of(f"{at}.weight", outputs, y.shape[-1]).T
        return y + p.of(f"{at}.bias", outputs) if bias else y

    x = p.random(batch, length, width)
    both = linear("proj_up", x, 2 * inner, bias)
    own, z = both[..., :inner], both[..., inner:]
    seen = own
    if taps:
        seen = silu(convolve(own, p.of("conv1d.conv.weight", inner, 1, taps), p.of("conv1d.conv.bias", inner)))
    qkv = []
    for name, y in (("q", seen), ("k", seen), ("v", own)):
        y = blockwise(y, p.of(f"{name}_proj.weight", inner // block, block, block))
        qkv.append(y + p.of(f"{name}_proj.bias", inner) if bias else y)
    i, f = (linear(f"mlstm_cell.{gate}gate", torch.cat(qkv, -1), heads).mT for gate in "if")
    log_f, size = -torch.log1p(torch.exp(-f)), inner // heads
    q, k, v = (y.unflatten(2, (heads, size)).transpose(1, 2) for y in qkv)
    c, n, m = q.new_zeros(batch, heads, size, size), q.new_zeros(batch, heads, size), q.new_zeros(batch, heads)
    outcomes = {}
    norm, skip = p.of("mlstm_cell.outnorm.weight", inner), p.of("learnable_skip", inner)
    for name, start in (("out", m - math.inf), ("out_steps", m)):
        h = mlstm(q, k, v, i, log_f, c, n, start, 1e-6)[0].transpose(1, 2).flatten(2)
        y = (head_norm(h, heads, norm) + skip * seen) * silu(z)
        outcomes[name] = linear("proj_down", y, width, bias)
    settings = {"num_heads": heads, "inner": inner, "qkv_proj_blocksize": block}
    return _finish(path, p, {"x": x}, outcomes, {"x": x}, gradients, **settings)


def _finish(path, p, given, outcomes, inputs, gradients, **settings):
    grad_out, found = p.gradients(outcomes["out"], **inputs) if gradients else ({}, {})
    return write(path, given | grad_out, p, outcomes | found, **settings)
