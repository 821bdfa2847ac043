"""XLNet written a second time, query by query and key by key, and files made from it."""

import math

import torch
from reference.plain_loops import Parameters, encoding, softmax, write


def norm(x, weight, bias, eps):
    centred = x - x.mean()
    return weight * centred / (centred.square().mean() + eps).sqrt() + bias


def gelu(x):
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def project(vector, weight):
    """The heads (H, K) of a vector (D,) by a matrix (D, H, K)."""
    return torch.einsum("d,dhk->hk", vector, weight)


def draw_layer(p, at, c):
    """The parameters of a layer by short names, drawn when first asked for."""
    width, heads, size, inner = c["width"], c["heads"], c["head_width"], c["inner"]
    layer = {part: p.of(f"{at}.rel_attn.{part}", width, heads, size) for part in "qkvor"}
    layer |= {
        f"{name}_bias": p.of(f"{at}.rel_attn.r_{name}_bias", heads, size) for name in "wrs"
    }  # words, relative distances, segments
    layer["segments"] = p.of(f"{at}.rel_attn.seg_embed", 2, heads, size)
    for part in ("rel_attn", "ff"):
        layer[part] = [p.of(f"{at}.{part}.layer_norm.{kind}", width) for kind in ("weight", "bias")]
    layer["in"] = [p.of(f"{at}.ff.layer_1.weight", inner, width), p.of(f"{at}.ff.layer_1.bias", inner)]
    layer["out"] = [p.of(f"{at}.ff.layer_2.weight", width, inner), p.of(f"{at}.ff.layer_2.bias", width)]
    return layer


def read(layer, c, x, place, keys, segment, allowed, sign, leak=False):
    """What a query x (D,) at a place reads, (D,), and its weights (H, S).

    The keys are triples (key, value, segment), those of the memory first; ``place`` counts from its start.
    """
    q, heads = project(x, layer["q"]), c["heads"]
    weights = torch.zeros(heads, len(keys), dtype=torch.double)
    if not allowed and leak:
        weights = torch.full_like(weights, 1 / len(keys))
    scores = []
    for j in allowed:
        k, _, other = keys[j]
        distance = sign * (place - j)
        if c["clamp"] > 0:
            distance = min(max(distance, -c["clamp"]), c["clamp"])
        if distance not in layer:
            layer[distance] = project(encoding(distance, c["width"], "halves"), layer["r"])
        r = layer[distance]
        score = ((q + layer["w_bias"]) * k).sum(1) + ((q + layer["r_bias"]) * r).sum(1)
        if segment is not None:
            score = score + ((q + layer["s_bias"]) * layer["segments"][int(segment != other)]).sum(1)
        scores.append(score / math.sqrt(c["head_width"]))
    if allowed:
        found = torch.stack([softmax(each) for each in torch.stack(scores, 1)])  # (H, allowed)
        weights = weights.index_add(1, torch.tensor(allowed), found)
    values = torch.stack([v for _, v, _ in keys], 1)  # (H, S, K)
    mixed = torch.einsum("hs,hsk->hk", weights, values)
    return torch.einsum("hk,dhk->d", mixed, layer["o"]), weights


def rest_of_layer(layer, c, x, read):
    y = norm(x + read, *layer["rel_attn"], c["eps"])
    inner = gelu(layer["in"][0] @ y + layer["in"][1])
    return norm(y + layer["out"][0] @ inner + layer["out"][1], *layer["ff"], c["eps"])


def text(p, c, ids, sees, places, types, memories, sign, leak=False):
    """One text: streams h and g before the first layer and behind each, and the weights of both.

    ``sees[i]`` lists what the query at place i sees. The weights of the query stream are those of all places: where
    nothing is asked for, of the query 0.
    """
    length, past = len(ids), len(memories[0])
    h = [p["transformer.word_embedding.weight"][word] for word in ids]
    g = [p["transformer.mask_emb"].flatten() for _ in places]
    streams, weights = [(h, g)], []
    segment = (lambda i: None) if types is None else types.__getitem__
    for depth, memory in enumerate(memories):
        layer = draw_layer(p, f"transformer.layer.{depth}", c)
        rows = [*((row, 0) for row in memory), *((row, segment(i)) for i, row in enumerate(h))]
        keys = [(project(row, layer["k"]), project(row, layer["v"]), other) for row, other in rows]

        def look(x, i, allowed, keys=keys, layer=layer):
            allowed = [*range(past), *(past + j for j in sorted(allowed))]
            return read(layer, c, x, past + i, keys, segment(i), allowed, sign, leak)

        of_h = [look(x, i, {*sees[i], i}) for i, x in enumerate(h)]
        of_g = [look(torch.zeros_like(h[0]), i, sees[i])[1] for i in range(length)]
        after_g = []
        for x, i in zip(g, places, strict=True):
            found = torch.zeros_like(x)
            if i >= 0:
                found, of_g[i] = look(x, i, sees[i])
            after_g.append(rest_of_layer(layer, c, x, found))
        h, g = [rest_of_layer(layer, c, x, y) for x, (y, _) in zip(h, of_h, strict=True)], after_g
        streams.append((h, g))
        weights.append((torch.stack([w for _, w in of_h], 1), torch.stack(of_g, 1)))  # (H, T, S)
    return streams, weights


def batch(p, c, part, memories, leak=False):
    """All that a file claims of one segment, but for what follows from its order."""
    ids, perm, mapping = part["input_ids"], part["perm_mask"], part["target_mapping"]
    size, length = ids.shape
    places = [[row.index(1) if 1 in row else -1 for row in each] for each in mapping.tolist()]
    types, outcomes, found = part.get("token_type_ids"), {}, []
    for b in range(size):
        sees = [[j for j in range(length) if perm[b, i, j] == 0] for i in range(length)]
        sign = -1 if c["both_ways"] and b >= size // 2 else 1
        mine = None if types is None else types[b].tolist()
        found.append(text(p, c, ids[b].tolist(), sees, places[b], mine, [m[:, b] for m in memories], sign, leak))
    for i in range(len(memories) + 1):
        for name, which in (("h", 0), ("g", 1)):
            outcomes[f"{name}{i}"] = torch.stack([torch.stack(streams[i][which]) for streams, _ in found])
            if i < len(memories):
                outcomes[f"attn_{name}{i}"] = torch.stack([weights[i][which] for _, weights in found])
    logits = outcomes[f"g{len(memories)}"] @ p["transformer.word_embedding.weight"].T + p["lm_loss.bias"]
    labels, powers = part["labels"], logits.exp()
    nll = (powers.sum(-1) / powers.gather(2, labels.clamp(min=0)[..., None])[..., 0]).log() * (labels >= 0)
    return outcomes | {"logits": logits, "nll": nll, "loss": nll.sum() / (labels >= 0).sum()}


def remember(memory, h, c, length):
    """(M, B, D) after a segment's h (B, T, D)."""
    first = max(1, length // 2) if c["half"] else length
    rows = torch.cat([memory, h.transpose(0, 1)[:first]])
    return rows[max(0, len(rows) - c["memory"]) :].detach()


def masks(order, target=None):
    """Ranks and mask (1 = may not see) of orders (B, T), pair by pair."""
    rank = torch.zeros_like(order)
    perm = torch.zeros(*order.shape, order.shape[1], dtype=torch.double)
    for b, row in enumerate(order.tolist()):
        for k, t in enumerate(row):
            rank[b, t] = k
        for i in range(len(row)):
            for j in range(len(row)):
                plain = [target is not None and not target[b, t] for t in (i, j)]
                hidden = not plain[1] and (plain[0] or rank[b, i] <= rank[b, j])
                perm[b, i, j] = float(hidden)
    return rank, perm


def ask(generator, c, batch, time):
    """One segment: ids, an order, what is predicted, and segments."""
    ids = torch.randint(c["vocabulary"], (batch, time), generator=generator)
    order = torch.stack([torch.randperm(time, generator=generator) for _ in range(batch)])
    if c["identity"]:
        order = torch.arange(time).repeat(batch, 1)
    part, slots = {"input_ids": ids, "order": order}, [list(range(time))] * batch
    target = None
    if c["partial"]:
        target = torch.zeros_like(ids)
        for row in target:
            row[torch.randperm(time, generator=generator)[: c["partial"]]] = 1
        slots = [row.nonzero()[:, 0].tolist() for row in target]
        slots[0] = [*slots[0][:-1], -1]  # a place that is not used
        part["is_target"] = target
    part["rank"], part["perm_mask"] = masks(order, target)
    part["target_mapping"] = torch.zeros(batch, len(slots[0]), time, dtype=torch.double)
    part["labels"] = torch.full((batch, len(slots[0])), -100)
    for b, row in enumerate(slots):
        for n, t in enumerate(row):
            if t >= 0:
                part["target_mapping"][b, n, t], part["labels"][b, n] = 1, ids[b, t]
    if c["types"]:
        part["token_type_ids"] = torch.randint(3, ids.shape, generator=generator).sort(1).values
    return part


def draw_tables(p, c):
    p.of("transformer.mask_emb", 1, 1, c["width"])
    p.of("transformer.word_embedding.weight", c["vocabulary"], c["width"])
    for i in range(c["layers"]):
        draw_layer(p, f"transformer.layer.{i}", c)


def segments(p, c, parts):
    """The outcomes of segments one after another, and the loss of the last."""
    size, outcomes = len(parts[0]["input_ids"]), {}
    memories = [torch.zeros(0, size, c["width"], dtype=torch.double)] * c["layers"]
    for s, part in enumerate(parts):
        at = f"seg{s}/" if c["memory"] else ""
        found, length = batch(p, c, part, memories), part["input_ids"].shape[1]
        loss = found["loss"]
        memories = [remember(memory, found[f"h{i}"], c, length) for i, memory in enumerate(memories)]
        if c["memory"]:
            found |= {f"new_mem{i}": memory for i, memory in enumerate(memories)}
        if s == 0 and not c["partial"]:
            leaking = batch(p, c, part, [memory[:0] for memory in memories], leak=True)
            found |= {f"official_{name}": leaking[name] for name in ("logits", "loss")}
        if s == 0 and c["identity"]:
            found |= {f"uni_h{i}": found[f"h{i}"] for i in range(c["layers"] + 1)}
        outcomes |= {f"{at}{name}": value for name, value in found.items()}
    return outcomes, loss


DEFAULTS = {"width": 4, "heads": 2, "head_width": 2, "layers": 2, "inner": 5, "vocabulary": 7, "clamp": -1}
DEFAULTS |= {"memory": 0, "partial": 0, "types": False, "both_ways": False, "identity": False, "eps": 1e-12}


def make_segments(path, *, seed=0, batch=2, time=4, pieces=1, **sizes):
    c = DEFAULTS | {"half": "reuse" in path.stem} | sizes
    p = Parameters(seed=seed)
    draw_tables(p, c)
    p.of("lm_loss.bias", c["vocabulary"])
    parts = [ask(p.generator, c, batch, time) for _ in range(pieces)]
    outcomes, loss = segments(p, c, parts)
    gradients = torch.autograd.grad(loss, list(p.values()), materialize_grads=True)
    outcomes |= {f"g/{name}": gradient for name, gradient in zip(p, gradients, strict=True)}
    at = [f"seg{s}/" if c["memory"] else "" for s in range(pieces)]
    given = {f"{before}{name}": value for before, part in zip(at, parts, strict=True) for name, value in part.items()}
    settings = {"n_head": c["heads"], "layer_norm_eps": c["eps"], "clamp_len": c["clamp"]}
    settings |= {"bi_data": int(c["both_ways"]), "mem_len": c["memory"] or 512}
    settings["aliases"] = ["lm_loss.weight=transformer.word_embedding.weight"]
    follows = {name for name in given if name.endswith(("rank", "perm_mask"))}
    return write(path, given, p, outcomes, **settings) | follows


def make_classify(path, *, seed=0, batch=3, time=5, classes=3, **sizes):
    c = DEFAULTS | sizes
    p = Parameters(seed=seed)
    draw_tables(p, c)
    width, size = c["width"], c["vocabulary"]
    summary = [p.of("sequence_summary.summary.weight", width, width), p.of("sequence_summary.summary.bias", width)]
    readout = [p.of("logits_proj.weight", classes, width), p.of("logits_proj.bias", classes)]
    ids = torch.randint(size, (batch, time), generator=p.generator)
    real, types = torch.ones_like(ids), torch.zeros_like(ids)
    types[:, time // 2 :], types[:, -1] = 1, 2
    for b in range(batch):
        real[b, : b % time], types[b, : b % time] = 0, 4
    streams = []
    for b in range(batch):
        sees = [[j for j in range(time) if real[b, j]] for _ in range(time)]
        empty = [torch.zeros(0, width, dtype=torch.double)] * c["layers"]
        streams.append([h for h, _ in text(p, c, ids[b].tolist(), sees, [], types[b].tolist(), empty, 1)[0]])
    outcomes = {f"h{i}": torch.stack([torch.stack(each[i]) for each in streams]) for i in range(c["layers"] + 1)}
    last = torch.stack([each[-1][-1] for each in streams])
    logits = torch.tanh(last @ summary[0].T + summary[1]) @ readout[0].T + readout[1]
    labels = torch.randint(classes, (batch,), generator=p.generator)
    loss = -torch.stack([softmax(row)[label].log() for row, label in zip(logits, labels, strict=True)]).mean()
    gradients = torch.autograd.grad(loss, list(p.values()), materialize_grads=True)
    outcomes |= {"logits": logits, "loss": loss}
    outcomes |= {f"g/{name}": gradient for name, gradient in zip(p, gradients, strict=True)}
    given = {"input_ids": ids, "attention_mask": real, "token_type_ids": types, "labels": labels}
    return write(path, given, p, outcomes, n_head=c["heads"], layer_norm_eps=c["eps"])


def windows(ids, masked, shuffle, sep, cls):
    """Ranks, mask (1 = may not see) and targets of partial prediction in windows, token by token."""
    size, length = ids.shape
    index, perm = torch.zeros_like(ids), torch.zeros(size, length, length, dtype=torch.double)
    target = torch.zeros(size, length, dtype=torch.double)
    for b in range(size):
        for t in range(length):
            window = shuffle.shape[1]
            index[b, t] = t // window * window + shuffle[b, t % window]
        kinds = []
        for t in range(length):
            functional = int(ids[b, t]) in (sep, cls)
            kinds.append("functional" if functional else "target" if masked[b, t] else "plain")
            target[b, t] = float(kinds[-1] == "target")
        for i in range(length):
            for j in range(length):
                later = index[b, j] > index[b, i] or (i == j and kinds[i] == "target")
                perm[b, i, j] = float(kinds[j] != "plain" and (kinds[i] == "plain" or later))
    return index, perm, target


def make_local_perm(path, *, seed=0, batch=3, time=12, window=6, sep=4, cls=3, share=0.4):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(2, 7, (batch, time), generator=generator)
    masked = (torch.rand(batch, time, generator=generator) < share).long()
    shuffle = torch.stack([torch.randperm(window, generator=generator) for _ in range(batch)])
    index, perm, target = windows(ids, masked, shuffle, sep, cls)
    outcomes = {"index": index, "perm_mask": perm, "targets": ids, "target_mask": target}
    given = {"inputs": ids, "is_masked": masked, "shuffle": shuffle}
    return write(path, given, {}, outcomes, perm_size=window, sep_id=sep, cls_id=cls)


def make_xlnet(path, **sizes):
    """Write a file of the family that its name says; the names of its outcomes."""
    kinds = {"classify": make_classify, "local_perm": make_local_perm}
    maker = next((make for kind, make in kinds.items() if kind in path.stem), make_segments)
    return maker(path, **sizes)
