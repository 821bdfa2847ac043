"""The QRNN among the reference values: the authors' code, whose f is the share of the new, and the formula of ifo."""

import re

import torch
from torch import Tensor
from torch.func import functional_call

from rtx_lib.models.qrnn import POOLINGS, QRNN

Arrays = dict[str, Tensor]


def qrnn(arrays: Arrays) -> Arrays:
    """Layers without a readout, time-major in the file; pooling and window are told by the sizes of the parameters.

    ``out_nostate`` starts from nothing, and ``out_pieces`` is the same sequence in two pieces. A file without
    ``grad_out`` claims no gradients.
    """
    given = {name.removeprefix("p/"): value for name, value in arrays.items() if name.startswith("p/")}
    x, c0 = (arrays[name].clone().requires_grad_() for name in ("x", "c0"))
    stack = c0 if c0.ndim == 3 else c0[None]
    layers, batch, size = stack.shape
    first = next(value for name, value in given.items() if name.endswith("weight"))
    window = first.shape[1] // x.shape[2]
    pooling = {len(blocks): name for name, blocks in POOLINGS.items()}[len(first) // size]
    formula = pooling == "ifo"  # the paper's, where f is the share of the old: the authors' code has none
    model = QRNN(x.shape[2], size, layers, size, window=window, pooling=pooling).double()

    leaves = {name: value.clone().requires_grad_() for name, value in given.items()}
    weights = {_place(name): _ours(value, size, window, formula) for name, value in leaves.items()}
    weights |= {"readout.weight": torch.eye(size).double(), "readout.bias": torch.zeros(size).double()}

    def run(x: Tensor, state: object) -> tuple[Tensor, tuple[tuple[Tensor, Tensor], ...]]:
        y, after = functional_call(model, weights, (x.transpose(0, 1), state), strict=True)
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
    if "grad_out" in arrays:
        found = torch.autograd.grad((outcomes["out"] * arrays["grad_out"]).sum(), [x, c0, *leaves.values()])
        outcomes |= dict(zip(["gx", "gc0", *(f"g/{name}" for name in leaves)], found, strict=True))
    return {name: value.detach() for name, value in outcomes.items()}


def _place(official: str) -> str:
    """Our name of ``weight``, ``linear.weight`` or ``layers.1.linear.weight``, and of the biases."""
    name = re.fullmatch(r"(?:layers\.(\d+)\.)?(?:linear\.)?(weight|bias)", official)
    return f"layers.{name[1] or 0}.conv.{name[2]}" if name else official


def _ours(theirs: Tensor, size: int, window: int, formula: bool) -> Tensor:
    """Their rows with another sign of f, as 1 - sigmoid(a) = sigmoid(-a); their columns begin with the present."""
    z, f, *others = theirs.split(size)
    rows = theirs if formula else torch.cat([z, -f, *others])
    return rows if rows.ndim == 1 else torch.stack(rows.chunk(window, dim=1)[::-1], dim=2)


FAMILIES = {"qrnn_": qrnn}
INPUTS = {"qrnn_": {"window"}}
