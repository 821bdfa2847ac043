"""The R-Transformers among the reference values: which of our parameters their official names mean, and one pass."""

import re

import torch
from torch import Tensor, nn

from rtx_lib.layers import SampleStdNorm
from rtx_lib.layers.official import load_official
from rtx_lib.models.r_transformer import RTransformer

from .leaves import parameters, with_gradients
from .official_transformers import annotated_weights

Arrays = dict[str, Tensor]

INPUTS = {"ksize", "n_level", "n_local"}
CELLS = {1: "rnn", 3: "gru", 4: "lstm"}  # by their blocks of rows
# Official names and ours; the wrapper for images holds the body as ``rt``.
NAMES = {
    r"^(rt\.)?forward_net\.": "blocks.",
    r"\.layers\.(\d+)\.local_rnn\.rnn\.": r".local_rnns.\1.",
    r"\.layers\.(\d+)\.connection\.norm\.": r".local_norms.\1.",
    r"\.connections\.(\d)\.norm\.": r".block.norms.\1.",
    r"\.pooling\.linears\.3\.": ".block.self_attention.out_proj.",
    r"\.pooling\.": ".block.self_attention.",
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
    live = {name: value for name, value in parameters(arrays).items() if not DEAD.match(name)}
    image, x = "encoder.weight" in live, arrays["x"].clone().requires_grad_()
    model, ours = _build(arrays, live, image)
    outcomes: Arrays = {}
    _record(model, outcomes)
    y, _ = model(x.transpose(1, 2) if image else x)
    claimed = "logp" if image else "out"
    outcomes[claimed] = y[:, -1].log_softmax(-1) if image else y
    return with_gradients(arrays, outcomes, model, live, ours, out=claimed, x=x)


def _build(arrays: Arrays, live: Arrays, image: bool) -> tuple[RTransformer, Arrays]:
    """Our model with the file's sizes and weights, and these by our names."""
    at = "rt.forward_net" if image else "forward_net"
    rows, width = live[f"{at}.0.layers.0.local_rnn.rnn.weight_hh_l0"].shape
    local_layers = sum(name.startswith(f"{at}.0.") and name.endswith("weight_hh_l0") for name in live)
    if not image:  # input layer and readout that change nothing
        one = torch.eye(width).double()
        live = live | {f"{end}.weight": one for end in ("encoder", "linear")}
        live |= {f"{end}.bias": 0 * one[0] for end in ("encoder", "linear")}
    sizes = {"heads": int(arrays["n_head"]), "window": int(arrays["ksize"]), "local_layers": local_layers}
    sizes |= {"layers": sum(name.endswith("w_1.bias") for name in live)}
    sizes |= {"width": width, "inner": len(live[f"{at}.0.feed_forward.w_1.bias"])}
    ends = live["encoder.weight"].shape[1], len(live["linear.bias"])
    model = RTransformer(*ends, **sizes, cell=CELLS[rows // width], norm_layer=SampleStdNorm)
    ours = annotated_weights(live, NAMES)
    return load_official(model, ours), ours


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
