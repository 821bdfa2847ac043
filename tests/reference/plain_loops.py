"""Plain loops: cells, norms, heads and encodings one step, gate or query at a time.

Nothing here or in the other loops of this folder uses the library, so that they can judge it.
"""

import math

import torch

# ---- cells


def run(step, parameters, x, *state):
    """Every layer and direction of torch.nn's names over x (B, T, D), from the parts of the state.

    Returns the output (B, T, H * directions) and the last parts, as torch.nn does.
    """
    layer, row, last = 0, 0, []
    while f"weight_ih_l{layer}" in parameters:
        halves = []
        for suffix in (f"l{layer}", f"l{layer}_reverse"):
            if f"weight_ih_{suffix}" in parameters:
                weights = weights_of(parameters, suffix)
                now, outputs = tuple(part[row] for part in state), {}
                steps = range(x.shape[1])
                for t in reversed(steps) if suffix.endswith("_reverse") else steps:
                    now = step(*weights, x[:, t], *now)
                    outputs[t] = now[0]
                last.append(now)
                halves.append(torch.stack([outputs[t] for t in steps], dim=1))
                row += 1
        x, layer = torch.cat(halves, dim=2), layer + 1
    return x, *(torch.stack(parts) for parts in zip(*last, strict=True))


def weights_of(parameters, suffix="l0"):
    return [parameters[f"{name}_{suffix}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def blocks(matrix, count):
    """The rows of a parameter, cut into equal blocks by hand."""
    size = len(matrix) // count
    return [matrix[k * size : (k + 1) * size] for k in range(count)]


def sigmoid(a):
    return 1 / (1 + torch.exp(-a))


def rnn_step(weight_ih, weight_hh, bias_ih, bias_hh, x, h):
    """(h_t,) from x_t and h_{t-1}."""
    return (torch.tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh),)


def lstm_step(weight_ih, weight_hh, bias_ih, bias_hh, x, h, c):
    """(h_t, c_t) from x_t and (h_{t-1}, c_{t-1})."""
    parts = [blocks(parameter, 4) for parameter in (weight_ih, weight_hh, bias_ih, bias_hh)]
    i, f, g, o = (x @ w.T + h @ u.T + b + d for w, u, b, d in zip(*parts, strict=True))
    c = c * sigmoid(f) + torch.tanh(g) * sigmoid(i)
    return torch.tanh(c) * sigmoid(o), c


def gru_step(reset, update):
    """The step of one of the four forms: (h_t,) from x_t and h_{t-1}."""

    def step(weight_ih, weight_hh, bias_ih, bias_hh, x, h):
        w_r, w_z, w_n = blocks(weight_ih, 3)
        u_r, u_z, u_n = blocks(weight_hh, 3)
        b_r, b_z, b_n = blocks(bias_ih, 3)
        d_r, d_z, d_n = blocks(bias_hh, 3)
        r = sigmoid(x @ w_r.T + h @ u_r.T + b_r + d_r)
        z = sigmoid(x @ w_z.T + h @ u_z.T + b_z + d_z)
        recurrent = r * (h @ u_n.T + d_n) if reset == "after" else (r * h) @ u_n.T + d_n
        n = torch.tanh(x @ w_n.T + b_n + recurrent)
        return ((1 - z) * n + z * h if update == "keeps" else (1 - z) * h + z * n,)

    return step


# The step of each cell, and its blocks of rows.
STEPS = {"rnn": (rnn_step, 1), "gru": (gru_step("after", "keeps"), 3), "lstm": (lstm_step, 4)}


def local_rnn(cell, parameters, x, window, before=None):
    """h (B, T, H): each window by itself, from the state 0; ``before`` holds the window - 1 inputs before x."""
    weights, (step, _) = weights_of(parameters), STEPS[cell]
    if before is None:
        before = torch.zeros(len(x), window - 1, x.shape[2], dtype=x.dtype)
    zero, rows = torch.zeros(len(x), weights[1].shape[1], dtype=x.dtype), []
    for t in range(x.shape[1]):
        state = (zero, zero) if cell == "lstm" else (zero,)
        for s in range(t - window + 1, t + 1):
            state = step(*weights, x[:, s] if s >= 0 else before[:, s], *state)  # the last one before x has index -1
        rows.append(state[0])
    return torch.stack(rows, 1)


# ---- maps, norms, heads and encodings


def layer_norm(x, weight, bias):
    """Ba, Kiros and Hinton's norm: the variance over D, with torch's epsilon."""
    centred = x - x.mean(-1, keepdim=True)
    return weight * centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() + bias


def sample_norm(x, weight, bias):
    """The Annotated Transformer's norm: D - 1 under the root, and epsilon outside it."""
    centred = x - x.mean(-1, keepdim=True)
    std = (centred.square().sum(-1, keepdim=True) / (x.shape[-1] - 1)).sqrt()
    return weight * centred / (std + 1e-6) + bias


def softmax(scores):
    powers = (scores - scores.max()).exp()
    return powers / powers.sum()


def attend(q, k, v, mask=None, bias=None, scale=None):
    """Attention as a loop over all queries and the keys that each may see; q, k, v (B, H, ., .).

    Returns the output and the weights.
    """
    shape = (*q.shape[:3], k.shape[2])
    scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    mask = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    bias = q.new_zeros(shape) if bias is None else bias.expand(shape)
    rows, outputs = [], []
    for b, h, t in torch.cartesian_prod(*map(torch.arange, shape[:3])).reshape(-1, 3).tolist():
        keys = mask[b, h, t].nonzero()[:, 0]
        scores = scale * (k[b, h, keys] @ q[b, h, t]) + bias[b, h, t, keys]
        weights = softmax(scores) if len(keys) else scores
        rows.append(q.new_zeros(shape[3]).index_add(0, keys, weights))
        outputs.append(weights @ v[b, h, keys])
    return torch.stack(outputs).view(*shape[:3], -1), torch.stack(rows).view(shape)


def heads_of(q, k, v, heads, mask):
    """The heads' outputs side by side, of q (B, T, D), k and v (B, S, D) under a mask (B, T, S)."""
    q, k, v = (z.unflatten(-1, (heads, -1)).transpose(1, 2) for z in (q, k, v))
    return attend(q, k, v, mask[:, None])[0].transpose(1, 2).flatten(2)


def encoding(position, width, order="interleaved"):
    """The encoding of one position, one number at a time: sines and cosines in turn, or in halves."""
    angles = [position / 10000 ** (2 * i / width) for i in range(width // 2)]
    if order == "halves":
        waves = [math.sin(a) for a in angles] + [math.cos(a) for a in angles]
    else:
        waves = [f(a) for a in angles for f in (math.sin, math.cos)]
    return torch.tensor(waves, dtype=torch.double)
