"""The optimisers of BERT and GPT written a second time, number by number, and files made from them."""

import math
import random

import numpy as np


def make_rules(path, *, seed=0, size=3, updates=5, total=20, warmup=4, lr=0.1, betas=(0.8, 0.95), decay=0.1, eps=1e-3):
    """Write a file of the family; the names of its outcomes."""
    draw = random.Random(seed)
    start = [draw.gauss(0, 1) for _ in range(size)]
    grads = [[draw.gauss(0, 1) for _ in range(size)] for _ in range(updates)]
    (b1, b2), after = betas, {"bert": [], "gpt": [], "torch_adamw": []}
    for name, rows in after.items():
        p, m, v = start.copy(), [0.0] * size, [0.0] * size
        for t, grad in enumerate(grads, start=1):
            c1, c2 = 1 - b1**t, 1 - b2**t
            for k, g in enumerate(grad):
                m[k], v[k] = b1 * m[k] + (1 - b1) * g, b2 * v[k] + (1 - b2) * g * g
                if name == "bert":
                    step = m[k] / (math.sqrt(v[k]) + eps) + decay * p[k]
                elif name == "gpt":
                    step = math.sqrt(c2) / c1 * (m[k] / (math.sqrt(v[k]) + 2 * eps) + decay * p[k])
                else:
                    step = m[k] / c1 / (math.sqrt(v[k] / c2) + 3 * eps) + decay * p[k]
                p[k] -= lr * step
            rows.append(p.copy())
    at = list(range(total))
    outcomes = after | {
        "bert_schedule": [lr * (u / warmup if u < warmup else 1 - u / total) for u in at],
        "gpt_finetune_schedule": [lr * (u / warmup if u < warmup else 1) * (1 - u / total) for u in at],
        "gpt_pretrain_cosine": [
            lr * (u / warmup if warmup and u <= warmup else 0.5 + 0.5 * math.cos(math.pi * u / total)) for u in at
        ],
    }
    given = {"p0": start, "grads": grads, "lr": lr, "beta1": b1, "beta2": b2, "weight_decay": decay, "eps_bert": eps}
    given |= {"eps_gpt": 2 * eps, "eps_torch": 3 * eps, "schedule_total": total, "schedule_warmup": warmup}
    given["schedule_steps"] = at
    np.savez(path, **{name: np.array(value) for name, value in (given | outcomes).items()})
    return set(outcomes)
