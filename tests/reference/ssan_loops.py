"""The self-attention sentiment classifier written a second time, one query and one key at a time."""

import math

import torch


def affine(p, at, x, outputs):
    """x W + b with W (D_in, D_out)."""
    return x @ p.of(f"{at}/kernel", x.shape[-1], outputs) + p.of(f"{at}/bias", outputs)


def sentence_logits(p, x, heads, clip, classes, real=None):
    """Logits (classes,) of one embedded sentence x (T, D); ``real`` are the places that count, all if None."""
    length, width = x.shape
    real, size = range(length) if real is None else real, width // heads
    q, k, v = (affine(p, part, x, width).clamp(min=0) for part in "qkv")
    tables = [p.of(f"relative_{name}", 2 * clip + 1, size) for name in ("keys", "values")] if clip else None
    outputs = []
    for i in real:
        joined = []
        for h in range(heads):
            part = slice(h * size, (h + 1) * size)
            rows = [max(-clip, min(clip, j - i)) + clip for j in real] if clip else []
            keys, values = [k[j, part] for j in real], [v[j, part] for j in real]
            if tables:
                keys = [key + tables[0][row] for key, row in zip(keys, rows, strict=True)]
                values = [value + tables[1][row] for value, row in zip(values, rows, strict=True)]
            scores = torch.stack([q[i, part] @ key for key in keys]) / math.sqrt(size)
            weights = torch.exp(scores - scores.max())
            weights = weights / weights.sum()
            joined.append(sum(weight * value for weight, value in zip(weights, values, strict=True)))
        outputs.append(affine(p, "attention_out", torch.cat(joined), width).clamp(min=0))
    sentence = affine(p, "sentence", sum(outputs) / len(outputs), width).clamp(min=0)
    return sentence @ p.of("logits/kernel", width, classes)
