"""minGRU and minLSTM written a second time, one step and one number's rule at a time, and files made from them."""

import torch
from reference.plain_loops import Parameters, blocks, sigmoid, write

NAMES = {"mingru": ("to_hidden_and_gate.weight", 2), "minlstm": ("to_hidden_and_f_i_gate.weight", 3)}


def g(a):
    """x + 1/2 from 0 on, the logistic function below."""
    above = (a >= 0).to(a.dtype)
    return above * (a.clamp(min=0) + 0.5) + (1 - above) * sigmoid(a)


def states(kind, a, h, candidate=g, normalised=True):
    """h (B, T, H) of the maps' outputs a (B, T, blocks H), from h (B, H)."""
    rows = []
    for t in range(a.shape[1]):
        new, *gates = (part.T for part in blocks(a[:, t].T, NAMES[kind][1]))
        gates = [sigmoid(gate) for gate in gates]
        if kind == "mingru":
            keep, take = 1 - gates[0], gates[0]
        else:
            whole = gates[0] + gates[1] if normalised else 1
            keep, take = gates[0] / whole, gates[1] / whole
        h = keep * h + take * candidate(new)
        rows.append(h)
    return torch.stack(rows, 1)


def make_min_rnn(path, *, seed=0, batch=2, length=6, width=3, size=4, projected=True, state=True, gradients=True):
    """Write a file of the family that its name begins with."""
    kind = path.stem.split("_")[0]
    p, (name, count) = Parameters(seed=seed), NAMES[kind]
    x, h0 = p.random(batch, length, width), p.random(batch, 1, size).exp()
    a = x @ p.of(name, count * size, width).T
    back = p.of("to_out.weight", width, size).T if projected else torch.eye(width, size, dtype=torch.double)

    h, later = states(kind, a, torch.zeros_like(h0[:, 0])), states(kind, a, h0[:, 0])
    outcomes = {"out": h @ back, "h_last": h[:, -1:], "out_sequential": h @ back}
    given = {"x": x}
    if state:
        again = states(kind, a, g(h0[:, 0]) if kind == "minlstm" else h0[:, 0])  # a fault of the authors' code
        given["h0"] = h0
        outcomes |= {"out_state": later @ back, "out_state_parallel_original": again @ back}
    grad_out, found = p.gradients(outcomes["out"], x=x) if gradients else ({}, {})
    return write(path, given | grad_out, p, outcomes | found)


def make_extra(path, *, seed=0, batch=2, length=6, size=3):
    """Write a file with g and its like, and minLSTM without the division."""
    p = Parameters(seed=seed)
    v = (3 * p.random(11)).detach().requires_grad_()
    f, i, h = (p.random(batch, length, size) for _ in range(3))
    out = states("minlstm", torch.cat([h, f, i], 2), torch.zeros_like(h[:, 0]), normalised=False)
    grad_out, found = p.gradients(out, f=f, i=i, h=h)
    value = g(v)
    slope = torch.autograd.grad(value.sum(), v)[0]
    outcomes = {"g_v": value, "log_g_v": value.log(), "dg_v": slope, "out_minlstm_unnormalised": out}
    return write(path, {"v": v, "f": f, "i": i, "h": h} | grad_out, p, outcomes | found)
