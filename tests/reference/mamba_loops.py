"""Mamba, Mamba-2, their scan and S4D a second time, one number or one vector at a time, and files made from them."""

import math

import torch
from reference.plain_loops import Parameters, sigmoid, write


def silu(a):
    return a * sigmoid(a)


def softplus(a):
    return torch.log(1 + torch.exp(a))


def scan(u, delta, A, B, C, h):
    """y (B, L, D) and the last h (B, D, N), of u, delta (B, L, D), B, C (B, L, N): the authors' Euler step for B."""
    outputs = []
    for t in range(u.shape[1]):
        columns = []
        for n in range(A.shape[1]):
            decay = torch.exp(delta[:, t] * A[:, n])
            columns.append(decay * h[:, :, n] + delta[:, t] * B[:, t, n, None] * u[:, t])
        h = torch.stack(columns, 2)
        outputs.append(sum(C[:, t, n, None] * h[:, :, n] for n in range(A.shape[1])))
    return torch.stack(outputs, 1), h


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


def make_scan(path, *, seed=0, batch=2, width=4, states=3, length=6, extras=("D", "z", "delta_bias"), gradients=True):
    """Write a file of the family, with only some of skip, gate and bias."""
    p = Parameters(seed=seed)
    shapes = {"u": (batch, width, length), "delta": (batch, width, length), "A": (width, states)}
    shapes |= {"B": (batch, states, length), "C": (batch, states, length)}
    more = {"D": (width,), "z": (batch, width, length), "delta_bias": (width,)}
    given = {name: p.random(*shape) for name, shape in (shapes | {name: more[name] for name in extras}).items()}
    given["A"] = (-given["A"].exp()).detach().requires_grad_()
    u, B, C = (given[name].transpose(1, 2) for name in "uBC")
    start = torch.zeros(batch, width, states, dtype=torch.double)
    raw = given["delta"].transpose(1, 2)
    y, last = scan(u, softplus(raw + given.get("delta_bias", 0)), given["A"], B, C, start)
    out = (y + given.get("D", 0) * u).transpose(1, 2)
    out = out * silu(given["z"]) if "z" in given else out
    plain, last_plain = scan(u, torch.exp(raw), given["A"], B, C, start)
    outcomes = {"out": out, "last_state": last, "out_plain": plain.transpose(1, 2), "last_plain": last_plain}
    grad_out, found = p.gradients(out, **given) if gradients else ({}, {})
    return write(path, given | grad_out, p, outcomes | found)


def make_mamba(path, *, seed=0, batch=2, width=3, expand=2, states=4, taps=4, rank=1, length=7, gradients=True):
    """Write a file of the family."""
    p, inner = Parameters(seed=seed), expand * width
    x, A_log = p.random(batch, length, width), p.of("A_log", inner, states)
    both = x @ p.of("in_proj.weight", 2 * inner, width).T
    before, z = both[..., :inner], both[..., inner:]
    u = convolve(before, p.of("conv1d.weight", inner, 1, taps), p.of("conv1d.bias", inner))
    chosen = u @ p.of("x_proj.weight", rank + 2 * states, inner).T
    delta = softplus(chosen[..., :rank] @ p.of("dt_proj.weight", inner, rank).T + p.of("dt_proj.bias", inner))
    B, C = chosen[..., rank : rank + states], chosen[..., rank + states :]
    y, h = scan(u, delta, -torch.exp(A_log), B, C, torch.zeros(batch, inner, states, dtype=torch.double))
    out = ((y + p.of("D", inner) * u) * silu(z)) @ p.of("out_proj.weight", width, inner).T
    kept = [before[:, s] if s >= 0 else torch.zeros_like(before[:, 0]) for s in range(length - taps, length)]
    outcomes = {"out": out, "out_steps": out, "conv_state": torch.stack(kept, 2), "ssm_state": h}
    grad_out, found = p.gradients(out, x=x) if gradients else ({}, {})
    return write(path, {"x": x} | grad_out, p, outcomes | found, dt_rank=rank)


def make_mamba2(
    path, *, seed=0, batch=2, width=3, expand=2, heads=2, groups=1, states=4, taps=4, length=7, gradients=True, eps=1e-5
):
    """Write a file of the family."""
    p, inner = Parameters(seed=seed), expand * width
    size = inner // heads
    channels = inner + 2 * groups * states
    x, A_log = p.random(batch, length, width), p.of("A_log", heads)
    mixed = x @ p.of("in_proj.weight", inner + channels + heads, width).T
    z = mixed[..., :inner]
    u = convolve(
        mixed[..., inner : inner + channels], p.of("conv1d.weight", channels, 1, taps), p.of("conv1d.bias", channels)
    )
    delta = softplus(mixed[..., inner + channels :] + p.of("dt_bias", heads))
    D, columns = p.of("D", heads), []
    for h in range(heads):
        at = inner + h // (heads // groups) * states
        X, B = u[..., h * size : (h + 1) * size], u[..., at : at + states]
        C = u[..., at + groups * states : at + groups * states + states]
        S, rows = torch.zeros(batch, size, states, dtype=torch.double), []
        for t in range(length):
            step = delta[:, t, h, None, None]
            S = torch.exp(-torch.exp(A_log[h]) * step) * S + step * X[:, t, :, None] * B[:, t, None]
            rows.append((S * C[:, t, None]).sum(-1) + D[h] * X[:, t])
        columns.append(torch.stack(rows, 1))
    y = torch.cat(columns, 2) * silu(z)
    y = y / (y.square().mean(-1, keepdim=True) + eps).sqrt() * p.of("norm.weight", inner)
    out = y @ p.of("out_proj.weight", width, inner).T
    grad_out, found = p.gradients(out, x=x) if gradients else ({}, {})
    settings = {"headdim": size, "ngroups": groups, "d_state": states, "norm_eps": eps}
    return write(path, {"x": x} | grad_out, p, {"out": out} | found, **settings)


def make_s4d(path, *, seed=0, batch=2, width=3, states=4, length=9, gradients=True):
    """Write a file of the family; ``states`` are complex."""
    p = Parameters(seed=seed)
    x, D, C = p.random(batch, width, length), p.of("D", width), p.of("kernel.C", width, states, 2)
    dt, A_imag = torch.exp(p.of("kernel.log_dt", width)), p.of("kernel.A_imag", width, states)
    A_real = -torch.exp(p.of("kernel.log_A_real", width, states))
    grown, turn = torch.exp(dt[:, None] * A_real), dt[:, None] * A_imag
    a = (grown * torch.cos(turn), grown * torch.sin(turn))  # real and imaginary parts
    over = A_real.square() + A_imag.square()
    b = ((a[0] - 1) * A_real + a[1] * A_imag, a[1] * A_real - (a[0] - 1) * A_imag)  # (a - 1) times A's conjugate
    b = tuple(part / over for part in b)

    def run(x):
        h, outputs = (torch.zeros(len(x), width, states, dtype=torch.double),) * 2, []
        for t in range(x.shape[2]):
            now = x[:, :, t, None]
            h = (a[0] * h[0] - a[1] * h[1] + b[0] * now, a[0] * h[1] + a[1] * h[0] + b[1] * now)
            outputs.append(2 * (C[..., 0] * h[0] - C[..., 1] * h[1]).sum(-1))
        return torch.stack(outputs, 2)

    pulse = torch.zeros(1, width, length, dtype=torch.double)
    pulse[:, :, 0] = 1
    y = run(x) + D[:, None] * x
    smooth = y * (1 + torch.erf(y / math.sqrt(2))) / 2
    weight, bias = p.of("output_linear.0.weight", 2 * width, width, 1), p.of("output_linear.0.bias", 2 * width)
    mixed = torch.stack([weight[:, :, 0] @ smooth[i] + bias[:, None] for i in range(batch)])
    out = mixed[:, :width] * sigmoid(mixed[:, width:])
    outcomes = {"out": out, "y_ssm": y, "kernel": run(pulse)[0]}
    grad_out, found = p.gradients(out, x=x) if gradients else ({}, {})
    return write(path, {"x": x} | grad_out, p, outcomes | found)
