"""The Transformers among the reference values: which of our parameters their official names mean, and one pass."""

import torch
from torch import Tensor

from rtx_lib.layers import SampleStdNorm, Sinusoidal, Stack, causal_mask
from rtx_lib.layers.official import joined, load_official, renamed
from rtx_lib.models.transformer import Decoder, Transformer

from .leaves import furthest, parameters, with_gradients

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
    r"\.linears\.3\.": ".out_proj.",
    r"\.w_(\d)\.": r".linear\1.",
    r"\.sublayer\.(\d)\.norm\.": r".norms.\1.",
    r"\.a_2$": ".weight",
    r"\.b_2$": ".bias",
    r"^src_embed\.0\.lut\.": "encoder.embedding.",
    r"^tgt_embed\.0\.lut\.": "decoder.embedding.",
    r"^generator\.proj\.": "decoder.readout.",
}


def annotated_weights(arrays: Arrays, rules: dict[str, str] = ANNOTATED) -> Arrays:
    """Parameters of the Annotated Transformer, or of what is made of its code, by our names."""
    return joined(renamed(arrays, rules), [f".linears.{i}." for i in range(3)], ".in_proj_")


def torch_stack(arrays: Arrays, norm: str) -> Arrays:
    """``torch.nn.TransformerEncoder``, batch-major, with a causal mask unless ``causal`` is 0.

    A file without ``grad_out`` claims no gradients.
    """
    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    inner, width = given["layers.0.linear1.weight"].shape
    layers = sum(name.endswith("linear1.weight") for name in given)
    options = {"inner": inner, "norm": norm, "bias": "layers.0.linear1.bias" in given}
    model = Stack(width, int(arrays["n_head"]), layers, causal=bool(arrays.get("causal", True)), **options)
    ours = renamed(given, TORCH)
    outcomes = {"out": load_official(model, ours)(x)[0]}
    return with_gradients(arrays, outcomes, model, given, ours, x=x)


def annotated(arrays: Arrays) -> Arrays:
    """The Annotated Transformer under the masks of the file; its two stacks may differ in depth and inner width.

    Where its target mask is the causal one, a second pass leaves that mask to the model, and of each outcome the one
    that is further off is taken. Gradients, if there is a ``grad_out``, are those of sum(logp * grad_out).
    """
    runs = [_annotated(arrays, own_mask=False)]
    if torch.equal(arrays["tgt_mask"].bool(), causal_mask(arrays["tgt"].shape[1])[None]):
        runs.append(_annotated(arrays, own_mask=True))
    return furthest(runs, arrays)


def _annotated(arrays: Arrays, own_mask: bool) -> Arrays:
    given = parameters(arrays)
    tables = [given[f"{side}_embed.0.lut.weight"] for side in ("src", "tgt")]
    vocabularies, width = [len(table) for table in tables], tables[0].shape[1]
    options = {"width": width, "heads": int(arrays["n_head"]), "norm_layer": SampleStdNorm, "activation": "relu"}
    sizes = []
    for side in ("encoder", "decoder"):
        inner = len(given[f"{side}.layers.0.feed_forward.w_1.bias"])
        depth = sum(name.startswith(f"{side}.") and name.endswith("w_1.bias") for name in given)
        sizes.append({"inner": inner, "layers": depth})
    model, ours = Transformer(*vocabularies, **options, **sizes[0]), annotated_weights(given)
    model.decoder = Decoder(vocabularies[1], **options, **sizes[1])
    load_official(model, ours)
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
    return with_gradients(arrays, outcomes, model, given, ours, out="logp")
