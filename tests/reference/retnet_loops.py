"""Retention written a second time: every score by itself, each form's scales as the authors' code has them."""

import math

import torch
from reference.plain_loops import Parameters, sigmoid, write


def turned(x, t):
    """x (K,) at position t: pairs of neighbours, from an angle of 1 to one of 1/10000."""
    half = len(x) // 2
    parts = []
    for i in range(half):
        angle = t * 10000 ** -(i / (half - 1) if half > 1 else 0.0)
        one, other = x[2 * i], x[2 * i + 1]
        parts += [one * math.cos(angle) - other * math.sin(angle), one * math.sin(angle) + other * math.cos(angle)]
    return torch.stack(parts)


def head(q, k, v, gamma):
    """The plain o (T, V) of one head, and the scores (T, T), of q, k (T, K) and v (T, V)."""
    length = len(q)
    q, k = (torch.stack([turned(x[t], t) for t in range(length)]) for x in (q, k))
    zero = q.new_zeros(())
    rows = [
        torch.stack([(q[n] @ k[m]) * gamma ** (n - m) if m <= n else zero for m in range(length)])
        for n in range(length)
    ]
    return torch.stack([row @ v for row in rows]), torch.stack(rows), k


def scales(form, scores, k, v, gamma, chunk):
    """What each row of o is divided by, (T,), detached."""
    scores, k, v, rows = scores.detach(), k.detach(), v.detach(), []
    for t in range(len(scores)):
        begin = {"parallel": 0, "recurrent": 0, "chunkwise": t - t % chunk}[form]
        root = math.sqrt(sum(gamma**i for i in range(t - begin + 1)))
        if form == "recurrent":
            rows.append(torch.tensor(root, dtype=torch.double))
            continue
        row = (scores[t, begin : t + 1] / root).abs().sum().clamp(1, 5e4 if form == "parallel" else math.inf)
        if form == "chunkwise" and begin:
            memory = sum(gamma ** (begin - 1 - s) * torch.outer(k[s], v[s]) for s in range(begin))
            memory = memory / sum(gamma**i for i in range(chunk))
            row = torch.maximum(row, memory.abs().sum(0).max())
        rows.append(root * row)
    return torch.stack(rows)


def layer(p, x, heads, eps, form=None, chunk=None):
    """The output (B, T, D) of x (B, T, D); without a form nothing is scaled."""
    rows = []
    for sample in x:
        q, k, v, g = (sample @ p[f"{name}_proj.weight"].T for name in "qkvg")
        outputs = []
        for h, parts in enumerate(zip(*(part.chunk(heads, 1) for part in (q, k, v)), strict=True)):
            gamma = 1 - 2.0 ** (-5 - h)
            o, scores, keys = head(parts[0], parts[1] / math.sqrt(parts[1].shape[1]), parts[2], gamma)
            if form:
                o = o / scales(form, scores, keys, parts[2], gamma, chunk)[:, None]
            outputs.append(o / (o.square().mean(1, keepdim=True) + eps).sqrt())
        rows.append((g * sigmoid(g) * torch.cat(outputs, 1)) @ p["out_proj.weight"].T)
    return torch.stack(rows)


def make_retention(
    path, *, seed=0, batch=2, length=6, heads=2, key_size=4, value_size=3, chunk=3, eps=1e-6, gradients=True, scale=2
):
    """Write a file of the family; a larger ``scale`` lifts more scores above 1."""
    p, width, values = Parameters(seed=seed), heads * key_size, heads * value_size
    for name, rows in (("q", width), ("k", width), ("v", values), ("g", values)):
        p[f"{name}_proj.weight"] = (scale * p.random(rows, width) / 2).detach().requires_grad_()
    p.of("out_proj.weight", width, values)
    x = p.random(batch, length, width)
    plain = layer(p, x, heads, 0.0)
    outcomes = {f"out_{form}": layer(p, x, heads, eps, form, chunk) for form in ("parallel", "chunkwise", "recurrent")}
    outcomes |= {"out_eps0": plain, "out_eps0_chunkwise": plain, "out_eps0_recurrent": plain}
    outcomes["gamma"] = torch.tensor([1 - 2.0 ** (-5 - h) for h in range(heads)]).double()
    half = key_size // 2
    outcomes["angle"] = torch.tensor(
        [10000 ** -(i / (half - 1) if half > 1 else 0.0) for i in range(half) for _ in range(2)]
    ).double()
    grad_out, found = p.gradients(plain, x=x) if gradients else ({}, {})
    if gradients:
        found["gx_eps0"] = found.pop("gx")
        found["gx"] = torch.autograd.grad((outcomes["out_parallel"] * grad_out["grad_out"]).sum(), x)[0]
    settings = {"num_heads": heads, "chunk_size": chunk, "eps": eps}
    return write(path, {"x": x} | grad_out, p, outcomes | found, **settings)
