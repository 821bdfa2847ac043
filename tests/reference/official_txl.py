"""Transformer-XL among the reference values: which of our parameters its official names mean, and its segments."""

from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from rtx_lib.layers.official import load_official
from rtx_lib.models.transformer_xl import TransformerXL

from .adaptive import AdaptiveTransformerXL
from .leaves import gradients, parameters

Arrays = dict[str, Tensor]

INPUTS = {"aliases", "clamp_len", "cutoffs", "d_embed", "d_head", "d_inner", "d_model", "data", "div_val", "ext_len"}
INPUTS |= {"mem_len", "n_head", "n_layer", "n_segments", "n_token", "pre_lnorm", "same_length", "tgt_len"}
# Of each layer, official names and ours.
LAYER = {
    "dec_attn.qkv_net.weight": "attention.in_proj_weight",
    "dec_attn.r_net.weight": "attention.r_proj_weight",
    "dec_attn.o_net.weight": "attention.out_proj.weight",
    "dec_attn.layer_norm.weight": "norms.0.weight",
    "dec_attn.layer_norm.bias": "norms.0.bias",
    "pos_ff.CoreNet.0.weight": "feed_forward.linear1.weight",
    "pos_ff.CoreNet.0.bias": "feed_forward.linear1.bias",
    "pos_ff.CoreNet.3.weight": "feed_forward.linear2.weight",
    "pos_ff.CoreNet.3.bias": "feed_forward.linear2.bias",
    "pos_ff.layer_norm.weight": "norms.1.weight",
    "pos_ff.layer_norm.bias": "norms.1.bias",
}


def build(arrays: Arrays, tied: bool = False) -> TransformerXL:
    """A model of the file's sizes, with random weights."""
    vocabulary, width = int(arrays["n_token"]), int(arrays["d_model"])
    tables = arrays["cutoffs"].tolist(), int(arrays["d_embed"]), int(arrays["div_val"])
    kind: Any = partial(TransformerXL, vocabulary, vocabulary, vocabulary=vocabulary)
    if tables != ([], width, 1):
        kind = partial(AdaptiveTransformerXL, vocabulary, *tables)
    named = {"heads": "n_head", "layers": "n_layer", "memory": "mem_len", "head_width": "d_head", "inner": "d_inner"}
    sizes = {ours: int(arrays[theirs]) for ours, theirs in {**named, "clamp": "clamp_len"}.items()}
    how = {"norm": "pre" if arrays["pre_lnorm"] else "post", "same_length": bool(arrays["same_length"])}
    model: TransformerXL = kind(width=width, **sizes, **how, tied=tied, untied_uv=not tied)
    return model.double()


def official_parameters(arrays: Arrays, found: Arrays) -> Arrays:
    """The file's parameters by official names, aliases included: these are the same tensors."""
    aliases = dict(pair.split("=") for pair in arrays.get("aliases", ()))
    return found | {alias: found[name] for alias, name in aliases.items()}


def our_parameters(official: Arrays, model: TransformerXL) -> Arrays:
    """Ours by name, as views of the official ones.

    With div_val = 1 the official tables are one, and we cut it. The authors score the later clusters in reverse order.
    """
    used, ours = set(), {}

    def take(name: str) -> Tensor:
        if name not in official:
            raise ValueError(f"path must hold the parameter {name}")
        used.add(name)
        return official[name]

    for layer in range(len(model.blocks)):
        ours |= {f"blocks.{layer}.{own}": take(f"layers.{layer}.{name}") for name, own in LAYER.items()}
        ours |= {f"blocks.{layer}.attention.{own}": take(f"r_{name}_bias") for name, own in (("w", "u"), ("r", "v"))}
    if not isinstance(model, AdaptiveTransformerXL):
        ours["embedding.weight"] = take("word_emb.emb_layers.0.weight")
        ours["readout.weight"], ours["readout.bias"] = (take(f"crit.out_layers.0.{n}") for n in ("weight", "bias"))
    else:
        clusters = model.readout.clusters
        one = "word_emb.emb_layers.1.weight" not in official
        for i, (first, count) in enumerate(clusters):
            rows, at = (slice(first, first + count), 0) if one else (slice(None), i)
            ours[f"embedding.tables.{i}"] = take(f"word_emb.emb_layers.{at}.weight")[rows]
            ours[f"readout.tables.{i}"] = take(f"crit.out_layers.{at}.weight")[rows]
            ours[f"readout.biases.{i}"] = take(f"crit.out_layers.{at}.bias")[rows]
            if model.readout.projected:
                ours[f"embedding.projections.{i}"] = take(f"word_emb.emb_projs.{at}")
                ours[f"readout.projections.{i}"] = take(f"crit.out_projs.{i}")
        if len(clusters) > 1:
            for name in ("cluster_weight", "cluster_bias"):
                ours[f"readout.{name}"] = take(f"crit.{name}").flip(0)
    if unknown := sorted(set(official) - used):
        raise ValueError(f"path must hold parameters that the model has, also holds {unknown}")
    for name, value in ours.items():  # others might be broadcast
        if (shape := model.get_parameter(name).shape) != value.shape:
            raise ValueError(f"path must hold a {name} of shape {tuple(shape)}, got {tuple(value.shape)}")
    return ours


def segments(model: TransformerXL, arrays: Arrays) -> tuple[Arrays, Tensor]:
    """All that is claimed of a file's segments, one after another, and the loss of the last."""
    outcomes, state, loss = {}, None, torch.tensor(torch.nan)
    extra, bounds = int(arrays["ext_len"]), [0, *arrays["cutoffs"].tolist(), int(arrays["n_token"])]
    for s in range(int(arrays["n_segments"])):
        x, target = arrays[f"seg{s}/inp"].T, arrays[f"seg{s}/tgt"].T
        h, after = model.encode(x, state)
        scored = slice(x.shape[1] - target.shape[1], None)
        logits, _ = model(x, state)
        nll = -logits[:, scored].log_softmax(-1).gather(2, target[..., None]).squeeze(2)
        loss = nll.mean()
        if extra and x.shape[1] > extra:  # the last tokens come again: what they leave is not yet memory
            _, after = model.encode(x[:, : x.shape[1] - extra], state)
        elif extra:
            after = state
        state = after
        outcomes |= {f"seg{s}/nll": by_cluster(nll.T, target.T, bounds), f"seg{s}/hidden_top": h.transpose(0, 1)}
        for i, memory in enumerate(state or (h[:, :0],) * (len(model.blocks) + 1)):
            name, rows = f"seg{s}/mem{i}", memory.transpose(0, 1)
            outcomes[name] = in_length(rows, len(arrays[name])) if extra and name in arrays else rows
    return outcomes, loss


def txl(arrays: Arrays) -> Arrays:
    """All segments, in evaluation mode, and the gradients of the last one's mean loss by official names.

    With ``ext_len``, every segment begins with the last tokens of the one before. The rows meant for the memory then
    leave these out; the authors' code keeps others. Where it keeps more, ours are counted as 0 there.
    """
    leaves = parameters(arrays)
    official, model = official_parameters(arrays, leaves), build(arrays).eval()
    ours = our_parameters(official, model)
    outcomes, loss = segments(load_official(model, model.state_dict() | ours), arrays)
    return outcomes | gradients(loss, model, leaves, ours)


def by_cluster(nll: Tensor, target: Tensor, bounds: list[int]) -> Tensor:
    """Losses (T, B) in the authors' order: all targets of the first cluster, then those of the next one, ..."""
    parts = [nll[(target >= low) & (target < high)] for low, high in pairwise(bounds)]
    return torch.cat(parts).view_as(nll)


def in_length(memory: Tensor, length: int) -> Tensor:
    """The last rows, after zeros where there are too few."""
    missing = max(length - len(memory), 0)
    return torch.cat([memory.new_zeros(missing, *memory.shape[1:]), memory])[len(memory) + missing - length :]
