"""ByteNet's blocks and ConvS2S among the reference values: which of our parameters theirs are, and one pass."""

import re
from collections.abc import Callable

import torch
from torch import Tensor, nn

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.models.bytenet import ByteNetBlock
from rtx_lib.models.convs2s import ConvS2S

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


def _load(arrays: Arrays, model: nn.Module, rules: dict[str, str], ours: Callable[[str, Tensor], Tensor]) -> None:
    """Give the model the file's parameters, each laid out as ours are."""
    found = {}
    for name, value in arrays.items():
        if name.startswith("p/"):
            official = name.removeprefix("p/")
            found[_place(official, rules)] = ours(official, value)
    model.double().load_state_dict(found)


def _place(official: str, rules: dict[str, str]) -> str:
    for pattern, name in rules.items():
        official = re.sub(pattern, name, official)
    return official


def _gradients(
    arrays: Arrays, out: Tensor, model: nn.Module, rules: dict[str, str], theirs: Callable[[str, Tensor], Tensor]
) -> Arrays:
    """``g/NAME`` of sum(out * grad_out), by official names and laid out as theirs are."""
    (out * arrays["grad_out"]).sum().backward()
    named, found = dict(model.named_parameters()), {}
    for name in arrays:
        if name.startswith("p/"):
            official = name.removeprefix("p/")
            gradient = named[_place(official, rules)].grad
            assert gradient is not None
            found[f"g/{official}"] = theirs(official, gradient)
    return found


def bytenet(arrays: Arrays, causal: bool) -> Arrays:
    """Blocks on one another, x (B, T, 2d); one of the dilation that the file gives, or several of its dilations.

    Kernels are (1, k, in, out). A file without ``grad_out`` claims no gradients.
    """
    several = "dilations" in arrays
    dilations = arrays["dilations"].tolist() if several else [int(arrays["dilation"])]
    first = "p/blocks.0/" if several else "p/"
    (_, taps, _, _), width = arrays[f"{first}dilated_conv/w"].shape, arrays["x"].shape[2]
    blocks = nn.ModuleList(ByteNetBlock(width, taps, dilation, causal=causal) for dilation in dilations)
    for module in blocks.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = float(arrays["ln_eps"])
    rules = BLOCK if several else BLOCK | {r"^": "0."}

    def ours(name: str, value: Tensor) -> Tensor:
        return value.flatten(0, 2).T if name.endswith("/w") else value  # (out, k in)

    def theirs(name: str, value: Tensor) -> Tensor:
        return value.T.unflatten(0, arrays[f"p/{name}"].shape[:3]) if name.endswith("/w") else value

    _load(arrays, blocks, rules, ours)
    x = arrays["x"].double().clone().requires_grad_()
    out = x
    for block in blocks:
        out, _ = block(out)
    outcomes = {"out": out}
    if "grad_out" in arrays:
        outcomes |= _gradients(arrays, out, blocks, rules, theirs)
        assert x.grad is not None
        outcomes["gx"] = x.grad
    return {name: value.detach() for name, value in outcomes.items()}


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

    def theirs(name: str, value: Tensor) -> Tensor:
        if "embed_tokens" in name:
            return swapped(value)
        if "embed_positions" in name:
            return torch.cat([value.new_zeros(pad + 1, width), value])
        return (
            value.T.unflatten(0, arrays[f"p/{name}"].shape[:2])
            if "convolutions" in name and "weight" in name
            else value
        )

    _load(arrays, model, CONVS2S, ours)
    source, target = (
        swapped(torch.arange(max(size, pad + 1)))[arrays[side]]
        for side, size in zip(("src", "tgt"), sizes, strict=True)
    )
    with record_attention(model) as recorded:
        logits, (keys, values, *_) = model((source, target))
    mean = torch.stack([weights for _, weights in recorded]).sum(0) / len(attention)
    outcomes = {"enc_z": keys, "enc_zx": values, "logits": logits, "attn_mean": mean}
    if "grad_out" in arrays:
        outcomes |= _gradients(arrays, logits, model, CONVS2S, theirs)
    return {name: value.detach() for name, value in outcomes.items()}


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
