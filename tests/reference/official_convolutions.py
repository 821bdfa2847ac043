"""ByteNet's blocks and ConvS2S among the reference values: which of our parameters theirs are, and one pass."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers.official import load_official, renamed
from rtx_lib.models.bytenet import ByteNetBlock
from rtx_lib.models.convs2s import ConvS2S

from .leaves import parameters, with_eps, with_gradients

Arrays = dict[str, Tensor]

# Official names and ours.
BLOCK = {
    r"^blocks\.(\d+)/": r"\1.",
    r"ln1/": "norms.0.",
    r"ln2/": "norms.1.",
    r"ln3/": "norms.2.",
    r"conv1d_1/": "reduce.",
    r"dilated_conv/": "dilated.",
    r"conv1d_2/": "expand.",
    r"gamma$": "weight",
    r"beta$": "bias",
    r"\.w$": ".weight",
    r"\.b$": ".bias",
}
CONVS2S = {
    r"^(en|de)coder\.embed_tokens": r"\1.words",
    r"^(en|de)coder\.embed_positions": r"\1.positions",
    r"^en\.": "source_embedding.",
    r"^de\.": "target_embedding.",
    r"coder\.fc1\.": "coder_in.",
    r"coder\.fc2\.": "coder_out.",
    r"^decoder\.fc3\.": "readout.",
    r"coder\.convolutions\.(\d+)\.": r"coder.\1.gated.convolution.",
    r"coder\.projections\.(\d+)\.": r"coder.\1.gated.projection.",
    r"^decoder\.attention\.(\d+)\.in_projection\.": r"decoder.\1.attention.query.",
    r"^decoder\.attention\.(\d+)\.out_projection\.": r"decoder.\1.attention.out.",
}


def bytenet(arrays: Arrays, causal: bool) -> Arrays:
    """Blocks on one another, x (B, T, 2d); one of the dilation that the file gives, or several of its dilations.

    Kernels are (1, k, in, out). A file without ``grad_out`` claims no gradients.
    """
    several = "dilations" in arrays
    dilations = arrays["dilations"].tolist() if several else [int(arrays["dilation"])]
    first = "p/blocks.0/" if several else "p/"
    (_, taps, _, _), width = arrays[f"{first}dilated_conv/w"].shape, arrays["x"].shape[2]
    blocks = nn.ModuleList(ByteNetBlock(width, taps, dilation, causal=causal) for dilation in dilations)
    with_eps(arrays, blocks, "ln_eps")
    rules = BLOCK if several else BLOCK | {r"^": "0."}

    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    turned = {name: value.flatten(0, 2).T if name.endswith("/w") else value for name, value in given.items()}
    ours = renamed(turned, rules)  # kernels are (out, k in)
    out = x
    for block in load_official(blocks, ours):
        out, _ = block(out)
    return with_gradients(arrays, {"out": out}, blocks, given, ours, x=x)


def convs2s(arrays: Arrays) -> Arrays:
    """Encoder and decoder of any depth, widths, kernels and attentions, all told by the file.

    Its id of padding, p, is our 0 and its 0 our p. Positions of theirs count from p + 1. Kernels are (k, in, out).
    A file without ``grad_out`` claims no gradients.
    """
    pad, width = int(arrays["padding_idx"]), arrays["p/encoder.embed_tokens.weight"].shape[1]
    sizes = [len(arrays[f"p/{side}coder.embed_tokens.weight"]) for side in ("en", "de")]
    layers = {f"{side}coder": [tuple(layer) for layer in arrays[f"{side[:2]}c_conv"].tolist()] for side in ("en", "de")}
    positions = len(arrays["p/encoder.embed_positions.weight"])
    attention = arrays["attention"].bool().tolist()
    out_width = len(arrays["p/decoder.fc2.bias"])
    model = ConvS2S(*sizes, width=width, **layers, attention=attention, out_width=out_width, length=positions - pad - 1)

    def swapped(rows: Tensor) -> Tensor:
        order = torch.arange(len(rows))
        order[[0, pad]] = order[[pad, 0]]
        return rows[order]

    def ours(name: str, value: Tensor) -> Tensor:
        if "embed_tokens" in name:
            return swapped(value)
        if "embed_positions" in name:
            return value[pad + 1 :]
        return value.flatten(0, -2).T if "convolutions" in name and "weight" in name else value  # (out, k in)

    given = parameters(arrays)
    rows = renamed({name: ours(name, value) for name, value in given.items()}, CONVS2S)
    load_official(model, rows)
    source, target = (
        swapped(torch.arange(max(size, pad + 1)))[arrays[side]]
        for side, size in zip(("src", "tgt"), sizes, strict=True)
    )
    with record_attention(model) as recorded:
        logits, (keys, values, *_) = model((source, target))
    mean = torch.stack([weights for _, weights in recorded]).sum(0) / len(attention)
    outcomes = {"enc_z": keys, "enc_zx": values, "logits": logits, "attn_mean": mean}
    return with_gradients(arrays, outcomes, model, given, rows, out="logits")


FAMILIES: dict[str, Callable[[Arrays], Arrays]] = {
    "bytenet_encoder_block": lambda arrays: bytenet(arrays, causal=False),
    "bytenet_": lambda arrays: bytenet(arrays, causal=True),
    "convs2s": convs2s,
}
INPUTS = {
    "bytenet_encoder_block": {"dilation", "ln_eps"},
    "bytenet_": {"dilation", "dilations", "ln_eps"},
    "convs2s": {"src", "tgt", "padding_idx", "enc_conv", "dec_conv", "attention"},
}
