"""ELMo written a second time, sentence by sentence and word by word."""

import torch
import torch.nn.functional as F
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


SENTENCE_BEGINS, SENTENCE_ENDS, WORD_BEGINS, WORD_ENDS, PADDING = range(256, 261)


def spell(sentence, length):
    """The ids (n + 2, C) of a sentence's words, between two that mark its ends: marks, bytes in UTF-8, padding."""
    rows = []
    for word in ([SENTENCE_BEGINS], *(list(word.encode()) for word in sentence.split()), [SENTENCE_ENDS]):
        row = [WORD_BEGINS, *word[: length - 2], WORD_ENDS]
        rows.append(row + [PADDING] * (length - len(row)))
    return torch.tensor(rows)


def word_vectors(x, table, filters, highways, projection, f):
    """Vectors (n, D) of words spelled in ids (n, C), in the form of Kim et al. (2016, arXiv 1508.06615).

    Filters (reach, inputs, outputs) with their biases, then highways with the weights of both parts, then a map to D.
    """
    c = table[x].mT
    y = f(torch.cat([F.conv1d(c, w.permute(2, 1, 0), b).amax(2) for w, b in filters], dim=1))
    for w_t, b_t, w_h, b_h in highways:
        t = sigmoid(y @ w_t + b_t)  # the authors' code calls it the carry gate
        y = t * torch.relu(y @ w_h + b_h) + (1 - t) * y
    return y @ projection[0] + projection[1] if projection else y
