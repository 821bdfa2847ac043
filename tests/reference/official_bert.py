"""BERT among the reference values: which of our parameters its names mean, and one pass of each kind with its loss."""

import math
import re
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models.bert import BERT, PAD, BERTClassifier, masked_loss, pretraining_loss, span_loss

Arrays = dict[str, Tensor]

# Official names and ours; query, key and value lie in one matrix of ours.
NAMES = {
    r"^(bert\.)?embeddings\.word_embeddings\.": "encoder.embedding.",
    r"^(bert\.)?embeddings\.position_embeddings\.": "encoder.positions.",
    r"^(bert\.)?embeddings\.token_type_embeddings\.": "encoder.segments.",
    r"^(bert\.)?embeddings\.LayerNorm\.": "encoder.norm.",
    r"^(bert\.)?encoder\.layer\.(\d+)\.": r"encoder.stack.blocks.\2.",
    r"\.attention\.self\.(query|key|value)\.": ".self_attention.in_proj_",
    r"\.attention\.output\.dense\.": ".self_attention.out_proj.",
    r"\.attention\.output\.LayerNorm\.": ".norms.0.",
    r"\.intermediate\.dense\.": ".feed_forward.linear1.",
    r"(blocks\.\d+)\.output\.dense\.": r"\1.feed_forward.linear2.",
    r"(blocks\.\d+)\.output\.LayerNorm\.": r"\1.norms.1.",
    r"^bert\.pooler\.dense\.": "pooler.",
    r"^cls\.predictions\.transform\.dense\.": "transform.",
    r"^cls\.predictions\.transform\.LayerNorm\.": "norm.",
    r"^cls\.predictions\.bias$": "bias",
    r"^cls\.seq_relationship\.": "next_sentence.",
    r"^(classifier|qa_outputs)\.": "readout.",
}
PARTS = ("query", "key", "value")
DIRECTIONS = {"full": "both", "ltr": "left-to-right", "rtl": "right-to-left"}


def ours(official: str) -> str:
    for pattern, name in NAMES.items():
        official = re.sub(pattern, name, official)
    return official


def parameters(arrays: Arrays) -> tuple[Arrays, Arrays]:
    """Leaves by official names, and our parameters made of them."""
    leaves = {n.removeprefix("p/"): a.double().requires_grad_() for n, a in arrays.items() if n.startswith("p/")}
    parts: dict[str, list[Tensor]] = {}
    for name in sorted(leaves, key=lambda n: next((i for i, part in enumerate(PARTS) if f".self.{part}." in n), 0)):
        parts.setdefault(ours(name), []).append(leaves[name])
    return leaves, {name: torch.cat(part) for name, part in parts.items()}


def build(arrays: Arrays, given: Arrays, **options: object) -> BERT:
    """A model of the file's sizes."""
    vocabulary, width = given["encoder.embedding.weight"].shape
    depth = sum(name.endswith("linear1.weight") for name in given)
    sizes = {"heads": int(arrays["n_head"]), "length": len(given["encoder.positions.weight"]), "layers": depth}
    sizes |= {"inner": len(given["encoder.stack.blocks.0.feed_forward.linear1.bias"])}
    sizes |= {"segments": len(given["encoder.segments.weight"])}
    return BERT(vocabulary, width=width, **sizes, **options)


def exact(arrays: Arrays, model: nn.Module) -> nn.Module:
    """The model in double precision, with the file's epsilon.

    In the files the vector of padding gets no gradient as an input, which a span's loss would give it. They come from
    a port; the authors' code has no such rule, and neither has ours.
    """
    getattr(model, "encoder", model).embedding.padding_idx = PAD
    for module in model.double().modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = float(arrays["layer_norm_eps"])
    return model


def gradients(loss: Tensor, leaves: Arrays) -> Arrays:
    found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True, materialize_grads=True)
    return {f"g/{name}": g for name, g in zip(leaves, found, strict=True)}


def attended(arrays: Arrays) -> Tensor:
    """The mask (B, 1, 1, T), of choices (B * C, 1, 1, T)."""
    return arrays["attention_mask"].flatten(0, -2).bool()[:, None, None]


def pretrain(arrays: Arrays, activation: str) -> Arrays:
    """Both objectives, the hidden states, and the weights of the attention."""
    leaves, given = parameters(arrays)
    model = exact(arrays, build(arrays, given, activation=activation, next_sentence=True))
    outcomes: Arrays = {}
    hidden: list[Tensor] = []
    model.encoder.register_forward_pre_hook(
        lambda _, args, kw: (args, kw | {"mask": attended(arrays)}), with_kwargs=True
    )
    model.encoder.norm.register_forward_hook(lambda _, args, y: outcomes.update(embedding_sum=args[0]))
    for block in model.encoder.stack.blocks:
        block.register_forward_pre_hook(lambda _, args: hidden.append(args[0]))
    model.encoder.stack.register_forward_hook(lambda _, args, y: hidden.append(y[0]))
    model.pooler.register_forward_hook(lambda _, args, y: outcomes.update(pooled=y.tanh()))
    model.norm.register_forward_hook(lambda _, args, y: outcomes.update(mlm_transform=y))
    with record_attention(model) as recorded:
        y, _ = functional_call(model, given, ((arrays["input_ids"], arrays["token_type_ids"]),))
    labels, follows = arrays["labels"], arrays["next_sentence_label"]
    loss = pretraining_loss(y, labels, follows)
    outcomes |= {"prediction_logits": y[..., :-2], "seq_relationship_logits": y[:, 0, -2:], "loss": loss}
    outcomes |= {"mlm_loss": masked_loss(y[..., :-2], labels), "nsp_loss": F.cross_entropy(y[:, 0, -2:], follows)}
    outcomes |= {f"hidden{i}": h for i, h in enumerate(hidden)}
    outcomes |= {f"attn{i}": weights for i, (_, weights) in enumerate(recorded)}
    outcomes |= gradients(loss, leaves)
    return {name: value.detach() for name, value in outcomes.items()}


def head(arrays: Arrays, kind: str) -> Arrays:
    """One of the heads with its loss."""
    leaves, given = parameters(arrays)
    size = arrays["input_ids"].shape[1] if kind == "choice" else len(given["readout.bias"])
    bert = build(arrays, given, next_sentence="pooler.weight" in given)
    model = exact(arrays, BERTClassifier(bert, size, kind=kind))
    x = (arrays["input_ids"], arrays["token_type_ids"])
    y, _ = functional_call(model, given, (x,), {"mask": attended(arrays)})
    if kind == "span":
        loss = span_loss(y, arrays["start_positions"], arrays["end_positions"])
        outcomes = {"start_logits": y[..., 0], "end_logits": y[..., 1]}
    elif kind == "token":
        loss, outcomes = masked_loss(y, arrays["labels"]), {"logits": y}
    else:
        loss, outcomes = F.cross_entropy(y[:, 0], arrays["labels"]), {"logits": y[:, 0]}
    outcomes |= {"loss": loss} | gradients(loss, leaves)
    return {name: value.detach() for name, value in outcomes.items()}


def visibility(arrays: Arrays) -> Arrays:
    """The encoder under each mask of the file, and by our own direction where that is the same; the worse of both."""
    _, given = parameters(arrays)
    given = {name.removeprefix("encoder."): p for name, p in given.items()}
    outcomes, x = {}, arrays["input_ids"]
    for name in (name.removeprefix("visible_") for name in arrays if name.startswith("visible_")):
        claimed, runs = arrays[f"out_{name}"], []
        for direction, mask in (("both", arrays[f"visible_{name}"].bool()), (DIRECTIONS[name], torch.tensor([True]))):
            bert = build(arrays, {f"encoder.{key}": p for key, p in given.items()}, direction=direction)
            encoder = exact(arrays, bert.encoder)
            runs.append(functional_call(encoder, given, (x,), {"mask": mask})[0])
        outcomes[f"out_{name}"] = max(runs, key=lambda run, claimed=claimed: furthest(run, claimed)).detach()
    return outcomes


def furthest(run: Tensor, claimed: Tensor) -> float:
    """The error; infinite where it is NaN or the shapes differ."""
    return float((run.detach() - claimed).abs().nan_to_num(math.inf).max()) if run.shape == claimed.shape else math.inf


HEADS = {
    f"bert_head_{kind if kind != 'sentence' else 'sequence'}": kind for kind in ("sentence", "token", "span", "choice")
}
FAMILIES = {
    "bert_pretrain_tanhgelu": partial(pretrain, activation="gelu_tanh"),  # before the one whose name it begins with
    "bert_pretrain": partial(pretrain, activation="gelu"),
    **{name: partial(head, kind=kind) for name, kind in HEADS.items()},
    "bert_visibility": visibility,
}
GIVEN = {"input_ids", "token_type_ids", "attention_mask", "n_head", "layer_norm_eps"}
INPUTS = {name: GIVEN | {"labels"} for name in FAMILIES}
for _name in ("bert_pretrain_tanhgelu", "bert_pretrain"):
    INPUTS[_name] |= {"next_sentence_label", "aliases"}
INPUTS["bert_head_span"] = GIVEN | {"start_positions", "end_positions"}
INPUTS["bert_visibility"] = {"input_ids", "n_head", "layer_norm_eps", *(f"visible_{name}" for name in DIRECTIONS)}
