"""The QRNN written a second time, step by step as its authors' code has it."""

import torch
from reference.plain_loops import blocks, sigmoid


def layer(w, bias, x, c, before, formula=False):
    """h (T, B, H) and the last c, of x (T, B, I) after the inputs ``before``, newest last.

    The columns of w are the present input's, then those of the inputs before it. f is the share of the new, but of the
    old in the ``formula``.
    """
    size, inputs = c.shape[1], [*before, *x]
    taps = w.shape[1] // x.shape[2]
    outputs = []
    for t in range(len(before), len(inputs)):
        seen = [inputs[t - j] if t >= j else torch.zeros_like(x[0]) for j in range(taps)]
        a = blocks((torch.cat(seen, 1) @ w.T + bias).T, len(w) // size)
        z, f, *gates = torch.tanh(a[0].T), *(sigmoid(part.T) for part in a[1:])
        c = f * c + gates[1] * z if formula else f * z + (1 - f) * c
        outputs.append(gates[0] * c if gates else c)
    return torch.stack(outputs), c
