"""BERT and its heads written a second time, query by query and row by row, and files made from them."""

import math

import torch
from reference.gpt_loops import gelu as gelu_tanh
from reference.gpt_loops import norm
from reference.plain_loops import Parameters, attend, log_softmax, write

EPS = 1e-12
CLS, SEP, MASK = 1, 2, 3


def gelu(x):
    return x / 2 * (1 + torch.erf(x / math.sqrt(2)))


def encoder(p, at, ids, segments, seen, c, activation=gelu):
    """The sum of the embeddings, the hidden states and the weights of each layer; ``seen`` (B, T, T) or (T, T).

    As an input, the vector of id 0 gets no gradient: see ``official_bert.exact``.
    """
    width, heads = c["width"], c["heads"]
    words = p.of(f"{at}embeddings.word_embeddings.weight", c["vocabulary"], width)
    places = p.of(f"{at}embeddings.position_embeddings.weight", c["positions"], width)
    kinds = p.of(f"{at}embeddings.token_type_embeddings.weight", c["segments"], width)
    rows = [
        [
            (words[w] if w else words[w].detach()) + places[t] + kinds[s]
            for t, (w, s) in enumerate(zip(*row, strict=True))
        ]
        for row in zip(ids.tolist(), segments.tolist(), strict=True)
    ]
    total = torch.stack([torch.stack(row) for row in rows])
    x = norm(p, f"{at}embeddings.LayerNorm", total, EPS)
    hidden, read = [x], []
    mask = seen.expand(len(ids), *seen.shape[-2:])[:, None]
    for i in range(c["layers"]):
        layer = f"{at}encoder.layer.{i}"
        q, k, v = (
            p.linear(f"{layer}.attention.self.{part}", x, width).unflatten(-1, (heads, -1)).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        y, weights = attend(q, k, v, mask)
        y = p.linear(f"{layer}.attention.output.dense", y.transpose(1, 2).reshape(x.shape), width)
        x = norm(p, f"{layer}.attention.output.LayerNorm", x + y, EPS)
        y = p.linear(f"{layer}.output.dense", activation(p.linear(f"{layer}.intermediate.dense", x, c["inner"])), width)
        x = norm(p, f"{layer}.output.LayerNorm", x + y, EPS)
        hidden.append(x)
        read.append(weights)
    return total, hidden, read


def mean_loss(logits, labels):
    """The mean of -log P over the labels that are not -100."""
    losses = [-log_softmax(row)[y] for row, y in zip(logits.flatten(0, -2), labels.flatten(), strict=True) if y != -100]
    return sum(losses) / len(losses)


def write_texts(p, rows, length, c):
    """Ids, segments and mask (rows, T): a start, words, a separator, words, a separator, padding."""
    draw = lambda low, high: int(torch.randint(low, high, (), generator=p.generator))  # noqa: E731
    ids, kinds, mask = torch.zeros(3, rows, length, dtype=torch.int64)
    for b in range(rows):
        m = length if b == 0 else draw(min(5, length), length + 1)
        first = draw(1, max(m - 2, 2))
        ids[b, :m] = torch.randint(min(4, c["vocabulary"] - 1), c["vocabulary"], (m,), generator=p.generator)
        ids[b, 0], ids[b, first], ids[b, m - 1] = CLS, SEP, SEP
        kinds[b, first + 1 : m] = c["segments"] - 1
        mask[b, :m] = 1
    return ids, kinds, mask


SIZES = {"vocabulary": 11, "width": 6, "heads": 2, "layers": 2, "inner": 7, "positions": 9, "segments": 2}


def make_bert(path, *, seed=0, batch=3, length=6, classes=3, choices=3, **sizes):
    """Write a file of the family that its name says."""
    c, p, stem = SIZES | sizes, Parameters(seed=seed), path.stem
    settings = {"n_head": c["heads"], "layer_norm_eps": EPS}
    if "visibility" in stem:
        return _make_visibility(path, p, batch, length, c, settings)
    rows = batch * choices if "choice" in stem else batch
    ids, kinds, mask = write_texts(p, rows, length, c)
    draw = lambda high, *shape: torch.randint(high, shape, generator=p.generator)  # noqa: E731
    given = {"input_ids": ids, "token_type_ids": kinds, "attention_mask": mask}
    labels = torch.full_like(ids, -100)
    if "pretrain" in stem:
        labels[:, 1] = ids[:, 1]
        labels[0, -2] = ids[0, -2]
        ids[:, 1] = MASK
    activation = gelu_tanh if "tanh" in stem else gelu
    total, hidden, read = encoder(p, "bert.", ids, kinds, mask.bool()[:, None].expand(-1, length, -1), c, activation)
    h, width = hidden[-1], c["width"]
    if "pretrain" in stem or "sequence" in stem or "choice" in stem:
        pooled = torch.stack([torch.tanh(p.linear("bert.pooler.dense", row[0], width)) for row in h])
    if "pretrain" in stem:
        z = p.linear("cls.predictions.transform.dense", h, width)
        z = norm(p, "cls.predictions.transform.LayerNorm", activation(z), EPS)
        table = p["bert.embeddings.word_embeddings.weight"]
        logits = z @ table.T + p.of("cls.predictions.bias", c["vocabulary"])
        follows, next_logits = draw(2, batch), p.linear("cls.seq_relationship", pooled, 2)
        losses = mean_loss(logits, labels), mean_loss(next_logits, follows)
        loss, given = sum(losses), given | {"labels": labels, "next_sentence_label": follows}
        outcomes = {"embedding_sum": total, "pooled": pooled, "prediction_logits": logits, "mlm_transform": z}
        outcomes |= {"seq_relationship_logits": next_logits, "mlm_loss": losses[0], "nsp_loss": losses[1]}
        outcomes |= {f"hidden{i}": x for i, x in enumerate(hidden)} | {f"attn{i}": w for i, w in enumerate(read)}
        settings["aliases"] = ["cls.predictions.decoder.weight=bert.embeddings.word_embeddings.weight"]
    elif "span" in stem:
        start, end = draw(length, batch), draw(length, batch)
        logits = p.linear("qa_outputs", h, 2)
        loss = (mean_loss(logits[..., 0], start) + mean_loss(logits[..., 1], end)) / 2
        outcomes = {"start_logits": logits[..., 0], "end_logits": logits[..., 1]}
        given |= {"start_positions": start, "end_positions": end}
    elif "token" in stem:
        labels = torch.where((ids > MASK) & (mask == 1), draw(classes, *ids.shape), -100)
        logits = p.linear("classifier", h, classes)
        loss, outcomes, given = mean_loss(logits, labels), {"logits": logits}, given | {"labels": labels}
    else:
        choice = "choice" in stem
        logits = p.linear("classifier", pooled, 1 if choice else classes)
        logits = torch.stack(list(logits[:, 0].split(choices))) if choice else logits
        labels = draw(logits.shape[1], batch)
        loss, outcomes, given = mean_loss(logits, labels), {"logits": logits}, given | {"labels": labels}
        if choice:
            given |= {name: given[name].view(batch, choices, length) for name in tuple(given)[:3]}
    found = torch.autograd.grad(loss, list(p.values()), retain_graph=True, allow_unused=True, materialize_grads=True)
    outcomes |= {"loss": loss} | {f"g/{name}": g for name, g in zip(p, found, strict=True)}
    return write(path, given, p, outcomes, **settings)


def _make_visibility(path, p, batch, length, c, settings):
    ids = torch.randint(c["vocabulary"], (batch, length), generator=p.generator)
    ones = torch.ones(length, length)
    given, outcomes = {"input_ids": ids}, {}
    for name, seen in {"full": ones, "ltr": ones.tril(), "rtl": ones.triu()}.items():
        given[f"visible_{name}"] = seen.double()
        outcomes[f"out_{name}"] = encoder(p, "", ids, torch.zeros_like(ids), seen.bool(), c)[1][-1]
    return write(path, given, p, outcomes, **settings)
