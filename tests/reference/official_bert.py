"""BERT among the reference values: which of our parameters its names mean, and one pass of each kind with its loss."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models.bert import (
    BERT,
    PAD,
    BERTClassifier,
    BERTEncoder,
    masked_loss,
    official_sizes,
    official_weights,
    pretraining_loss,
    span_loss,
)

from .leaves import furthest, gradients, parameters, with_eps

Arrays = dict[str, Tensor]

DIRECTIONS = {"full": "both", "ltr": "left-to-right", "rtl": "right-to-left"}


def exact(arrays: Arrays, model: nn.Module) -> nn.Module:
    """The model in double precision, with the file's epsilon.

    In the files the vector of padding gets no gradient as an input, which a span's loss would give it. They come from
    a port; the authors' code has no such rule, and neither has ours.
    """
    getattr(model, "encoder", model).embedding.padding_idx = PAD
    return with_eps(arrays, model.double())


def attended(arrays: Arrays) -> Tensor:
    """The mask (B, 1, 1, T), of choices (B * C, 1, 1, T)."""
    return arrays["attention_mask"].flatten(0, -2).bool()[:, None, None]


def pretrain(arrays: Arrays, activation: str) -> Arrays:
    """Both objectives, the hidden states, and the weights of the attention."""
    given = parameters(arrays)
    model = exact(arrays, BERT.from_official(given, heads=int(arrays["n_head"]), activation=activation))
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
        y, _ = model((arrays["input_ids"], arrays["token_type_ids"]))
    labels, follows = arrays["labels"], arrays["next_sentence_label"]
    loss = pretraining_loss(y, labels, follows)
    outcomes |= {"prediction_logits": y[..., :-2], "seq_relationship_logits": y[:, 0, -2:], "loss": loss}
    outcomes |= {"mlm_loss": masked_loss(y[..., :-2], labels), "nsp_loss": F.cross_entropy(y[:, 0, -2:], follows)}
    outcomes |= {f"hidden{i}": h for i, h in enumerate(hidden)}
    outcomes |= {f"attn{i}": weights for i, (_, weights) in enumerate(recorded)}
    return outcomes | gradients(loss, model, given, official_weights(given))


def head(arrays: Arrays, kind: str) -> Arrays:
    """One of the heads with its loss."""
    given = parameters(arrays)
    ours = official_weights(given)
    size = arrays["input_ids"].shape[1] if kind == "choice" else len(ours["readout.bias"])
    bert = BERT(**official_sizes(ours), heads=int(arrays["n_head"]), next_sentence="pooler.weight" in ours)
    model = exact(arrays, BERTClassifier(bert, size, kind=kind))
    model.load_state_dict(ours)
    x = (arrays["input_ids"], arrays["token_type_ids"])
    y, _ = model(x, mask=attended(arrays))
    if kind == "span":
        loss = span_loss(y, arrays["start_positions"], arrays["end_positions"])
        outcomes = {"start_logits": y[..., 0], "end_logits": y[..., 1]}
    elif kind == "token":
        loss, outcomes = masked_loss(y, arrays["labels"]), {"logits": y}
    else:
        loss, outcomes = F.cross_entropy(y[:, 0], arrays["labels"]), {"logits": y[:, 0]}
    return outcomes | {"loss": loss} | gradients(loss, model, given, ours)


def visibility(arrays: Arrays) -> Arrays:
    """The encoder under each mask of the file, and by our own direction where that is the same; the worse of both."""
    ours, x = official_weights(parameters(arrays)), arrays["input_ids"]
    runs, sizes = [{}, {}], official_sizes(ours) | {"heads": int(arrays["n_head"])}
    for name in (name.removeprefix("visible_") for name in arrays if name.startswith("visible_")):
        ways = ("both", arrays[f"visible_{name}"].bool()), (DIRECTIONS[name], torch.tensor([True]))
        for run, (direction, mask) in zip(runs, ways, strict=True):
            encoder = exact(arrays, BERTEncoder(**sizes, direction=direction))
            encoder.load_state_dict({name.removeprefix("encoder."): p for name, p in ours.items()})
            run[f"out_{name}"] = encoder(x, mask=mask)[0]
    return furthest(runs, arrays)


HEADS = {f"bert_head_{k if k != 'sentence' else 'sequence'}": k for k in ("sentence", "token", "span", "choice")}
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
