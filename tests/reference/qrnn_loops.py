"""The QRNN written a second time, step by step as its authors' code has it, and files made from it."""

import torch
from reference.plain_loops import Parameters, blocks, sigmoid, write


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


def make_qrnn(
    path, *, seed=0, inputs=4, size=3, pooling="fo", window=2, layers=None, batch=2, length=6, gradients=True
):
    """Write a file of the family: of one layer without a number if ``layers`` is None."""
    p, count = Parameters(seed=seed), {"f": 2, "fo": 3, "ifo": 4}[pooling]
    formula = pooling == "ifo"
    x = p.random(length, batch, inputs)
    c0 = p.random(*([] if layers is None else [layers]), batch, size)
    names = ["" if formula else "linear."] if layers is None else [f"layers.{i}.linear." for i in range(layers)]
    widths = [inputs, *[size] * (len(names) - 1)]
    for name, width in zip(names, widths, strict=True):
        p.of(f"{name}weight", count * size, window * width), p.of(f"{name}bias", count * size)

    def run(x, states, keep):
        """All layers; with ``keep`` the inputs of each are there to be given to the next piece."""
        after = []
        for name, (c, before) in zip(names, states, strict=True):
            w, bias = p.of(f"{name}weight"), p.of(f"{name}bias")
            y, c = layer(w, bias, x, c, before, formula)
            after.append((c, [*before, *x] if keep else []))
            x = y
        return x, after

    def last(states):
        return torch.stack([c for c, _ in states]).view(c0.shape)

    start = [(c, []) for c in c0.view(len(names), batch, size)]
    out, after = run(x, start, False)
    outcomes = {"out": out, "cn": last(after)}
    if not formula:
        none, after = run(x, [(torch.zeros_like(c), []) for c, _ in start], False)
        outcomes |= {"out_nostate": none, "cn_nostate": last(after)}
    if not formula and length > 1:
        begin, states = run(x[:1], start, True)
        end, after = run(x[1:], states, True)
        outcomes |= {"out_pieces": torch.cat([begin, end]), "cn_pieces": last(after)}
    grad_out, found = p.gradients(out, x=x, c0=c0) if gradients else ({}, {})
    return write(path, {"x": x, "c0": c0} | grad_out, p, outcomes | found, window=window)
