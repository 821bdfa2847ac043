"""R-Transformer written a second time, window by window and step by step, and files made from it.

Nothing here uses the library, so that files made here can judge it.
"""

import numpy as np
import torch
from reference.plain_loops import gru_step, lstm_step, rnn_step
from reference.transformer_loops import heads_of, linear, sample_norm

STEPS = {"rnn": (rnn_step, 1), "gru": (gru_step("after", "keeps"), 3), "lstm": (lstm_step, 4)}
# What an implementation may get wrong, and the first of the outcomes that then differs.
MISTAKES = {
    "window one longer": "block0_local0_rnn",
    "window one shorter": "block0_local0_rnn",
    "state carried over": "block0_local0_rnn",
    "padding skipped": "block0_local0_rnn",
    "padding after projection": "block0_local0_rnn",
    "padding before the norm": "block0_local0_rnn",
    "first gates swapped": "block0_local0_rnn",
    "last gates swapped": "block0_local0_rnn",
    "biased std": "block0_local0_rnn",
    "no way around": "block0_local0_out",
    "norm after the sum": "block0_local0_rnn",
    "future seen": "block0_attn",
    "present unseen": "block0_attn",
    "one head": "block0_attn",
    "last norm": "out",
}


def local_rnn(p, at, x, cell, window, mistake=None):
    """The last state of the cell, run from zeros over the window that ends at each position of x (B, T, D)."""
    step, gates = STEPS[cell]
    order = list(range(gates))
    if mistake == "first gates swapped":
        order[:2] = reversed(order[:2])
    if mistake == "last gates swapped":
        order[-2:] = reversed(order[-2:])
    names = [f"{at}.local_rnn.rnn.{name}_l0" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    weights = [torch.cat([p[name].chunk(gates)[i] for i in order]) for name in names]
    without_bias = [
        torch.zeros_like(w) if name.endswith("bias_ih_l0") else w for name, w in zip(names, weights, strict=True)
    ]
    window += {"window one longer": 1, "window one shorter": -1}.get(mistake, 0)
    zero, rows = torch.zeros_like(x[:, 0]), []
    padding = zero + p[f"{at}.connection.norm.b_2"] if mistake == "padding before the norm" else zero
    for t in range(x.shape[1]):
        state = (zero, zero) if cell == "lstm" else (zero,)
        first = t - window + 1
        first = {"state carried over": 0, "padding skipped": max(first, 0)}.get(mistake, first)
        for s in range(first, t + 1):
            unprojected = s < 0 and mistake == "padding after projection"
            state = step(*(without_bias if unprojected else weights), padding if s < 0 else x[:, s], *state)
        rows.append(state[0])
    return torch.stack(rows, dim=1)


def r_transformer(p, x, cell, window, heads, mistake=None):
    """The outcomes of a file of the body from its parameters by their official names."""
    batch, time = x.shape[:2]
    mask = torch.ones(time, time, dtype=torch.bool).tril(-1 if mistake == "present unseen" else 0)
    mask[0, 0] = True
    mask = (torch.ones_like(mask) if mistake == "future seen" else mask).expand(batch, time, time)
    heads = 1 if mistake == "one head" else heads

    def norm(at, z):
        y = sample_norm(p, at, z)
        if mistake == "biased std":
            y = (y - p[f"{at}.b_2"]) * (z.shape[-1] / (z.shape[-1] - 1)) ** 0.5 + p[f"{at}.b_2"]
        return y

    def add(at, z, name, f):
        if mistake == "norm after the sum":
            outcomes[name] = f(z)
            return norm(at, z + outcomes[name])
        outcomes[name] = f(norm(at, z))
        return outcomes[name] if mistake == "no way around" else z + outcomes[name]

    outcomes, b = {}, 0
    while (block := f"forward_net.{b}") + ".feed_forward.w_1.bias" in p:
        i = 0
        while (layer := f"{block}.layers.{i}") + ".local_rnn.rnn.bias_ih_l0" in p:

            def run(z, at=layer):
                return local_rnn(p, at, z, cell, window, mistake)

            x = outcomes[f"block{b}_local{i}_out"] = add(f"{layer}.connection.norm", x, f"block{b}_local{i}_rnn", run)
            i += 1
        at = f"{block}.connections"
        x = add(f"{at}.0.norm", x, f"block{b}_attn", lambda z: heads_of(p, f"{block}.pooling", z, z, heads, mask))
        feed = f"{block}.feed_forward"
        x = add(
            f"{at}.1.norm",
            x,
            f"block{b}_ffn",
            lambda z, feed=feed: linear(p, f"{feed}.w_2", linear(p, f"{feed}.w_1", z).clamp(min=0)),
        )
        outcomes[f"block{b}_out"] = x
        b += 1
    if mistake == "last norm":
        x = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True)
    return outcomes | {"out": x}


def shapes_of(cell, width, inner, blocks, local_layers):
    """Names and shapes of the body's parameters: those that live, and those that are never used."""
    rows, live, maps, norms = STEPS[cell][1] * width, {}, {}, []
    dead_maps = {"feed_forward.w_1": (inner, width), "feed_forward.w_2": (width, inner)}
    for b in range(blocks):
        at = f"forward_net.{b}"
        maps |= {f"{at}.pooling.linears.{j}": (width, width) for j in range(4)}
        maps |= {f"{at}.feed_forward.w_1": (inner, width), f"{at}.feed_forward.w_2": (width, inner)}
        norms += [f"{at}.connections.{j}.norm" for j in range(2)]
        for i in range(local_layers):
            rnn = f"{at}.layers.{i}.local_rnn"
            live |= {f"{rnn}.rnn.weight_{part}_l0": (rows, width) for part in ("ih", "hh")}
            live |= {f"{rnn}.rnn.bias_{part}_l0": (rows,) for part in ("ih", "hh")}
            norms.append(f"{at}.layers.{i}.connection.norm")
            dead_maps[f"{rnn}.output.0"] = (width, width)
    found = []
    for own, own_maps, own_norms in ((live, maps, norms), ({}, dead_maps, ["norm"])):
        for name, shape in own_maps.items():
            own |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
        found.append(own | {f"{name}.{part}": (width,) for name in own_norms for part in ("a_2", "b_2")})
    return found


def make_r_transformer(
    path,
    *,
    seed=0,
    cell="gru",
    width=8,
    heads=2,
    window=3,
    blocks=2,
    local_layers=1,
    inner=None,
    batch=2,
    length=6,
    gradients=True,
    image=None,
    mistake=None,
):
    """Write a file of the family; ``image`` is (inputs, classes) of the wrapper for images.

    ``gradients`` are those of all parameters; without, there is no ``grad_out`` either.
    """
    draw = torch.Generator().manual_seed(seed)
    live, dead = shapes_of(cell, width, inner or 4 * width, blocks, local_layers)
    ends = {}
    if image:
        ends = {"encoder.weight": (width, image[0]), "encoder.bias": (width,)}
        ends |= {"linear.weight": (image[1], width), "linear.bias": (image[1],)}

    def random(shape):
        return torch.randn(shape, generator=draw, dtype=torch.double)

    p = {name: (random(shape) / 2).requires_grad_() for name, shape in (live | ends).items()}
    x = random((batch, image[0], length) if image else (batch, length, width)).requires_grad_()
    if image:
        outcomes = r_transformer(p, linear(p, "encoder", x.transpose(1, 2)), cell, window, heads, mistake)
        logits = linear(p, "linear", outcomes.pop("out")[:, -1])
        claimed = outcomes["logp"] = logits - logits.exp().sum(-1, keepdim=True).log()
    else:
        outcomes = r_transformer(p, x, cell, window, heads, mistake)
        claimed = outcomes["out"]
    official = {name: f"rt.{name}" if image and name in live else name for name in p}
    arrays = {"x": x, **outcomes, **{f"p/{official[name]}": value for name, value in p.items()}}
    arrays |= {f"{'p/rt.' if image else 'dead/'}{name}": random(shape) for name, shape in dead.items()}
    if gradients:
        arrays["grad_out"] = random(claimed.shape)
        found = torch.autograd.grad((claimed * arrays["grad_out"]).sum(), [x, *p.values()], materialize_grads=True)
        arrays |= dict(zip(["gx", *(f"g/{name}" for name in official.values())], found, strict=True))
    sizes = {"ksize": window, "n_head": heads, "n_level": blocks, "n_local": local_layers, "d_model": width}
    np.savez(path, **{n: v.detach().numpy() for n, v in arrays.items()}, **{n: np.array(v) for n, v in sizes.items()})
    return path
