"""RG-LRU among the reference values: one layer, from the first token on, from a state, and of packed documents."""

from typing import Any

import torch
from torch import Tensor

from rtx_lib.models.griffin import RGLRU

Arrays = dict[str, Tensor]


def rg_lru(arrays: Arrays) -> Arrays:
    """``w`` and ``b`` are our ``weight`` and ``bias``; the number of heads is that of the blocks.

    With ``h0`` the sequence goes on in the middle of a document, with ``segment_pos_packed`` new ones begin in it.
    """
    given = {name.removeprefix("p/"): value for name, value in arrays.items() if name.startswith("p/")}
    x = arrays["x"].clone().requires_grad_()
    model = RGLRU(x.shape[2], len(given["a_gate.w"])).double()
    model.load_state_dict(
        {_ours(name): value.flatten() if name.endswith(".b") else value for name, value in given.items()}
    )

    def run(**how: Any) -> tuple[Tensor, Tensor]:
        y, state = model(x, **how)
        return y, state

    out, last = run(segment_pos=torch.arange(x.shape[1]).expand(x.shape[:2]))
    outcomes = {"out": out, "h_last": last}
    if "h0" in arrays:
        outcomes["out_state"] = run(state=arrays["h0"])[0]
    if "segment_pos_packed" in arrays:
        outcomes["out_packed"] = run(segment_pos=arrays["segment_pos_packed"])[0]
    if "grad_out" in arrays:
        named = dict(model.named_parameters())
        found = torch.autograd.grad((out * arrays["grad_out"]).sum(), [x, *named.values()])
        outcomes["gx"] = found[0]
        gradients = dict(zip(named, found[1:], strict=True))
        outcomes |= {f"g/{name}": gradients[_ours(name)].view(value.shape) for name, value in given.items()}
    return {name: value.detach() for name, value in outcomes.items()}


def _ours(name: str) -> str:
    """Our name of ``a_gate.w`` and the like; ``a_param`` is the same."""
    return name.replace(".w", ".weight").replace(".b", ".bias")


# What draws of the original's initialisation gave cannot be had from other draws: tests/models/test_griffin.py.
FAMILIES = {"rglru": rg_lru}
INPUTS = {"rglru": {"h0", "segment_pos_packed", "num_heads", "init_r_min", "init_r_max", "init_r_mean_square"}}
