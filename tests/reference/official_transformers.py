"""The Transformers among the reference values: which of our parameters their official names mean, and one pass."""

import math
import re

import torch
from torch import Tensor

from rtx_lib.layers import SampleStdNorm, Sinusoidal, Stack, causal_mask
from rtx_lib.models.transformer import Decoder, Transformer

Arrays = dict[str, Tensor]

INPUTS = {"src", "tgt", "src_mask", "tgt_mask", "n_head", "N", "d_model", "d_ff", "causal"}
# Official names and ours; the rows of the Annotated Transformer's first three linear maps lie in one matrix of ours.
TORCH = {
    r"^layers\.": "blocks.",
    r"\.self_attn\.": ".self_attention.",
    r"\.linear(\d)\.": r".feed_forward.linear\1.",
    r"\.norm1\.": ".norms.0.",
    r"\.norm2\.": ".norms.1.",
}
ANNOTATED = {
    r"^(en|de)coder\.": r"\1coder.stack.",
    r"\.layers\.": ".blocks.",
    r"\.self_attn\.": ".self_attention.",
    r"\.src_attn\.": ".cross_attention.",
    r"\.linears\.[012]\.": ".in_proj_",
    r"\.linears\.3\.": ".out_proj.",
    r"\.w_(\d)\.": r".linear\1.",
    r"\.sublayer\.(\d)\.norm\.": r".norms.\1.",
    r"\.a_2$": ".weight",
    r"\.b_2$": ".bias",
    r"^src_embed\.0\.lut\.": "encoder.embedding.",
    r"^tgt_embed\.0\.lut\.": "decoder.embedding.",
    r"^generator\.proj\.": "decoder.readout.",
}


def _ours(official: str, rules: dict[str, str]) -> str:
    for pattern, name in rules.items():
        official = re.sub(pattern, name, official)
    return official


def load(arrays: Arrays, model: torch.nn.Module, rules: dict[str, str]) -> None:
    """Give the model the file's parameters."""
    parts: dict[str, list[Tensor]] = {}
    for name in sorted(name for name in arrays if name.startswith("p/")):  # linears 0, 1, 2 in this order
        parts.setdefault(_ours(name.removeprefix("p/"), rules), []).append(arrays[name])
    model.double().load_state_dict({name: torch.cat(part) for name, part in parts.items()})


def gradients(arrays: Arrays, out: Tensor, model: torch.nn.Module, rules: dict[str, str]) -> Arrays:
    """``g/NAME`` of sum(out * grad_out), by official names; 0 for a parameter that was not used."""
    (out * arrays["grad_out"]).sum().backward()
    grads = {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in model.named_parameters()}
    found = {}
    for name, value in arrays.items():
        if name.startswith("p/"):
            official = name.removeprefix("p/")
            rows = re.search(r"\.linears\.([012])\.", official)
            start = int(rows[1]) * len(value) if rows else 0
            found[f"g/{official}"] = grads[_ours(official, rules)][start : start + len(value)]
    return found


def torch_stack(arrays: Arrays, norm: str) -> Arrays:
    """``torch.nn.TransformerEncoder``, batch-major, with a causal mask unless ``causal`` is 0.

    A file without ``grad_out`` claims no gradients.
    """
    parameters = {name: value for name, value in arrays.items() if name.startswith("p/")}
    inner, width = parameters["p/layers.0.linear1.weight"].shape
    layers = sum(name.endswith("linear1.weight") for name in parameters)
    options = {"inner": inner, "norm": norm, "bias": "p/layers.0.linear1.bias" in parameters}
    model = Stack(width, int(arrays["n_head"]), layers, causal=bool(arrays.get("causal", True)), **options)
    load(arrays, model, TORCH)
    x = arrays["x"].double().clone().requires_grad_()
    out, _ = model(x)
    outcomes = {"out": out}
    if "grad_out" in arrays:
        outcomes |= gradients(arrays, out, model, TORCH)
        assert x.grad is not None
        outcomes["gx"] = x.grad
    return {name: value.detach() for name, value in outcomes.items()}


def annotated(arrays: Arrays) -> Arrays:
    """The Annotated Transformer under the masks of the file; its two stacks may differ in depth and inner width.

    Where its target mask is the causal one, a second pass leaves that mask to the model, and of each outcome the one
    that is further off is taken. Gradients, if there is a ``grad_out``, are those of sum(logp * grad_out).
    """
    runs = [_annotated(arrays, own_mask=False)]
    if torch.equal(arrays["tgt_mask"].bool(), causal_mask(arrays["tgt"].shape[1])[None]):
        runs.append(_annotated(arrays, own_mask=True))

    def furthest(name: str) -> Tensor:
        return max((run[name] for run in runs), key=lambda ours: (ours - arrays[name]).abs().nan_to_num(math.inf).max())

    return {name: furthest(name) for name in runs[0] if name in arrays}


def _annotated(arrays: Arrays, own_mask: bool) -> Arrays:
    vocabularies = [len(arrays[f"p/{side}_embed.0.lut.weight"]) for side in ("src", "tgt")]
    width = arrays["p/src_embed.0.lut.weight"].shape[1]
    options = {"width": width, "heads": int(arrays["n_head"]), "norm_layer": SampleStdNorm, "activation": "relu"}
    sizes = []
    for side in ("encoder", "decoder"):
        inner = len(arrays[f"p/{side}.layers.0.feed_forward.w_1.bias"])
        depth = sum(name.startswith(f"p/{side}.") and name.endswith("w_1.bias") for name in arrays)
        sizes.append({"inner": inner, "layers": depth})
    model = Transformer(*vocabularies, **options, **sizes[0])
    model.decoder = Decoder(vocabularies[1], **options, **sizes[1])
    load(arrays, model, ANNOTATED)
    stack, decoded = model.decoder.stack, []
    if not own_mask:
        for block in stack.blocks:
            block.causal = False
        mask = {"mask": arrays["tgt_mask"].bool().unsqueeze(1)}
        stack.register_forward_pre_hook(lambda _, args, options: (args, options | mask), with_kwargs=True)
    stack.register_forward_hook(lambda _, args, result: decoded.append(result[0]))
    state = model.encode(arrays["src"], arrays["src_mask"].bool().unsqueeze(1))
    logits, _ = model((None, arrays["tgt"]), state)
    outcomes = {"memory": state[0], "decoded": decoded[0], "logp": logits.log_softmax(-1)}
    outcomes["pe"] = Sinusoidal(width).encode(torch.arange(len(arrays.get("pe", ()))), torch.double)
    if "grad_out" in arrays:
        outcomes |= gradients(arrays, outcomes["logp"], model, ANNOTATED)
    return {name: value.detach() for name, value in outcomes.items()}
