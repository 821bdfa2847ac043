"""The self-attention sentiment classifier among the reference values: which parameters its names mean, and one pass."""

import torch
from torch import Tensor, nn

from rtx_lib.layers.official import joined, load_official, renamed
from rtx_lib.models.self_attention_classifier import SelfAttentionClassifier

from .leaves import parameters, with_gradients

Arrays = dict[str, Tensor]

SETTINGS = {"heads", "max_relative_positions", "relative"}
# Official names and ours; a kernel is (D_in, D_out).
NAMES = {
    r"^table$": "embedding.weight",
    r"^relative_": "attention.positions.",
    r"^attention_out/": "attention.out_proj/",
    r"^logits/": "readout/",
    r"/kernel$": ".weight",
    r"/bias$": ".bias",
}


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
    given = parameters(arrays) | {"table": arrays["table"].clone().requires_grad_()}
    turned = {name: value.T if name.endswith("/kernel") else value for name, value in given.items()}
    ours = joined(renamed(turned, NAMES), ["q.", "k.", "v."], "attention.in_proj_")
    outcomes["out"] = load_official(model, ours).eval()(ids)[0][:, 0]
    found = with_gradients(arrays, outcomes, model, given, ours)
    return found | ({"gtable": found["g/table"]} if "g/table" in found else {})


FAMILIES = {"ssan": ssan}
INPUTS = {"ssan": {"ids", "table", "grad_out"} | SETTINGS}
