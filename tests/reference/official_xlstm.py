"""xLSTM among the reference values: the authors' cells and layers, with their epsilon and their names of the gates."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from rtx_lib.models.xlstm import MLSTM, SLSTM, mlstm, official_mlstm, official_slstm, slstm

from .leaves import parameters, with_gradients

Arrays = dict[str, Tensor]


def slstm_cell(arrays: Arrays) -> Arrays:
    """From nothing, and from ``state0``; x (B, T, 4 D) has the gates first, then the heads.

    A file without ``grad_out`` claims no gradients, in all families here.
    """
    leaves, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    weight = leaves["_recurrent_kernel_"]
    a = (x + leaves["_bias_"].flatten()).unflatten(2, (4, len(weight), -1)).transpose(2, 3).flatten(3)
    outcomes: Arrays = {}
    for name in ("", "_state"):
        if name == "" or "state0" in arrays:
            state = tuple(arrays["state0"]) if name else None
            outcomes[f"out{name}"], after = slstm(a, weight, state)
            outcomes[f"state{name}"] = torch.stack(after)
    return with_gradients(arrays, outcomes, x=x, **{f"/{name}": leaf for name, leaf in leaves.items()})


def slstm_layer(arrays: Arrays) -> Arrays:
    """The layer whole."""
    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    model = SLSTM.from_official(given)
    return with_gradients(arrays, {"out": model(x)[0]}, model, given, official_slstm(given), x=x)


def mlstm_cell(arrays: Arrays) -> Arrays:
    """All forms, with every epsilon that the names tell. Their parallel one starts from m = -inf, the others from 0."""
    given = {name: arrays[name].clone().requires_grad_() for name in ("q", "k", "v", "igate", "fgate")}
    q, k, v, i, f = given.values()
    (batch, heads, _, size), width = q.shape, v.shape[3]
    nothing = (q.new_zeros(batch, heads, size, width), q.new_zeros(batch, heads, size))
    cell = partial(mlstm, q, k, v, i[..., 0], F.logsigmoid(f[..., 0]))
    forms = {"": {"state": (*nothing, q.new_full((batch, heads), -math.inf))}}
    forms |= {"_recurrent": {"form": "recurrent"}, "_chunkwise": {"form": "chunked"}}
    outcomes: Arrays = {}
    for ending in {name.partition("_eps")[2] for name in arrays if name.startswith("out")} | {""}:
        for name, options in forms.items():
            key = f"out{name}_eps{ending}" if ending else f"out{name}"
            outcomes[key], last = cell(eps=float(ending or 0), **options)
            if key == "out_recurrent":
                c, n, m = last
                outcomes |= {"C_last": c, "n_last": n[..., None], "m_last": m[..., None, None]}
    return with_gradients(arrays, outcomes, **given)


def mlstm_layer(arrays: Arrays) -> Arrays:
    """Their parallel form whole, which starts from m = -inf, and the recurrent one step by step."""
    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    model = MLSTM.from_official(given)
    start = [x.new_zeros([n for n in shape if isinstance(n, int)]) for shape in model.state_shapes(len(x)).values()]
    start[2] = start[2] - math.inf
    outcomes, steps, state = {"out": model(x, tuple(start))[0]}, [], None
    model.form = "recurrent"
    for step in x.split(1, 1):
        y, state = model(step, state)
        steps.append(y)
    outcomes["out_steps"] = torch.cat(steps, 1)
    return with_gradients(arrays, outcomes, model, given, official_mlstm(given), x=x)


FAMILIES = {"slstm_cell": slstm_cell, "slstm_layer": slstm_layer, "mlstm_cell": mlstm_cell, "mlstm_layer": mlstm_layer}
INPUTS = {
    "slstm_cell": {"num_heads", "state0"},
    "slstm_layer": {"num_heads"},
    "mlstm_cell": {"q", "k", "v", "igate", "fgate", "chunk_size"},
    "mlstm_layer": {"num_heads", "inner", "qkv_proj_blocksize"},
}
