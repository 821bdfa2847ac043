"""Compare our modules with the numbers of the original implementations (tests/fixtures/README.md)."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rtx_lib.layers import RNN

Arrays = dict[str, Tensor]

# What a file gives, as opposed to what it claims comes out.
INPUTS = {"x", "h0", "c0", "grad_out"}


def check(path: str | Path) -> dict[str, float]:
    """The largest absolute error of every output and gradient array of one file, by the array's name.

    Builds our module from the arrays, whatever their sizes, and runs it in float64.

    Raises
    ------
    ValueError
        For a family that is not known, or an array that is neither an input nor an outcome that we compute.
    """
    path = Path(path)
    for family, outcomes in FAMILIES.items():
        if path.stem.startswith(family):
            with np.load(path) as file:
                arrays = {name: torch.from_numpy(file[name]) for name in file.files}
            ours = outcomes(arrays)
            break
    else:
        raise ValueError(f"path must name a file of one of the families {sorted(FAMILIES)}, got {path.name}")
    claimed = {n for n in arrays if n not in INPUTS and not n.startswith(("p/", "init/", "dead/"))}
    if unknown := sorted(claimed - set(ours)):
        raise ValueError(f"path must hold known arrays only, {path.name} also holds {unknown}")
    return {name: float((ours[name] - arrays[name]).abs().max()) for name in sorted(claimed)}


def _parameters(arrays: Arrays) -> Arrays:
    return {name.removeprefix("p/"): value for name, value in arrays.items() if name.startswith("p/")}


def cell_rnn(arrays: Arrays) -> Arrays:
    """A stacked tanh RNN, time-major in the file and batch-first in the library."""
    parameters = _parameters(arrays)
    layers = sum(name.startswith("weight_hh") for name in parameters)
    hidden, width = parameters["weight_ih_l0"].shape
    rnn = RNN(width, hidden, layers).double()
    rnn.load_state_dict(parameters)
    x = arrays["x"].transpose(0, 1).clone().requires_grad_()
    h0 = arrays["h0"].clone().requires_grad_()
    y, state = rnn(x, h0)
    (y * arrays["grad_out"].transpose(0, 1)).sum().backward()
    assert x.grad is not None and h0.grad is not None
    return {
        "out": y.detach().transpose(0, 1),
        "hn": state.detach(),
        "gx": x.grad.transpose(0, 1),
        "gh0": h0.grad,
        **{f"g/{name}": p.grad for name, p in rnn.named_parameters() if p.grad is not None},
    }


FAMILIES: dict[str, Callable[[Arrays], Arrays]] = {"cell_rnn": cell_rnn}
