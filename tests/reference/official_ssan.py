"""The self-attention sentiment classifier among the reference values: which parameters its names mean, and one pass."""

import torch
from torch import Tensor, nn

from rtx_lib.models.self_attention_classifier import SelfAttentionClassifier

Arrays = dict[str, Tensor]

SETTINGS = {"heads", "max_relative_positions", "relative"}
# Official names and ours; a kernel is (D_in, D_out).
NAMES = {"attention_out": "attention.out_proj", "sentence": "sentence", "logits": "readout"}
TABLES = {"p/relative_keys": "attention.positions.keys", "p/relative_values": "attention.positions.values"}


class Added(nn.Module):
    """Positions that are added as they are."""

    def __init__(self, encodings: Tensor) -> None:
        super().__init__()
        self.encodings = encodings

    def embed(self, x: Tensor) -> Tensor:
        """Plus one vector a position."""
        return x + self.encodings


def encodings(length: int, width: int) -> Tensor:
    """The authors' sinusoids (T, D): the exponent is 2i/D for feature i, and sine and cosine take turns throughout."""
    feature = torch.arange(width, dtype=torch.float64)
    angles = torch.arange(length)[:, None] / 10_000 ** (2 * feature / width)
    flat = angles.flatten()
    return torch.where(torch.arange(len(flat)) % 2 == 0, flat.sin(), flat.cos()).view(length, width)


def ssan(arrays: Arrays) -> Arrays:
    """The whole network, without masking padding; a file without ``grad_out`` claims no gradients.

    With ``pe`` the sinusoids come first, made anew.
    """
    words, width = arrays["table"].shape
    classes, ids = arrays["p/logits/kernel"].shape[1], arrays["ids"]
    positions = {"positions": "shaw", "clip": int(arrays["max_relative_positions"])} if arrays["relative"] else {}
    model = SelfAttentionClassifier(words, classes, width=width, heads=int(arrays["heads"]), padding=None, **positions)
    outcomes: Arrays = {}
    if "pe" in arrays:
        outcomes["pe"] = encodings(ids.shape[1], width)
        model.positions = Added(outcomes["pe"])
    with torch.no_grad():
        model.double().load_state_dict(_ours(arrays))
    y = model.eval()(ids)[0][:, 0]
    outcomes["out"] = y.detach()
    if "grad_out" in arrays:
        (y * arrays["grad_out"]).sum().backward()
        found = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        outcomes |= _theirs(found, width)
    return outcomes


def _ours(arrays: Arrays) -> Arrays:
    """Our parameters: queries, keys and values lie on top of each other, and a linear map is (D_out, D_in)."""
    given = {"embedding.weight": arrays["table"]}
    given["attention.in_proj_weight"] = torch.cat([arrays[f"p/{part}/kernel"].T for part in "qkv"])
    given["attention.in_proj_bias"] = torch.cat([arrays[f"p/{part}/bias"] for part in "qkv"])
    for theirs, ours in NAMES.items():
        given[f"{ours}.weight"] = arrays[f"p/{theirs}/kernel"].T
        if theirs != "logits":
            given[f"{ours}.bias"] = arrays[f"p/{theirs}/bias"]
    return given | {ours: arrays[theirs] for theirs, ours in TABLES.items() if theirs in arrays}


def _theirs(found: Arrays, width: int) -> Arrays:
    """Gradients of our parameters by the names that the files have for them."""
    outcomes = {"gtable": found["embedding.weight"]}
    for place, part in enumerate("qkv"):
        rows = slice(place * width, (place + 1) * width)
        outcomes[f"g/{part}/kernel"] = found["attention.in_proj_weight"][rows].T
        outcomes[f"g/{part}/bias"] = found["attention.in_proj_bias"][rows]
    for theirs, ours in NAMES.items():
        outcomes[f"g/{theirs}/kernel"] = found[f"{ours}.weight"].T
        if theirs != "logits":
            outcomes[f"g/{theirs}/bias"] = found[f"{ours}.bias"]
    return outcomes | {theirs.replace("p/", "g/"): found[ours] for theirs, ours in TABLES.items() if ours in found}


FAMILIES = {"ssan": ssan}
INPUTS = {"ssan": {"ids", "table", "grad_out"} | SETTINGS}
