"""ELMo written a second time, sentence by sentence and word by word."""

import torch
from reference.plain_loops import blocks, sigmoid


def projected_step(w_x, w_h, bias, w_p, cell_clip, projection_clip, x, h, c):
    """(h_t, c_t) of one word, blocks i, f, g, o; a clip of 0 is none."""
    i, f, g, o = (w @ x + u @ h + b for w, u, b in zip(*(blocks(part, 4) for part in (w_x, w_h, bias)), strict=True))
    c = clip(sigmoid(i) * torch.tanh(g) + sigmoid(f) * c, cell_clip)
    return clip(w_p @ (sigmoid(o) * torch.tanh(c)), projection_clip), c


def clip(x, bound):
    return torch.minimum(torch.maximum(x, -x.new_tensor(bound)), x.new_tensor(bound)) if bound else x


def read(vectors, stacks, starts, skip=False):
    """What the layers say about one sentence.

    Of words' vectors (n, D), the steps (x, h, c) -> (h, c) of each direction's layers, and their first (h, c).
    Returns [h_0, ..., h_L], each (n, 2D), and the last (h, c) of each direction's layers.
    """
    ends, outputs = [], []
    for way, (steps, start) in enumerate(zip(stacks, starts, strict=True)):
        order = list(range(len(vectors)))
        below, last = {t: vectors[t] for t in order}, []
        told = [below]
        for j, (step, (h, c)) in enumerate(zip(steps, start, strict=True)):
            here = {}
            for t in order[::-1] if way else order:
                h, c = step(below[t], h, c)
                here[t] = h + below[t] if skip and j else h
            below = here
            told.append(here)
            last.append((h, c))
        outputs.append(told)
        ends.append(last)
    layers = [torch.stack([torch.cat([f[t], b[t]]) for t in sorted(f)]) for f, b in zip(*outputs, strict=True)]
    return layers, ends
