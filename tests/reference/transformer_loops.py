"""Transformers written a second time, head by head and query by query, and files made from them and from torch.nn.

Nothing here uses the library, so that files made here can judge it.
"""

import math

import numpy as np
import torch


def linear(p, at, x):
    """W x + b, without b where there is none."""
    y = x @ p[f"{at}.weight"].T
    return y + p[f"{at}.bias"] if f"{at}.bias" in p else y


def sample_norm(p, at, x):
    """The Annotated Transformer's norm: n - 1 under the root, epsilon outside it."""
    centred = x - x.mean(-1, keepdim=True)
    std = (centred.square().sum(-1, keepdim=True) / (x.shape[-1] - 1)).sqrt()
    return p[f"{at}.a_2"] * centred / (std + 1e-6) + p[f"{at}.b_2"]


def attend(q, k, v, heads, mask):
    """Heads of q (B, T, D), k and v (B, S, D), one query at a time; mask (B, T, S) is true where it may look."""
    batch, size = len(q), q.shape[-1] // heads
    rows = []
    for b in range(batch):
        for t in range(q.shape[1]):
            parts = []
            for h in range(heads):
                cut = slice(h * size, (h + 1) * size)
                seen = [s for s in range(k.shape[1]) if mask[b, t, s]]
                scores = torch.stack([(q[b, t, cut] * k[b, s, cut]).sum() / math.sqrt(size) for s in seen])
                weights = (scores - scores.max()).exp()
                weights = weights / weights.sum()
                parts.append(sum(w * v[b, s, cut] for w, s in zip(weights, seen, strict=True)))
            rows.append(torch.cat(parts))
    return torch.stack(rows).view(batch, q.shape[1], -1)


def heads_of(p, at, x, memory, heads, mask):
    """Attention with the maps ``linears.0..3``."""
    q, k, v = (linear(p, f"{at}.linears.{i}", z) for i, z in enumerate((x, memory, memory)))
    return linear(p, f"{at}.linears.3", attend(q, k, v, heads, mask))


def encodings(length, width):
    """sin and cos in turn, (T, D)."""
    rows = [[pos / 10000 ** (2 * (i // 2) / width) for i in range(width)] for pos in range(length)]
    waves = [[(math.cos if i % 2 else math.sin)(angle) for i, angle in enumerate(row)] for row in rows]
    return torch.tensor(waves, dtype=torch.double)


def annotated(p, src, tgt, src_mask, tgt_mask, heads, layers):
    """The outcomes of an annotated file from parameters by their official names; ``layers`` of either side."""
    width = p["src_embed.0.lut.weight"].shape[1]
    batch, sources, targets = len(src), src.shape[1], tgt.shape[1]
    of_source = src_mask.expand(batch, sources, sources)
    of_memory, of_target = src_mask.expand(batch, targets, sources), tgt_mask.expand(batch, targets, targets)

    def add(x, at, j, f):
        return x + f(sample_norm(p, f"{at}.sublayer.{j}.norm", x))

    def feed(at):
        return lambda z: linear(p, f"{at}.feed_forward.w_2", linear(p, f"{at}.feed_forward.w_1", z).clamp(min=0))

    x = p["src_embed.0.lut.weight"][src] * math.sqrt(width) + encodings(sources, width)
    for i in range(layers[0]):
        at = f"encoder.layers.{i}"
        x = add(x, at, 0, lambda z, at=at: heads_of(p, f"{at}.self_attn", z, z, heads, of_source))
        x = add(x, at, 1, feed(at))
    memory = sample_norm(p, "encoder.norm", x)
    x = p["tgt_embed.0.lut.weight"][tgt] * math.sqrt(width) + encodings(targets, width)
    for i in range(layers[1]):
        at = f"decoder.layers.{i}"
        x = add(x, at, 0, lambda z, at=at: heads_of(p, f"{at}.self_attn", z, z, heads, of_target))
        x = add(x, at, 1, lambda z, at=at: heads_of(p, f"{at}.src_attn", z, memory, heads, of_memory))
        x = add(x, at, 2, feed(at))
    decoded = sample_norm(p, "decoder.norm", x)
    logits = linear(p, "generator.proj", decoded)
    return {"memory": memory, "decoded": decoded, "logp": logits - logits.exp().sum(-1, keepdim=True).log()}


def make_annotated(
    path,
    *,
    seed=0,
    width=8,
    inner=5,
    heads=2,
    layers=1,
    batch=2,
    sources=4,
    targets=3,
    vocabularies=(6, 5),
    causal=True,
    gradients=False,
    decoder=None,
):
    """Write a file of the family; without ``causal`` the target's mask is a random one.

    ``decoder`` is its (layers, inner) if they are not the encoder's.
    """
    draw = torch.Generator().manual_seed(seed)
    shapes = {"src_embed.0.lut.weight": (vocabularies[0], width), "tgt_embed.0.lut.weight": (vocabularies[1], width)}
    maps = {"generator.proj": (width, vocabularies[1])}
    norms = ["encoder.norm", "decoder.norm"]
    stacks = {"encoder": (layers, inner), "decoder": decoder or (layers, inner)}
    for side, (depth, wide) in stacks.items():
        attentions = ["self_attn"] if side == "encoder" else ["self_attn", "src_attn"]
        for i in range(depth):
            at = f"{side}.layers.{i}"
            maps |= {f"{at}.{attention}.linears.{j}": (width, width) for attention in attentions for j in range(4)}
            maps |= {f"{at}.feed_forward.w_1": (width, wide), f"{at}.feed_forward.w_2": (wide, width)}
            norms += [f"{at}.sublayer.{j}.norm" for j in range(len(attentions) + 1)]
    for name, (inputs, outputs) in maps.items():
        shapes |= {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}
    shapes |= {f"{name}.{part}": (width,) for name in norms for part in ("a_2", "b_2")}
    p = {n: (torch.randn(s, generator=draw, dtype=torch.double) / 2).requires_grad_() for n, s in shapes.items()}
    src = torch.randint(vocabularies[0], (batch, sources), generator=draw)
    tgt = torch.randint(vocabularies[1], (batch, targets), generator=draw)
    lengths = torch.randint(1, sources + 1, (batch, 1, 1), generator=draw)
    src_mask = torch.arange(sources).expand(batch, 1, sources) < lengths
    tgt_mask = torch.ones(1, targets, targets).tril().bool()
    if not causal:
        tgt_mask = (torch.rand(1, targets, targets, generator=draw) < 0.5) | torch.eye(targets).bool()
    outcomes = annotated(p, src, tgt, src_mask, tgt_mask, heads, [depth for depth, _ in stacks.values()])
    arrays = {"src": src, "tgt": tgt, "src_mask": src_mask, "tgt_mask": tgt_mask, **outcomes}
    arrays |= {"pe": encodings(max(sources, targets), width)}
    if gradients:
        arrays["grad_out"] = torch.randn(outcomes["logp"].shape, generator=draw, dtype=torch.double)
        found = torch.autograd.grad((outcomes["logp"] * arrays["grad_out"]).sum(), list(p.values()))
        arrays |= {f"g/{name}": value for name, value in zip(p, found, strict=True)}
    arrays |= {f"p/{name}": value for name, value in p.items()}
    sizes = {"n_head": heads, "N": layers, "d_model": width, "d_ff": inner}
    np.savez(path, **{n: v.detach().numpy() for n, v in arrays.items()}, **{n: np.array(v) for n, v in sizes.items()})
    return path


def make_torch(
    path,
    *,
    seed=0,
    width=8,
    inner=5,
    heads=2,
    layers=1,
    batch=2,
    length=4,
    causal=True,
    bias=True,
    gradients=True,
    every=False,
):
    """Write a file of torch.nn.TransformerEncoder; ``every`` adds the gradients of all parameters."""
    torch.manual_seed(seed)
    pre = "pre" in path.stem
    options = {"batch_first": True, "norm_first": pre, "dropout": 0.0, "bias": bias, "dtype": torch.double}
    layer = torch.nn.TransformerEncoderLayer(width, heads, inner, **options)
    norm = torch.nn.LayerNorm(width, bias=bias, dtype=torch.double) if pre else None
    model = torch.nn.TransformerEncoder(layer, layers, norm=norm, enable_nested_tensor=False)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    x = torch.randn(batch, length, width, dtype=torch.double, requires_grad=True)
    out = model(x, mask=torch.ones(length, length).triu(1).bool() if causal else None)
    arrays = {"x": x, "out": out} | {f"p/{name}": value for name, value in model.named_parameters()}
    if gradients:
        arrays["grad_out"] = torch.randn_like(out)
        (out * arrays["grad_out"]).sum().backward()
        arrays["gx"] = x.grad
        if every:
            arrays |= {f"g/{name}": value.grad for name, value in model.named_parameters()}
    sizes = {"n_head": heads, "N": layers, "causal": int(causal)}
    np.savez(path, **{n: v.detach().numpy() for n, v in arrays.items()}, **{n: np.array(v) for n, v in sizes.items()})
    return path
