"""RG-LRU among the reference values: one layer, from the first token on, from a state, and of packed documents."""

import torch
from torch import Tensor

from rtx_lib.models.griffin import RGLRU, official_weights

from .leaves import parameters, with_gradients

Arrays = dict[str, Tensor]


def rg_lru(arrays: Arrays) -> Arrays:
    """With ``h0`` the sequence goes on inside a document, with ``segment_pos_packed`` new ones begin in it."""
    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    model = RGLRU.from_official(given)
    out, last = model(x, segment_pos=torch.arange(x.shape[1]).expand(x.shape[:2]))
    outcomes = {"out": out, "h_last": last}
    if "h0" in arrays:
        outcomes["out_state"] = model(x, state=arrays["h0"])[0]
    if "segment_pos_packed" in arrays:
        outcomes["out_packed"] = model(x, segment_pos=arrays["segment_pos_packed"])[0]
    return with_gradients(arrays, outcomes, model, given, official_weights(given), x=x)


# What draws of the original's initialisation gave cannot be had from other draws: tests/lib/models/test_griffin.py.
FAMILIES = {"rglru": rg_lru}
INPUTS = {"rglru": {"h0", "segment_pos_packed", "num_heads", "init_r_min", "init_r_max", "init_r_mean_square"}}
