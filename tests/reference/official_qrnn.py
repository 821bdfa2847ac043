"""The QRNN among the reference values: the authors' code, whose f is the share of the new, and the formula of ifo."""

import re

import torch
from torch import Tensor

from rtx_lib.models.qrnn import POOLINGS, QRNN, official_weights

from .leaves import parameters, with_gradients

Arrays = dict[str, Tensor]


def qrnn(arrays: Arrays) -> Arrays:
    """Layers without a readout, time-major in the file; pooling and window are told by the sizes of the parameters.

    ``out_nostate`` starts from nothing, and ``out_pieces`` is the same sequence in two pieces. A file without
    ``grad_out`` claims no gradients.
    """
    given = parameters(arrays)
    x, c0 = (arrays[name].clone().requires_grad_() for name in ("x", "c0"))
    stack = c0 if c0.ndim == 3 else c0[None]
    layers, batch, size = stack.shape
    placed = {_place(name): value for name, value in given.items()}
    rows, columns = placed["layers.0.linear.weight"].shape
    window = columns // x.shape[2]
    pooling = {len(blocks): name for name, blocks in POOLINGS.items()}[rows // size]
    model = QRNN.from_official(placed, window=window, pooling=pooling)

    def run(x: Tensor, state: object) -> tuple[Tensor, tuple[tuple[Tensor, Tensor], ...]]:
        y, after = model(x.transpose(0, 1), state)
        return y.transpose(0, 1), after

    def last(state: tuple[tuple[Tensor, Tensor], ...]) -> Tensor:
        return torch.stack([c for c, _ in state]).view(c0.shape)

    widths = [x.shape[2]] + (layers - 1) * [size]
    start = tuple((c, x.new_zeros(batch, window - 1, width)) for c, width in zip(stack, widths, strict=True))
    outcomes: Arrays = {}
    for name, state in (("", start), ("_nostate", None)):
        outcomes[f"out{name}"], after = run(x, state)
        outcomes[f"cn{name}"] = last(after)
    pieces, state = [], start
    for piece in x.split(max(1, len(x) // 2)):
        y, state = run(piece, state)
        pieces.append(y)
    outcomes |= {"out_pieces": torch.cat(pieces), "cn_pieces": last(state)}
    return with_gradients(arrays, outcomes, model, given, official_weights(placed, window, pooling), x=x, c0=c0)


def _place(official: str) -> str:
    """The name in a stack of ``weight``, ``linear.weight`` or ``layers.1.linear.weight``, and of the biases."""
    name = re.fullmatch(r"(?:layers\.(\d+)\.)?(?:linear\.)?(weight|bias)", official)
    return f"layers.{name[1] or 0}.linear.{name[2]}" if name else official


FAMILIES = {"qrnn_": qrnn}
INPUTS = {"qrnn_": {"window"}}
