"""Transformer-XL written a second time, key by key and id by id, and files made from it.

Time comes first, as in the files.
"""

import math
from itertools import pairwise

import numpy as np
import torch
from reference.plain_loops import Parameters, encoding, layer_norm, softmax, write


def attention(p, at, h, memory, c):
    """W_o of the heads' means; h (T, B, D) after the memory (M, B, D)."""
    heads, size, width = c["heads"], c["head_width"], c["width"]
    past, (queries, batch) = len(memory), h.shape[:2]
    rows = p.of(f"{at}.qkv_net.weight", 3 * heads * size, width).split(heads * size)
    context = torch.cat([memory, h])
    q, k, v = ((z @ w.T).view(-1, batch, heads, size) for z, w in zip((h, context, context), rows, strict=True))
    u, w = p.of("r_w_bias", heads, size), p.of("r_r_bias", heads, size)
    of_distance = p.of(f"{at}.r_net.weight", heads * size, width)
    seen_keys, outputs = c["memory"] if c["same_length"] else math.inf, []
    for i in range(past, past + queries):
        keys = [j for j in range(i + 1) if j > i - seen_keys]
        scores = []
        for j in keys:
            distance = min(i - j, c["clamp"]) if c["clamp"] > 0 else i - j
            r = (of_distance @ encoding(distance, width, "halves")).view(heads, size)
            scores.append(((q[i - past] + u) * k[j] + (q[i - past] + w) * r).sum(-1) / math.sqrt(size))  # (B, H)
        weights = torch.stack([softmax(each) for each in torch.stack(scores).flatten(1).T], 1).view(-1, batch, heads)
        outputs.append(sum(a[..., None] * v[j] for a, j in zip(weights, keys, strict=True)).flatten(1))
    return torch.stack(outputs) @ p.of(f"{at}.o_net.weight", width, heads * size).T


def layer(p, at, h, memory, c):
    """One layer after the norms' order of the setting."""

    def norm(part, z):
        return p.norm(f"{at}.{part}.layer_norm", z, layer_norm, ("weight", "bias"))

    def feed(z):
        inner = p.linear(f"{at}.pos_ff.CoreNet.0", z, c["inner"]).clamp(min=0)
        return p.linear(f"{at}.pos_ff.CoreNet.3", inner, c["width"])

    if c["pre"]:
        memory = norm("dec_attn", memory) if len(memory) else memory
        h = h + attention(p, f"{at}.dec_attn", norm("dec_attn", h), memory, c)
        return h + feed(norm("pos_ff", h))
    h = norm("dec_attn", h + attention(p, f"{at}.dec_attn", h, memory, c))
    return norm("pos_ff", h + feed(h))


def bounds_of(c):
    return [0, *c["cutoffs"], c["vocabulary"]]


def draw_tables(p, c):
    """All tables and projections, also those of which no id has need; with divide = 1 there is one table."""
    later, sizes = len(c["cutoffs"]), [b - a for a, b in pairwise(bounds_of(c))]
    projected = c["divide"] > 1 or c["embed"] != c["width"]
    for i, count in enumerate([c["vocabulary"]] if c["divide"] == 1 else sizes):
        width = c["embed"] // c["divide"] ** i
        for kind in ("word_emb.emb_layers", "crit.out_layers"):
            p.of(f"{kind}.{i}.weight", count, width)
        p.of(f"crit.out_layers.{i}.bias", count)
        if projected:
            p.of(f"word_emb.emb_projs.{i}", c["width"], width)
    for i in range(later + 1 if projected else 0):
        p.of(f"crit.out_projs.{i}", c["width"], c["embed"] // c["divide"] ** i)
    if later:
        p.of("crit.cluster_weight", later, c["embed"]), p.of("crit.cluster_bias", later)


def place_of(c, token):
    """Cluster of an id, its place there, and the number of its table and the row there."""
    cluster = next(i for i, (_, end) in enumerate(pairwise(bounds_of(c))) if token < end)
    place = token - bounds_of(c)[cluster]
    return (cluster, place, 0, token) if c["divide"] == 1 else (cluster, place, cluster, place)


def embed(p, ids, c):
    """Vectors of ids (T, B), id by id."""
    found = []
    for token in ids.flatten().tolist():
        _, _, table, row = place_of(c, token)
        vector, at = p.of(f"word_emb.emb_layers.{table}.weight")[row], f"word_emb.emb_projs.{table}"
        found.append(p[at] @ vector if at in p else vector)
    return torch.stack(found).view(*ids.shape, -1) * math.sqrt(c["width"])


def loss_of(p, hidden, target, c):
    """The target's cluster, and -log p of it after one vector, with every logit by itself."""
    later, bounds = len(c["cutoffs"]), bounds_of(c)

    def log_p(cluster, index):
        at = f"crit.out_projs.{cluster}"
        z = p.of(at).T @ hidden if at in p or at in p.aliases else hidden
        rows = []
        for token in range(bounds[cluster], bounds[cluster + 1]):
            _, _, table, row = place_of(c, token)
            weight, bias = (p.of(f"crit.out_layers.{table}.{part}")[row] for part in ("weight", "bias"))
            rows.append(weight @ z + bias)
        if cluster == 0:
            rows += [p["crit.cluster_weight"][i] @ z + p["crit.cluster_bias"][i] for i in range(later)]
        return softmax(torch.stack(rows)).log()[index]

    cluster, place, _, _ = place_of(c, target)
    if cluster == 0:
        return cluster, -log_p(0, place)
    # The authors' entry for cluster i is the i-th from the end.
    return cluster, -log_p(0, bounds[1] + later - cluster) - log_p(cluster, place)


def losses(p, hidden, target, c):
    """(T, B): in the order of the clusters, as the authors return them."""
    pairs = zip(hidden.flatten(0, 1), target.flatten().tolist(), strict=True)
    found = sorted((loss_of(p, h, t, c) for h, t in pairs), key=lambda pair: pair[0])  # stable
    return torch.stack([loss for _, loss in found]).view(target.shape)


def remember(memory, h, c):
    """The last rows of [memory; h]; with ext_len, without the tokens that come again."""
    end = len(memory) + max(0, len(h) - c["ext_len"])
    return torch.cat([memory, h])[max(0, end - c["memory"]) : end].detach()


def transformer_xl(p, segments, c):
    """The outcomes of segments (ids (T, B), targets), and the mean loss of the last one.

    Parameters bear their official names. The settings c are those of :func:`make_txl`.
    """
    draw_tables(p, c)
    outcomes, loss = {}, None
    empty = torch.zeros(0, segments[0][0].shape[1], c["width"], dtype=torch.double)
    memories = [empty] * (c["layers"] + 1)
    for s, (ids, target) in enumerate(segments):
        hidden = [embed(p, ids, c)]
        for n in range(c["layers"]):
            hidden.append(layer(p, f"layers.{n}", hidden[-1], memories[n], c))
        top = hidden[-1]
        nll = losses(p, top[len(top) - len(target) :], target, c)
        outcomes |= {f"seg{s}/hidden_top": top, f"seg{s}/nll": nll}
        memories = [remember(m, h, c) for m, h in zip(memories, hidden, strict=True)]
        if c["memory"]:
            outcomes |= {f"seg{s}/mem{i}": m for i, m in enumerate(memories)}
        loss = nll.mean()
    return outcomes, loss


# Ours, and the names in the files.
SETTINGS = {"layers": "n_layer", "heads": "n_head", "width": "d_model", "head_width": "d_head", "inner": "d_inner"}
SETTINGS |= {"embed": "d_embed", "divide": "div_val", "memory": "mem_len", "ext_len": "ext_len", "cutoffs": "cutoffs"}
SETTINGS |= {"same_length": "same_length", "clamp": "clamp_len", "pre": "pre_lnorm", "vocabulary": "n_token"}
SIZES = {"width": 8, "heads": 2, "layers": 2, "inner": 12, "vocabulary": 11, "cutoffs": (), "divide": 1, "memory": 4}
SIZES |= {"ext_len": 0, "same_length": False, "clamp": -1, "pre": False}


def tying(tied, projections, divide):
    """Of an output table or projection, the input's; ``projections`` lists the clusters of which these are shared."""

    def other(name):
        kind, _, rest = name.partition(".out_")
        if tied and rest.startswith("layers") and rest.endswith("weight"):
            return f"word_emb.emb_{rest}"
        if kind == "crit" and rest.startswith("projs") and int(rest.split(".")[1]) in projections:
            return f"word_emb.emb_{'projs.0' if divide == 1 else rest}"
        return None

    return other


def make_txl(path, *, seed=0, length=3, batch=2, segments=3, tied=True, tied_projections=(), **sizes):
    """Write a file of the family."""
    c = SIZES | sizes
    c = {"head_width": c["width"] // c["heads"], "embed": c["width"]} | c
    p = Parameters(seed=seed, tied=tying(tied, tied_projections, c["divide"]))
    data = torch.randint(c["vocabulary"], (segments * length + 1, batch), generator=p.generator)
    cut = []
    for start in range(0, segments * length, length):
        end = start + length
        cut.append((data[max(0, start - c["ext_len"]) : end], data[start + 1 : end + 1]))
    outcomes, loss = transformer_xl(p, cut, c)
    found = torch.autograd.grad(loss, list(p.values()), materialize_grads=True)
    outcomes |= {f"g/{name}": gradient for name, gradient in zip(p, found, strict=True)}
    given = {"data": data}
    for s, (ids, target) in enumerate(cut):
        given |= {f"seg{s}/inp": ids, f"seg{s}/tgt": target}
    settings = {theirs: c[ours] for ours, theirs in SETTINGS.items()} | {"tgt_len": length, "n_segments": segments}
    settings["cutoffs"] = np.array(c["cutoffs"], dtype=np.int64)
    settings["aliases"] = np.array([f"{alias}={name}" for alias, name in p.aliases.items()], dtype=str)
    return write(path, given, p, outcomes, **settings)
