"""The cells as plain loops, one step and one gate at a time: what the library's are tested against."""

import torch


def run(step, parameters, x, *state):
    """Every layer and direction of torch.nn's names over x (B, T, D), from the parts of the state.

    Returns the output (B, T, H * directions) and the last parts, as torch.nn does.
    """
    layer, row, last = 0, 0, []
    while f"weight_ih_l{layer}" in parameters:
        halves = []
        for suffix in (f"l{layer}", f"l{layer}_reverse"):
            if f"weight_ih_{suffix}" in parameters:
                weights = [parameters[f"{name}_{suffix}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
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


def blocks(matrix, count):
    """The rows of a parameter, cut into equal blocks by hand."""
    size = len(matrix) // count
    return [matrix[k * size : (k + 1) * size] for k in range(count)]


def rnn_step(weight_ih, weight_hh, bias_ih, bias_hh, x, h):
    """(h_t,) from x_t and h_{t-1}."""
    return (torch.tanh(x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh),)


def lstm_step(weight_ih, weight_hh, bias_ih, bias_hh, x, h, c):
    """(h_t, c_t) from x_t and (h_{t-1}, c_{t-1})."""
    parts = [blocks(parameter, 4) for parameter in (weight_ih, weight_hh, bias_ih, bias_hh)]
    i, f, g, o = (x @ w.T + h @ u.T + b + d for w, u, b, d in zip(*parts, strict=True))
    c = c / (1 + torch.exp(-f)) + torch.tanh(g) / (1 + torch.exp(-i))
    return torch.tanh(c) / (1 + torch.exp(-o)), c


def gru_step(reset, update):
    """The step of one of the four forms: (h_t,) from x_t and h_{t-1}."""

    def step(weight_ih, weight_hh, bias_ih, bias_hh, x, h):
        w_r, w_z, w_n = blocks(weight_ih, 3)
        u_r, u_z, u_n = blocks(weight_hh, 3)
        b_r, b_z, b_n = blocks(bias_ih, 3)
        d_r, d_z, d_n = blocks(bias_hh, 3)
        r = 1 / (1 + torch.exp(-(x @ w_r.T + h @ u_r.T + b_r + d_r)))
        z = 1 / (1 + torch.exp(-(x @ w_z.T + h @ u_z.T + b_z + d_z)))
        recurrent = r * (h @ u_n.T + d_n) if reset == "after" else (r * h) @ u_n.T + d_n
        n = torch.tanh(x @ w_n.T + b_n + recurrent)
        return ((1 - z) * n + z * h if update == "keeps" else (1 - z) * h + z * n,)

    return step
