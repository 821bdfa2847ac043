"""GPT and GPT-2 written a second time, query by query and word by word, and files made from them."""

import math

import torch
from reference.plain_loops import Parameters, attend, log_softmax, write

EPS = 1e-5


def gelu(x):
    """The tanh form."""
    return x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def norm(p, at, x, eps=EPS):
    centred = x - x.mean(-1, keepdim=True)
    y = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt()
    return y * p.of(f"{at}.weight", x.shape[-1]) + p.of(f"{at}.bias", x.shape[-1])


def turned(p, at, x, outputs):
    """x W + b, with W stored (inputs, outputs)."""
    return x @ p.of(f"{at}.weight", x.shape[-1], outputs) + p.of(f"{at}.bias", outputs)


def attention(p, at, x, heads):
    """What causal attention adds, and its weights."""
    batch, length, width = x.shape
    q, k, v = (
        z.view(batch, length, heads, -1).transpose(1, 2) for z in turned(p, f"{at}.c_attn", x, 3 * width).chunk(3, -1)
    )
    past = torch.ones(length, length).tril().bool()
    y, weights = attend(q, k, v, past[None, None])
    return turned(p, f"{at}.c_proj", y.transpose(1, 2).reshape(x.shape), width), weights


def feed_forward(p, at, x, inner):
    return turned(p, f"{at}.c_proj", gelu(turned(p, f"{at}.c_fc", x, inner)), x.shape[-1])


def body(p, ids, second, vocabulary, width, heads, layers, positions, inner):
    """What goes into each block and comes out of the last, the weights of each, and the table of words."""
    tokens, places = ("wte", "wpe") if second else ("tokens_embed", "positions_embed")
    table = p.of(f"transformer.{tokens}.weight", vocabulary, width)
    of_places = p.of(f"transformer.{places}.weight", positions, width)
    x = torch.stack([torch.stack([table[word] + of_places[t] for t, word in enumerate(row)]) for row in ids.tolist()])
    hidden, read = [x], []
    for i in range(layers):
        at = f"transformer.h.{i}"
        if second:
            y, weights = attention(p, f"{at}.attn", norm(p, f"{at}.ln_1", x), heads)
            x = x + y
            x = x + feed_forward(p, f"{at}.mlp", norm(p, f"{at}.ln_2", x), inner)
        else:
            y, weights = attention(p, f"{at}.attn", x, heads)
            x = norm(p, f"{at}.ln_1", x + y)
            x = norm(p, f"{at}.ln_2", x + feed_forward(p, f"{at}.mlp", x, inner))
        hidden.append(x)
        read.append(weights)
    if second:
        hidden[-1] = norm(p, "transformer.ln_f", x)
    return hidden, read, table


def word_losses(logits, ids):
    """-log P of each word but the first, a list of lists."""
    logp = log_softmax(logits)
    return [[-logp[b, t, row[t + 1]] for t in range(len(row) - 1)] for b, row in enumerate(ids.tolist())]


SIZES = {"vocabulary": 11, "width": 6, "heads": 2, "layers": 2, "positions": 9}


def make_gpt(path, *, seed=0, batch=2, length=5, classes=3, inner=None, weight=0.5, **sizes):
    """Write a file of the family that its name says."""
    c, p = SIZES | sizes, Parameters(seed=seed)
    second, ids = "gpt2" in path.stem, torch.randint(c["vocabulary"], (batch, length), generator=p.generator)
    inner = 4 * c["width"] if inner is None else inner
    settings = {"n_head": c["heads"], "layer_norm_eps": EPS}
    if "finetune" in path.stem:
        lengths = [3 + (seed + b) % (length - 2) for b in range(batch)]
        for b, m in enumerate(lengths):
            ids[b, m:] = 0
    hidden, read, table = body(p, ids, second, inner=inner, **c)
    logits = hidden[-1] @ table.T
    if "finetune" in path.stem:
        return _make_finetune(path, p, ids, lengths, hidden[-1], logits, classes, weight, settings)
    nll = torch.stack([torch.stack(row) for row in word_losses(logits, ids)])
    outcomes = {"logits": logits, "nll": nll, "loss": nll.mean()} | _gradients(p, nll.mean())
    outcomes |= {f"hidden{i}": h for i, h in enumerate(hidden)} | {f"attn{i}": w for i, w in enumerate(read)}
    settings["aliases"] = [f"lm_head.weight=transformer.{'wte' if second else 'tokens_embed'}.weight"]
    return write(path, {"input_ids": ids}, p, outcomes, **settings)


def _make_finetune(path, p, ids, lengths, h, logits, classes, weight, settings):
    y = torch.arange(len(ids)) % classes
    matrix, bias = p.of("clf.weight", classes, h.shape[2]), p.of("clf.bias", classes)
    scores = torch.stack([matrix @ h[b, m - 1] + bias for b, m in enumerate(lengths)])
    of_class = sum(-log_softmax(row)[label] for row, label in zip(scores, y, strict=True)) / len(y)
    kept = [row[: m - 1] for row, m in zip(word_losses(logits, ids), lengths, strict=True)]
    each = torch.stack([sum(row) / len(row) for row in kept])
    by_token = sum(map(sum, kept)) / sum(map(len, kept))
    loss = of_class + weight * each.mean()
    outcomes = {"hidden_last": h, "lm_logits": logits, "clf_logits": scores, "L1_per_sequence": each}
    outcomes |= {"L1": each.mean(), "L1_tokenmean": by_token, "L2": of_class, "L3": loss} | _gradients(p, loss)
    mask = (torch.arange(ids.shape[1]) < torch.tensor(lengths)[:, None]).double()
    given = {"input_ids": ids, "lengths": torch.tensor(lengths), "labels": y, "mask": mask}
    return write(path, given, p, outcomes, **settings, **{"lambda": weight, "special_ids": [0, 1, 2]})


def _gradients(p, loss):
    found = torch.autograd.grad(loss, list(p.values()), retain_graph=True, allow_unused=True, materialize_grads=True)
    return {f"g/{name}": g for name, g in zip(p, found, strict=True)}
