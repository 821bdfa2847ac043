"""Transformer-XL written a second time, key by key and id by id, and files made from it.

Nothing here uses the library, so that files made here can judge it. Time comes first, as in the files.
"""

import math
from itertools import pairwise

import numpy as np
import torch
from reference.transformer_loops import linear

# What an implementation may get wrong, and the first of a file's outcomes that then differs.
MISTAKES = {
    "wrong rows in the shift": "seg0/mem1",
    "distance one more": "seg0/mem1",
    "u and v swapped": "seg0/mem1",
    "no u": "seg0/mem1",
    "no scale": "seg0/mem1",
    "scale of the width": "seg0/mem1",
    "sines and cosines in turn": "seg0/mem1",
    "absolute positions": "seg0/mem1",
    "positions of the segment": "seg1/mem1",
    "future seen": "seg0/mem1",
    "embedding not scaled": "seg0/mem0",
    "memory off by one": "seg0/mem0",
    "memory of the layer itself": "seg1/mem1",
    "gradient through the memory": "g/r_w_bias",
}
# Those that need a setting to be seen.
SETTINGS = {
    "memory forgets": ({"memory": 7}, "seg1/mem0"),
    "same length of the current memory": ({"same_length": True, "memory": 12}, "seg0/mem1"),
    "same length one more": ({"same_length": True, "memory": 4}, "seg0/mem1"),
    "clamp one less": ({"clamp": 3}, "seg0/mem1"),
    "memory not normalised": ({"pre": True}, "seg1/mem1"),
    "last norm": ({"pre": True}, "seg0/hidden_top"),
    "clusters in order": ({"cutoffs": (3, 7), "divide": 2}, "seg0/nll"),
    "losses in order": ({"cutoffs": (3, 7)}, "seg0/nll"),
    "tied to the scaled table": ({}, "seg0/nll"),
}


def layer_norm(p, at, x):
    """The usual one: variance with the divisor D, epsilon under the root."""
    centred = x - x.mean(-1, keepdim=True)
    y = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return p[f"{at}.weight"] * y + p[f"{at}.bias"]


def encoding(distance, width, mistake=None):
    """R of one distance: all sines, then all cosines."""
    angles = [distance / 10000 ** (2 * i / width) for i in range(width // 2)]
    waves = [math.sin(a) for a in angles] + [math.cos(a) for a in angles]
    if mistake == "sines and cosines in turn":
        waves = [wave for pair in zip(waves[: width // 2], waves[width // 2 :], strict=True) for wave in pair]
    return torch.tensor(waves, dtype=torch.double)


def distance_of(i, j, past, queries, clamp, mistake):
    """From query i of a segment to key j of memory and segment."""
    distance = past + i - j
    if mistake == "wrong rows in the shift":  # row i moved by i instead of T - 1 - i
        distance = past + queries - 1 - j - i
    elif mistake == "distance one more":
        distance += 1
    elif mistake == "absolute positions":  # R of the key's position among the keys
        distance = j
    elif mistake == "positions of the segment":  # 0, 1, 2, 3, 0, 1, 2, 3
        distance = i - (j if j < past else j - past)
    limit = clamp - (mistake == "clamp one less")
    return min(distance, limit) if clamp > 0 else distance


def attention(p, at, h, memory, c, mistake=None):
    """W_o of the heads' means; h (T, B, D) after the memory (M, B, D)."""
    heads, size, width = c["heads"], c["head_width"], c["width"]
    past, (queries, batch) = len(memory), h.shape[:2]
    rows = p[f"{at}.qkv_net.weight"].split(heads * size)
    context = torch.cat([memory, h])
    q, k, v = ((z @ w.T).view(-1, batch, heads, size) for z, w in zip((h, context, context), rows, strict=True))
    u, w = p["r_w_bias"], p["r_r_bias"]
    if mistake == "u and v swapped":
        u, w = w, u
    elif mistake == "no u":
        u = torch.zeros_like(u)
    scale = {"no scale": 1, "scale of the width": math.sqrt(width)}.get(mistake, math.sqrt(size))
    length = {"same length of the current memory": max(past, 1), "same length one more": c["memory"] + 1}
    seen_keys = length.get(mistake, c["memory"]) if c["same_length"] else math.inf
    outputs = []
    for i in range(queries):
        own = past + i
        last = past + queries if mistake == "future seen" else own + 1
        keys = [j for j in range(last) if j > own - seen_keys]
        scores = []
        for j in keys:
            r = encoding(distance_of(i, j, past, queries, c["clamp"], mistake), width, mistake)
            r = (p[f"{at}.r_net.weight"] @ r).view(heads, size)
            scores.append(((q[i] + u) * k[j] + (q[i] + w) * r).sum(-1) / scale)  # (B, H)
        scores = torch.stack(scores)
        weights = (scores - scores.max(0).values).exp()
        weights = weights / weights.sum(0)
        outputs.append(sum(a[..., None] * v[j] for a, j in zip(weights, keys, strict=True)).flatten(1))
    return torch.stack(outputs) @ p[f"{at}.o_net.weight"].T


def layer(p, at, h, memory, c, mistake=None):
    """One layer after the norms' order of the setting."""

    def feed(z):
        inner = linear(p, f"{at}.pos_ff.CoreNet.0", z).clamp(min=0)
        return linear(p, f"{at}.pos_ff.CoreNet.3", inner)

    norms = f"{at}.dec_attn.layer_norm", f"{at}.pos_ff.layer_norm"
    if c["pre"]:
        if len(memory) and mistake != "memory not normalised":
            memory = layer_norm(p, norms[0], memory)
        h = h + attention(p, f"{at}.dec_attn", layer_norm(p, norms[0], h), memory, c, mistake)
        return h + feed(layer_norm(p, norms[1], h))
    h = layer_norm(p, norms[0], h + attention(p, f"{at}.dec_attn", h, memory, c, mistake))
    return layer_norm(p, norms[1], h + feed(h))


def table_of(p, c, kind, token):
    """Cluster of an id, its place there, and the table's name and row."""
    bounds = [0, *c["cutoffs"], c["vocabulary"]]
    cluster = next(i for i in range(len(bounds)) if token < bounds[i + 1])
    place = token - bounds[cluster]
    return (cluster, place, f"{kind}.0", token) if c["divide"] == 1 else (cluster, place, f"{kind}.{cluster}", place)


def embed(p, ids, c):
    """Vectors of ids (T, B) before they are scaled, id by id."""
    found = []
    for token in ids.flatten().tolist():
        cluster, _, table, row = table_of(p, c, "word_emb.emb_layers", token)
        vector = p[f"{table}.weight"][row]
        at = f"word_emb.emb_projs.{0 if c['divide'] == 1 else cluster}"
        found.append(p[at] @ vector if at in p else vector)
    return torch.stack(found).view(*ids.shape, -1)


def loss_of(p, hidden, target, c, mistake=None):
    """-log p of one target after one vector, with every logit by itself."""
    bounds = [0, *c["cutoffs"], c["vocabulary"]]
    later = len(c["cutoffs"])

    def logits(cluster):
        at = f"crit.out_projs.{cluster}"
        z = p[at].T @ hidden if at in p else hidden
        rows = []
        for token in range(bounds[cluster], bounds[cluster + 1]):
            _, _, table, row = table_of(p, c, "crit.out_layers", token)
            factor = math.sqrt(c["width"]) if mistake == "tied to the scaled table" else 1
            rows.append(p[f"{table}.weight"][row] @ z * factor + p[f"{table}.bias"][row])
        if cluster == 0:
            rows += [p["crit.cluster_weight"][i] @ z + p["crit.cluster_bias"][i] for i in range(later)]
        return torch.stack(rows)

    def log_p(entries, index):
        top = entries.max()
        return entries[index] - top - (entries - top).exp().sum().log()

    cluster, place, _, _ = table_of(p, c, "crit.out_layers", target)
    if cluster == 0:
        return cluster, -log_p(logits(0), place)
    # The authors' entry for cluster i is the i-th from the end.
    entry = bounds[1] + (cluster - 1 if mistake == "clusters in order" else later - cluster)
    return cluster, -log_p(logits(0), entry) - log_p(logits(cluster), place)


def losses(p, hidden, target, c, mistake=None):
    """(T, B): in the order of the clusters, as the authors return them."""
    pairs = zip(hidden.flatten(0, 1), target.flatten().tolist(), strict=True)
    found = [loss_of(p, h, t, c, mistake) for h, t in pairs]
    if mistake != "losses in order":
        found.sort(key=lambda pair: pair[0])  # stable
    return torch.stack([loss for _, loss in found]).view(target.shape)


def remember(memory, h, c, mistake=None):
    """The last rows of [memory; h]; with ext_len, without the tokens that come again."""
    past, queries, extra = len(memory), len(h), c["ext_len"]
    end = past + max(0, queries - extra)
    if c["quirk"]:  # the authors' arguments in the wrong order
        end = queries + max(0, past - extra)
    rows = torch.cat([torch.zeros_like(memory) if mistake == "memory forgets" else memory, h])
    if mistake == "memory off by one" and end > c["memory"]:
        end -= 1
    kept = rows[max(0, end - c["memory"]) : end]
    return kept if mistake == "gradient through the memory" else kept.detach()


def transformer_xl(p, segments, c, mistake=None):
    """The outcomes of segments (ids (T, B), targets), and the mean loss of the last one.

    Parameters bear their official names, aliases included. The settings c are those of :func:`make_txl`.
    """
    outcomes, loss = {}, None
    empty = torch.zeros(0, segments[0][0].shape[1], c["width"], dtype=torch.double)
    memories = [empty] * (c["layers"] + 1)
    for s, (ids, target) in enumerate(segments):
        h = embed(p, ids, c) * (1 if mistake == "embedding not scaled" else math.sqrt(c["width"]))
        hidden = [h]
        for n in range(c["layers"]):
            memory = memories[n + 1] if mistake == "memory of the layer itself" else memories[n]
            hidden.append(layer(p, f"layers.{n}", hidden[-1], memory, c, mistake))
        top = hidden[-1]
        if mistake == "last norm":
            top = (top - top.mean(-1, keepdim=True)) / top.std(-1, keepdim=True)
        nll = losses(p, top[len(top) - len(target) :], target, c, mistake)
        outcomes |= {f"seg{s}/hidden_top": top, f"seg{s}/nll": nll}
        memories = [remember(m, h, c, mistake) for m, h in zip(memories, hidden, strict=True)]
        if c["memory"]:
            outcomes |= {f"seg{s}/mem{i}": m for i, m in enumerate(memories)}
        loss = nll.mean()
    return outcomes, loss


def shapes_of(c):
    """Names and shapes of all official parameters, aliases included."""
    heads, size, width, inner = c["heads"], c["head_width"], c["width"], c["inner"]
    shapes = {"r_w_bias": (heads, size), "r_r_bias": (heads, size)}
    for n in range(c["layers"]):
        at = f"layers.{n}"
        shapes |= {f"{at}.dec_attn.qkv_net.weight": (3 * heads * size, width)}
        shapes |= {f"{at}.dec_attn.r_net.weight": (heads * size, width)}
        shapes |= {f"{at}.dec_attn.o_net.weight": (width, heads * size)}
        shapes |= {f"{at}.pos_ff.CoreNet.0.weight": (inner, width), f"{at}.pos_ff.CoreNet.0.bias": (inner,)}
        shapes |= {f"{at}.pos_ff.CoreNet.3.weight": (width, inner), f"{at}.pos_ff.CoreNet.3.bias": (width,)}
        norms = [f"{at}.{part}.layer_norm.{kind}" for part in ("dec_attn", "pos_ff") for kind in ("weight", "bias")]
        shapes |= dict.fromkeys(norms, (width,))
    bounds, later = [0, *c["cutoffs"], c["vocabulary"]], len(c["cutoffs"])
    counts = [c["vocabulary"]] if c["divide"] == 1 else [b - a for a, b in pairwise(bounds)]
    projected = c["divide"] > 1 or c["embed"] != width
    for i, count in enumerate(counts):
        shape = (count, c["embed"] // c["divide"] ** i)
        shapes |= {f"word_emb.emb_layers.{i}.weight": shape, f"crit.out_layers.{i}.weight": shape}
        shapes |= {f"crit.out_layers.{i}.bias": (count,)}
        if projected:
            shapes |= {f"word_emb.emb_projs.{i}": (width, shape[1])}
    if projected:
        for i in range(later + 1):
            shapes |= {f"crit.out_projs.{i}": (width, c["embed"] // c["divide"] ** i)}
    if later:
        shapes |= {"crit.cluster_weight": (later, c["embed"]), "crit.cluster_bias": (later,)}
    return shapes


def make_txl(
    path,
    *,
    seed=0,
    width=8,
    heads=2,
    head_width=None,
    layers=2,
    inner=12,
    vocabulary=11,
    embed=None,
    cutoffs=(),
    divide=1,
    memory=4,
    ext_len=0,
    quirk=False,
    same_length=False,
    clamp=-1,
    pre=False,
    length=3,
    batch=2,
    segments=3,
    tied=True,
    tied_projections=(),
    mistake=None,
):
    """Write a file of the family.

    ``tied_projections`` lists the clusters whose projections are the input's; ``quirk`` keeps the rows that the
    authors' code keeps with an ``ext_len``.
    """
    c = {"width": width, "heads": heads, "head_width": head_width or width // heads, "layers": layers, "inner": inner}
    c |= {"vocabulary": vocabulary, "embed": embed or width, "cutoffs": tuple(cutoffs), "divide": divide}
    c |= {"memory": memory, "ext_len": ext_len, "quirk": quirk, "same_length": same_length, "clamp": clamp, "pre": pre}
    draw = torch.Generator().manual_seed(seed)
    shapes, aliases = shapes_of(c), {}
    for name in shapes:
        if tied and name.startswith("crit.out_layers") and name.endswith("weight"):
            aliases[name] = name.replace("crit.out_layers", "word_emb.emb_layers")
        if name.startswith("crit.out_projs") and (i := int(name.split(".")[-1])) in tied_projections:
            aliases[name] = f"word_emb.emb_projs.{0 if divide == 1 else i}"
    own = {
        name: (torch.randn(shape, generator=draw, dtype=torch.double) / 2).requires_grad_()
        for name, shape in shapes.items()
        if name not in aliases
    }
    data = torch.randint(vocabulary, (segments * length + 1, batch), generator=draw)
    cut = []
    for s in range(segments):
        start, end = s * length, (s + 1) * length
        cut.append((data[max(0, start - ext_len) : end], data[start + 1 : end + 1]))
    p = own | {alias: own[name] for alias, name in aliases.items()}
    outcomes, loss = transformer_xl(p, cut, c, mistake)
    found = torch.autograd.grad(loss, list(own.values()), allow_unused=True, materialize_grads=True)
    arrays = outcomes | {f"p/{name}": value for name, value in own.items()} | {"data": data}
    arrays |= {f"g/{name}": gradient for name, gradient in zip(own, found, strict=True)}
    for s, (ids, target) in enumerate(cut):
        arrays |= {f"seg{s}/inp": ids, f"seg{s}/tgt": target}
    settings = {"n_layer": layers, "n_head": heads, "d_model": width, "d_head": c["head_width"], "d_inner": inner}
    settings |= {"d_embed": c["embed"], "div_val": divide, "tgt_len": length, "mem_len": memory, "ext_len": ext_len}
    settings |= {"same_length": same_length, "clamp_len": clamp, "pre_lnorm": pre, "n_token": vocabulary}
    settings |= {"n_segments": segments, "cutoffs": np.array(cutoffs, dtype=np.int64)}
    settings["aliases"] = np.array([f"{alias}={name}" for alias, name in aliases.items()], dtype=str)
    settings = {name: np.array(value) for name, value in settings.items()}
    np.savez(path, **{name: value.detach().numpy() for name, value in arrays.items()}, **settings)
    return path
