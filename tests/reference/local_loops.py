"""LocalRNN window by window and a layer of R-Transformer line by line: what the library's are tested against."""

import torch
from reference.plain_loops import gru_step, lstm_step, rnn_step
from reference.transformer_loops import attend

STEPS = {"rnn": rnn_step, "gru": gru_step("after", "keeps"), "lstm": lstm_step}


def local_rnn(cell, parameters, x, window, before=None):
    """h (B, T, H): each window by itself, from the state 0; ``before`` holds the window - 1 inputs before x."""
    weights = [parameters[f"{name}_l0"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    if before is None:
        before = torch.zeros(len(x), window - 1, x.shape[2], dtype=x.dtype)
    rows = []
    for t in range(x.shape[1]):
        state = [torch.zeros(len(x), weights[1].shape[1], dtype=x.dtype) for _ in range(1 + (cell == "lstm"))]
        for s in range(t - window + 1, t + 1):
            x_s = x[:, s] if s >= 0 else before[:, s]  # the last one before x has the index -1
            state = STEPS[cell](*weights, x_s, *state)
        rows.append(state[0])
    return torch.stack(rows, 1)


def layer_norm(x, weight, bias):
    """Ba, Kiros and Hinton's norm: the variance over D, with torch's epsilon."""
    centred = x - x.mean(-1, keepdim=True)
    return weight * centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() + bias


def sample_norm(x, weight, bias):
    """The norm of the authors' code: D - 1 under the root, and epsilon outside it."""
    centred = x - x.mean(-1, keepdim=True)
    std = (centred.square().sum(-1, keepdim=True) / (x.shape[-1] - 1)).sqrt()
    return weight * centred / (std + 1e-6) + bias


def layer(cell, p, x, window, heads, order, norm=layer_norm):
    """Equation 8 with the norm after the sum (``order="post"``) or before the sub-layer; p by the library's names."""
    causal = torch.ones(x.shape[1], x.shape[1]).tril().bool().expand(len(x), -1, -1)

    def add(x, at, f):
        here = [p[f"{at}.{part}"] for part in ("weight", "bias")]
        return norm(x + f(x), *here) if order == "post" else x + f(norm(x, *here))

    def attention(z):
        qkv = z @ p["block.self_attention.in_proj_weight"].T + p["block.self_attention.in_proj_bias"]
        y = attend(*qkv.split(x.shape[2], -1), heads, causal)
        return y @ p["block.self_attention.out_proj.weight"].T + p["block.self_attention.out_proj.bias"]

    def feed(z):
        inner = (z @ p["block.feed_forward.linear1.weight"].T + p["block.feed_forward.linear1.bias"]).clamp(min=0)
        return inner @ p["block.feed_forward.linear2.weight"].T + p["block.feed_forward.linear2.bias"]

    i = 0
    while (at := f"local_rnns.{i}.") + "weight_hh_l0" in p:
        own = {name.removeprefix(at): value for name, value in p.items() if name.startswith(at)}
        x = add(x, f"local_norms.{i}", lambda z, own=own: local_rnn(cell, own, z, window))
        i += 1
    return add(add(x, "block.norms.0", attention), "block.norms.1", feed)
