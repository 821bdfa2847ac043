"""R-Transformer written a second time, window by window and query by query, and files made from it."""

import torch
from reference.plain_loops import STEPS, Parameters, heads_of, layer_norm, local_rnn, log_softmax, write


def layer(cell, p, x, window, heads, order, norm=layer_norm):
    """Equation 8 with the norm after the sum (``order="post"``) or before the sub-layer; p by the library's names."""
    causal = torch.ones(x.shape[1], x.shape[1]).tril().bool().expand(len(x), -1, -1)
    p = Parameters(p)

    def add(x, at, f):
        here = [p[f"{at}.{part}"] for part in ("weight", "bias")]
        return norm(x + f(x), *here) if order == "post" else x + f(norm(x, *here))

    def attention(z):
        at = "block.self_attention"
        qkv = z @ p[f"{at}.in_proj_weight"].T + p[f"{at}.in_proj_bias"]
        return p.linear(f"{at}.out_proj", heads_of(*qkv.split(x.shape[2], -1), heads, causal))

    def feed(z):
        return p.linear("block.feed_forward.linear2", p.linear("block.feed_forward.linear1", z).clamp(min=0))

    i = 0
    while (at := f"local_rnns.{i}.") + "weight_hh_l0" in p:
        own = {name.removeprefix(at): value for name, value in p.items() if name.startswith(at)}
        x = add(x, f"local_norms.{i}", lambda z, own=own: local_rnn(cell, own, z, window))
        i += 1
    return add(add(x, "block.norms.0", attention), "block.norms.1", feed)


def r_transformer(p, x, c):
    """The outcomes of a file of the body from its parameters by their official names, without the prefix ``at``."""
    batch, time, width = x.shape
    causal, rows = torch.ones(time, time).tril().bool().expand(batch, -1, -1), STEPS[c["cell"]][1] * width
    outcomes = {}

    def add(at, z, name, f):
        outcomes[name] = f(p.norm(at, z))
        return z + outcomes[name]

    for b in range(c["blocks"]):
        block = f"{c['at']}forward_net.{b}"
        for i in range(c["local_layers"]):
            rnn = f"{block}.layers.{i}.local_rnn.rnn"
            shapes = {"weight_ih": (rows, width), "weight_hh": (rows, width), "bias_ih": (rows,), "bias_hh": (rows,)}
            own = {f"{name}_l0": p.of(f"{rnn}.{name}_l0", *shape) for name, shape in shapes.items()}
            norm, name = f"{block}.layers.{i}.connection.norm", f"block{b}_local{i}"
            x = add(norm, x, f"{name}_rnn", lambda z, own=own: local_rnn(c["cell"], own, z, c["window"]))
            outcomes[f"{name}_out"] = x

        def attention(z, at=f"{block}.pooling.linears"):
            q, k, v = (p.linear(f"{at}.{j}", z, width) for j in range(3))
            return p.linear(f"{at}.3", heads_of(q, k, v, c["heads"], causal), width)

        def feed(z, at=f"{block}.feed_forward"):
            return p.linear(f"{at}.w_2", p.linear(f"{at}.w_1", z, c["inner"]).clamp(min=0), width)

        x = add(f"{block}.connections.0.norm", x, f"block{b}_attn", attention)
        x = outcomes[f"block{b}_out"] = add(f"{block}.connections.1.norm", x, f"block{b}_ffn", feed)
    return outcomes | {"out": x}


SIZES = {"cell": "gru", "width": 8, "heads": 2, "window": 3, "blocks": 2, "local_layers": 1, "batch": 2, "length": 6}


def make_r_transformer(path, *, seed=0, gradients=True, image=None, **sizes):
    """Write a file of the family; ``image`` is (inputs, classes) of the wrapper for images, whose body is ``rt``.

    ``gradients`` are those of all parameters; without, there is no ``grad_out`` either.
    """
    c, p = SIZES | {"at": "rt." if image else ""} | sizes, Parameters(seed=seed)
    width = c["width"]
    c.setdefault("inner", 4 * width)
    if image:
        x = p.random(c["batch"], image[0], c["length"])
        outcomes = r_transformer(p, p.linear("encoder", x.transpose(1, 2), width), c)
        logits = p.linear("linear", outcomes.pop("out")[:, -1], image[1])
        claimed = outcomes["logp"] = log_softmax(logits)
    else:
        x = p.random(c["batch"], c["length"], width)
        outcomes = r_transformer(p, x, c)
        claimed = outcomes["out"]
    grad_out, found = p.gradients(claimed, x=x) if gradients else ({}, {})
    dead, at = {}, "p/rt." if image else "dead/"  # made and never used by the authors' code
    for part, outputs, inputs in (("w_1", c["inner"], width), ("w_2", width, c["inner"])):
        dead |= {f"feed_forward.{part}.weight": (outputs, inputs), f"feed_forward.{part}.bias": (outputs,)}
    for rnn in (f"forward_net.{b}.layers.{i}" for b in range(c["blocks"]) for i in range(c["local_layers"])):
        dead |= {f"{rnn}.local_rnn.output.0.weight": (width, width), f"{rnn}.local_rnn.output.0.bias": (width,)}
    dead |= {"norm.a_2": (width,), "norm.b_2": (width,)}
    given = {"x": x} | grad_out | {f"{at}{name}": p.random(*shape) for name, shape in dead.items()}
    settings = {"ksize": c["window"], "n_head": c["heads"], "n_level": c["blocks"], "n_local": c["local_layers"]}
    return write(path, given, p, outcomes | found, **settings, d_model=width)
