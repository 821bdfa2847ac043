"""R-Transformer written a second time, window by window and query by query."""

import torch
from reference.plain_loops import heads_of, layer_norm, local_rnn


def layer(cell, p, x, window, heads, order, norm=layer_norm):
    """Equation 8 with the norm after the sum (``order="post"``) or before the sub-layer; p by the library's names."""
    causal = torch.ones(x.shape[1], x.shape[1]).tril().bool().expand(len(x), -1, -1)

    def linear(at, x):
        return x @ p[f"{at}.weight"].T + p[f"{at}.bias"]

    def add(x, at, f):
        here = [p[f"{at}.{part}"] for part in ("weight", "bias")]
        return norm(x + f(x), *here) if order == "post" else x + f(norm(x, *here))

    def attention(z):
        at = "block.self_attention"
        qkv = z @ p[f"{at}.in_proj_weight"].T + p[f"{at}.in_proj_bias"]
        return linear(f"{at}.out_proj", heads_of(*qkv.split(x.shape[2], -1), heads, causal))

    def feed(z):
        return linear("block.feed_forward.linear2", linear("block.feed_forward.linear1", z).clamp(min=0))

    i = 0
    while (at := f"local_rnns.{i}.") + "weight_hh_l0" in p:
        own = {name.removeprefix(at): value for name, value in p.items() if name.startswith(at)}
        x = add(x, f"local_norms.{i}", lambda z, own=own: local_rnn(cell, own, z, window))
        i += 1
    return add(add(x, "block.norms.0", attention), "block.norms.1", feed)
