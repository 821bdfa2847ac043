"""Transformers written a second time, head by head and query by query, and files made from them and from torch.nn."""

import math

import torch
from reference.plain_loops import Parameters, encoding, heads_of, log_softmax, write


def encodings(length, width):
    """sin and cos in turn, (T, D)."""
    return torch.stack([encoding(position, width) for position in range(length)])


def annotated(p, src, tgt, src_mask, tgt_mask, c):
    """The outcomes of an annotated file from parameters by their official names."""
    width, (batch, sources), targets = c["width"], src.shape, tgt.shape[1]
    of_source = src_mask.expand(batch, sources, sources)
    of_memory, of_target = src_mask.expand(batch, targets, sources), tgt_mask.expand(batch, targets, targets)

    def attention(at, x, memory, mask):
        q, k, v = (p.linear(f"{at}.linears.{j}", z, width) for j, z in enumerate((x, memory, memory)))
        return p.linear(f"{at}.linears.3", heads_of(q, k, v, c["heads"], mask), width)

    def stack(side, x, parts):
        depth, inner = c[side]
        x = x * math.sqrt(width) + encodings(x.shape[1], width)
        for i in range(depth):
            at = f"{side}.layers.{i}"
            for j, (name, memory, mask) in enumerate(parts):
                z = p.norm(f"{at}.sublayer.{j}.norm", x)
                x = x + attention(f"{at}.{name}", z, z if memory is None else memory, mask)
            z = p.linear(f"{at}.feed_forward.w_1", p.norm(f"{at}.sublayer.{len(parts)}.norm", x), inner).clamp(min=0)
            x = x + p.linear(f"{at}.feed_forward.w_2", z, width)
        return p.norm(f"{side}.norm", x)

    tables = [p.of(f"{name}_embed.0.lut.weight", c[name], width) for name in ("src", "tgt")]
    memory = stack("encoder", tables[0][src], [("self_attn", None, of_source)])
    decoded = stack("decoder", tables[1][tgt], [("self_attn", None, of_target), ("src_attn", memory, of_memory)])
    return {"memory": memory, "decoded": decoded, "logp": log_softmax(p.linear("generator.proj", decoded, c["tgt"]))}


# Widths, the vocabularies, and of each side its layers and their inner width.
SIZES = {"width": 8, "heads": 2, "src": 6, "tgt": 5, "encoder": (1, 5), "decoder": (1, 5)}


def make_annotated(path, *, seed=0, batch=2, sources=4, targets=3, causal=True, gradients=False, **sizes):
    """Write a file of the family; without ``causal`` the target's mask is a random one."""
    c, p = SIZES | sizes, Parameters(seed=seed)
    src = torch.randint(c["src"], (batch, sources), generator=p.generator)
    tgt = torch.randint(c["tgt"], (batch, targets), generator=p.generator)
    lengths = torch.randint(1, sources + 1, (batch, 1, 1), generator=p.generator)
    src_mask = torch.arange(sources).expand(batch, 1, sources) < lengths
    tgt_mask = torch.ones(1, targets, targets).tril().bool()
    if not causal:
        tgt_mask = (p.random(1, targets, targets) < 0) | torch.eye(targets).bool()
    outcomes = annotated(p, src, tgt, src_mask, tgt_mask, c)
    grad_out, found = p.gradients(outcomes["logp"]) if gradients else ({}, {})
    outcomes |= {"pe": encodings(max(sources, targets), c["width"])} | found
    given = {"src": src, "tgt": tgt, "src_mask": src_mask, "tgt_mask": tgt_mask} | grad_out
    depth, inner = c["encoder"]
    return write(path, given, p, outcomes, n_head=c["heads"], N=depth, d_model=c["width"], d_ff=inner)


def make_torch(path, *, seed=0, width=8, inner=5, heads=2, layers=1, batch=2, length=4, causal=True, bias=True):
    """Write a file of torch.nn.TransformerEncoder."""
    torch.manual_seed(seed)
    pre = "pre" in path.stem
    options = {"batch_first": True, "norm_first": pre, "dropout": 0.0, "bias": bias, "dtype": torch.double}
    layer = torch.nn.TransformerEncoderLayer(width, heads, inner, **options)
    norm = torch.nn.LayerNorm(width, bias=bias, dtype=torch.double) if pre else None
    model = torch.nn.TransformerEncoder(layer, layers, norm=norm, enable_nested_tensor=False)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    p = Parameters(model.named_parameters(), seed)
    x = p.random(batch, length, width)
    out = model(x, mask=torch.ones(length, length).triu(1).bool() if causal else None)
    grad_out, found = p.gradients(out, x=x)
    return write(path, {"x": x} | grad_out, p, {"out": out} | found, n_head=heads, N=layers, causal=int(causal))
