"""The R-Transformers among the reference values: which of our parameters their official names mean, and one pass."""

import re

import torch
from reference.official_transformers import gradients, load
from torch import Tensor, nn

from rtx_lib.layers import SampleStdNorm
from rtx_lib.models.r_transformer import RTransformer

Arrays = dict[str, Tensor]

INPUTS = {"ksize", "n_level", "n_local"}
CELLS = {1: "rnn", 3: "gru", 4: "lstm"}  # by their blocks of rows
# Official names and ours; the wrapper for images holds the body as ``rt``.
NAMES = {
    r"^(rt\.)?forward_net\.": "blocks.",
    r"\.layers\.(\d+)\.local_rnn\.rnn\.": r".local_rnns.\1.",
    r"\.layers\.(\d+)\.connection\.norm\.": r".local_norms.\1.",
    r"\.connections\.(\d)\.norm\.": r".block.norms.\1.",
    r"\.pooling\.linears\.[012]\.": ".block.self_attention.in_proj_",
    r"\.pooling\.linears\.3\.": ".block.self_attention.out_proj.",
    r"\.feed_forward\.w_(\d)\.": r".block.feed_forward.linear\1.",
    r"\.a_2$": ".weight",
    r"\.b_2$": ".bias",
    r"^encoder\.": "embedding.",
    r"^linear\.": "readout.",
}
# Parameters that the authors' code makes and never uses.
DEAD = re.compile(r"^(rt\.)?(norm\.|feed_forward\.|forward_net\.\d+\.layers\.\d+\.local_rnn\.output\.0\.)")


def r_transformer(arrays: Arrays) -> Arrays:
    """The body, x (B, T, D), or with an ``encoder`` the wrapper for images, x (B, D_in, T); any depth, width and cell.

    The cell is the one whose weights have the file's shapes. A file without ``grad_out`` claims no gradients.
    """
    for name in arrays:
        if name.startswith("dead/") and not DEAD.match(name.removeprefix("dead/")):
            raise ValueError(f"path must call dead only what the authors' code never uses, got {name}")
    live = {n: v for n, v in arrays.items() if n.startswith("p/") and not DEAD.match(n.removeprefix("p/"))}
    image = "p/encoder.weight" in live
    x = arrays["x"].double().clone().requires_grad_()
    model = _build(arrays, live, image)
    outcomes: Arrays = {}
    _record(model, outcomes)
    y, _ = model(x.transpose(1, 2) if image else x)
    claimed = "logp" if image else "out"
    outcomes[claimed] = y[:, -1].log_softmax(-1) if image else y
    if "grad_out" in arrays:
        outcomes |= gradients(live | {"grad_out": arrays["grad_out"]}, outcomes[claimed], model, NAMES)
        assert x.grad is not None
        outcomes["gx"] = x.grad
    return {name: value.detach() for name, value in outcomes.items()}


def _build(arrays: Arrays, live: Arrays, image: bool) -> RTransformer:
    """Our model with the file's sizes and weights."""
    at = "p/rt.forward_net" if image else "p/forward_net"
    rows, width = live[f"{at}.0.layers.0.local_rnn.rnn.weight_hh_l0"].shape
    local_layers = sum(name.startswith(f"{at}.0.") and name.endswith("weight_hh_l0") for name in live)
    if not image:  # input layer and readout that change nothing
        live = {"p/encoder.weight": torch.eye(width), "p/encoder.bias": torch.zeros(width), **live}
        live = {"p/linear.weight": torch.eye(width), "p/linear.bias": torch.zeros(width), **live}
    model = RTransformer(
        live["p/encoder.weight"].shape[1],
        len(live["p/linear.bias"]),
        width=width,
        heads=int(arrays["n_head"]),
        layers=sum(name.endswith("w_1.bias") for name in live),
        window=int(arrays["ksize"]),
        cell=CELLS[rows // width],
        local_layers=local_layers,
        inner=len(live[f"{at}.0.feed_forward.w_1.bias"]),
        norm_layer=SampleStdNorm,
    )
    load(live, model, NAMES)
    return model


def _record(model: RTransformer, outcomes: Arrays) -> None:
    """Let one pass leave what is inside under the names that the files have."""

    def keep(module: nn.Module, name: str, of_input: bool = False) -> None:
        def hook(_: nn.Module, args: tuple[Tensor, ...], result: Tensor | tuple[Tensor, ...]) -> None:
            value = args if of_input else result
            outcomes[name] = value[0] if isinstance(value, tuple) else value

        module.register_forward_hook(hook)

    for b, block in enumerate(model.blocks):
        for i, local_rnn in enumerate(block.local_rnns):
            keep(local_rnn, f"block{b}_local{i}_rnn")
            after = [*block.local_norms, block.block][i + 1]  # what reads the sum
            keep(after, f"block{b}_local{i}_out", of_input=True)
        keep(block.block.self_attention, f"block{b}_attn")
        keep(block.block.feed_forward, f"block{b}_ffn")
        keep(block, f"block{b}_out")
