"""minGRU and minLSTM written a second time, one step and one number's rule at a time."""

import torch
from reference.plain_loops import blocks, sigmoid


def g(a):
    """x + 1/2 from 0 on, the logistic function below."""
    above = (a >= 0).to(a.dtype)
    return above * (a.clamp(min=0) + 0.5) + (1 - above) * sigmoid(a)


def states(kind, a, h, candidate=g, normalised=True):
    """h (B, T, H) of the maps' outputs a (B, T, blocks H), from h (B, H)."""
    rows = []
    for t in range(a.shape[1]):
        new, *gates = (part.T for part in blocks(a[:, t].T, 2 if kind == "mingru" else 3))
        gates = [sigmoid(gate) for gate in gates]
        if kind == "mingru":
            keep, take = 1 - gates[0], gates[0]
        else:
            whole = gates[0] + gates[1] if normalised else 1
            keep, take = gates[0] / whole, gates[1] / whole
        h = keep * h + take * candidate(new)
        rows.append(h)
    return torch.stack(rows, 1)
