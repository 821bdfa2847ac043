"""DTMT by the names of the authors' arrays, one sentence, step, gate and head at a time, without padding."""

import math

import torch
import torch.nn.functional as F

from .plain_loops import sigmoid, softmax


def transition(p, x, h):
    """The state after an L-GRU and all T-GRUs that ``p`` has."""
    r, z, l = (gate(p, name, name, x, h) for name in ("reset_gate", "update_gate", "reset_gate2"))  # noqa: E741
    old = h @ p["linear_state/matrix_0"] + p["linear_state/bias"]
    candidate = torch.tanh(x @ p["linear_inputs/matrix_0"] + r * old) + l * (x @ p["linear_inputs_transform/matrix_0"])
    h, k = (1 - z) * h + z * candidate, 0
    while f"trans_candidate_l{k}/bias" in p:
        r, z = (
            gate(p, f"trans_{name}_gate_l{k}", f"trans_{name}_gate", h, end=f"_l{k}") for name in ("reset", "update")
        )
        candidate = torch.tanh(r * (h @ p[f"trans_candidate_l{k}/matrix_0"] + p[f"trans_candidate_l{k}/bias"]))
        h, k = (1 - z) * h + z * candidate, k + 1
    return h


def gate(p, matrices, norm, *inputs, end=""):
    a = sum(x @ p[f"{matrices}/matrix_{i}"] for i, x in enumerate(inputs))
    a = (a - a.mean()) / ((a - a.mean()).square().mean() + 1e-6).sqrt()
    return sigmoid(p[f"{norm}_ln{end}/scale"] * a + p[f"{norm}_ln{end}/offset"])


def part(p, start):
    return {name.removeprefix(start): value for name, value in p.items() if name.startswith(start)}


def embedded(p, ids):
    """The words' vectors (T, W), W even."""
    width = len(p["bias"])
    waves = [[j * 1e4 ** (-i / (width / 2 - 1)) for i in range(width // 2)] for j in range(len(ids))]
    signal = [[wave(angle) * width**-0.5 for wave in (math.sin, math.cos) for angle in row] for row in waves]
    return p["embedding"][ids] + p["bias"] + torch.tensor(signal, dtype=torch.double)


def attention(p, q, annotations):
    """The context (H,), and the weights of the heads, (heads, S)."""
    v = p["logits/matrix_0"][:, 0]
    heads = len(q) // len(v)
    queries = (q @ p["q_transform/matrix_0"]).chunk(heads)
    keys, values = (annotations @ p["k_transform/matrix_0"]).chunk(heads, dim=1), annotations.chunk(heads, dim=1)
    weights = [softmax(torch.tanh(query + key) @ v) for query, key in zip(queries, keys, strict=True)]
    context = torch.cat([w @ value for w, value in zip(weights, values, strict=True)])
    return context @ p["output_transform/matrix"] + p["output_transform/bias"], torch.stack(weights)


def sentence(p, source, target):
    """Annotations (S, 2H), first state (H,), logits (T, V) and weights (T, heads, S) of ids (S,) and (T,)."""
    x, sides = embedded(part(p, "source_embedding/"), source), []
    for side, order in (("forward", range(len(source))), ("backward", reversed(range(len(source))))):
        h, states = x.new_zeros(len(p["s_transform/bias"])), {}
        for j in order:
            h = states[j] = transition(part(p, f"encoder/{side}/gru_cell/"), x[j], h)
        sides.append(torch.stack([states[j] for j in range(len(source))]))
    annotations = torch.cat(sides, dim=1)
    s = first = torch.tanh(annotations.mean(0) @ p["s_transform/matrix_0"] + p["s_transform/bias"])
    words = embedded(part(p, "target_embedding/"), target)
    logits, looked = [], []
    for y in (torch.zeros_like(words[0]), *words[:-1]):
        q = transition(part(p, "decoder/gru_cell/"), y, s)
        c, weights = attention(part(p, "decoder/attention_mhead/"), q, annotations)
        s = transition(part(p, "decoder/gru_cell_1/"), c, q)
        hidden = sum(a @ p[f"maxout/matrix_{i}"] for i, a in enumerate((y, s, c))) + p["maxout/bias"]
        logits.append(torch.tanh(hidden) @ p["softmax/matrix_0"] + p["softmax/bias"])
        looked.append(weights)
    return annotations, first, torch.stack(logits), torch.stack(looked)


def outcomes(arrays):
    """What a file of these inputs and parameters claims, by its names there."""
    p = {name: value.clone().requires_grad_() for name, value in part(arrays, "p/").items()}
    found, losses = {"annotation": [], "init_state": [], "logits": []}, []
    for ids, target, length, real in zip(*(arrays[name] for name in ("src", "tgt", "src_len", "tgt_len")), strict=True):
        annotations, first, logits, _ = sentence(p, ids[:length], target[:real])
        losses.append(F.cross_entropy(logits, target[:real], reduction="none"))
        words = embedded(part(p, "target_embedding/"), target)[real - 1 : -1]  # behind the sentence they count alone
        alone = torch.tanh(words @ p["maxout/matrix_0"] + p["maxout/bias"]) @ p["softmax/matrix_0"] + p["softmax/bias"]
        found["annotation"].append(F.pad(annotations, (0, 0, 0, len(ids) - length)))
        found["init_state"].append(first)
        found["logits"].append(torch.cat([logits, alone]))
    loss = torch.cat(losses).mean()
    grads = torch.autograd.grad(loss, list(p.values()))
    outcome = {name: torch.stack(rows).detach() for name, rows in found.items()} | {"loss": loss.detach()}
    return outcome | {f"g/{name}": grad for name, grad in zip(p, grads, strict=True)}
