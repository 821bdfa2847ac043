"""The LRU among the reference values: one layer, by every backend at hand."""

from importlib.util import find_spec

import torch
from torch import Tensor

from rtx_lib.models.lru import LRU

from .furthest import furthest

Arrays = dict[str, Tensor]


def lru(arrays: Arrays) -> Arrays:
    """The file's names are the module's; of each outcome, the one of the backend that is furthest off."""
    backends = ["auto", "loop", "scan", *(["numba"] if find_spec("numba") else [])]
    return furthest([_lru(arrays, backend) for backend in backends], arrays)


def _lru(arrays: Arrays, backend: str) -> Arrays:
    given = {name.removeprefix("p/"): value for name, value in arrays.items() if name.startswith("p/")}
    x = arrays["x"].clone().requires_grad_()
    model = LRU(x.shape[2], len(given["nu_log"]), backend=backend).double()
    model.load_state_dict(given)
    out = model(x)[0]
    outcomes = {"out": out.detach()}
    if "grad_out" in arrays:
        named = dict(model.named_parameters())
        found = torch.autograd.grad((out * arrays["grad_out"]).sum(), [x, *named.values()])
        outcomes |= dict(zip(["gx", *(f"g/{name}" for name in named)], found, strict=True))
    return outcomes


# What 20,000 draws gave the original cannot be had from other draws: tests/models/test_lru.py judges it.
FAMILIES = {"lru": lru}
INPUTS = {"lru": {"init_r_min", "init_r_max", "init_r2_mean", "init_phase_max", "init_phase_mean"}}
