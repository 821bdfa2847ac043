"""minGRU and minLSTM among the reference values: layers in both forms, and g with its logarithm by itself."""

from functools import partial

import torch
from torch import Tensor
from torch.func import functional_call

from rtx_lib.models.min_rnn import FORMS, MinGRU, MinLSTM, log_positive, min_lstm, positive

from .furthest import furthest

Arrays = dict[str, Tensor]


def layer(arrays: Arrays, kind: type[MinGRU]) -> Arrays:
    """A layer by both forms; of each outcome, the one that is further off.

    ``h0`` and ``h_last`` (B, 1, H). A file without ``h0`` claims nothing of a state, one without ``grad_out`` no
    gradients, and one without ``p/to_out.weight`` has the states themselves as outputs.
    """
    return furthest([_layer(arrays, kind, form) for form in FORMS], arrays)


def _layer(arrays: Arrays, kind: type[MinGRU], form: str) -> Arrays:
    given = {name.removeprefix("p/"): value for name, value in arrays.items() if name.startswith("p/")}
    x = arrays["x"].clone().requires_grad_()
    first = next((value for name, value in given.items() if "to_hidden" in name and name.endswith("weight")), None)
    if first is None:
        raise ValueError(f"path must hold a parameter to_hidden_and_gate.weight or the like, got {sorted(given)}")
    size, projected = len(first) // kind.blocks, "to_out.weight" in given
    if not projected and size != x.shape[2]:
        raise ValueError(f"path must hold to_out.weight where H = {size} is not D = {x.shape[2]}, got {sorted(given)}")
    bias = any(name.endswith("bias") for name in given)
    model = kind(x.shape[2], size if projected else None, form=form, bias=bias).double()
    leaves = {name: value.clone().requires_grad_() for name, value in given.items()}
    places = {"to_out": "out", "to_hidden_and_gate": "linear", "to_hidden_and_f_i_gate": "linear"}
    weights = {".".join([places.get(name.split(".")[0], name), *name.split(".")[1:]]): w for name, w in leaves.items()}
    run = partial(functional_call, model, weights, strict=True)

    out, last = run((x,))
    steps, state = [], None
    for now in x.split(1, dim=1):
        y, state = run((now, state))
        steps.append(y)
    outcomes = {"out": out, "h_last": last[:, None], "out_sequential": torch.cat(steps, 1)}
    if "h0" in arrays:
        h0 = arrays["h0"][:, 0]
        twice = positive(h0) if kind is MinLSTM else h0  # the fault of the authors' parallel branch
        outcomes["out_state"], outcomes["out_state_parallel_original"] = run((x, h0))[0], run((x, twice))[0]
    if "grad_out" in arrays:
        found = torch.autograd.grad((out * arrays["grad_out"]).sum(), [x, *leaves.values()])
        outcomes |= dict(zip(["gx", *(f"g/{name}" for name in leaves)], found, strict=True))
    return {name: value.detach() for name, value in outcomes.items()}


def extra(arrays: Arrays) -> Arrays:
    """g, log g and g', and minLSTM whose gates are not divided by their sum, by both forms."""
    outcomes: Arrays = {}
    if "v" in arrays:
        v = arrays["v"].clone().requires_grad_()
        value = positive(v)
        outcomes |= {"g_v": value, "log_g_v": log_positive(v), "dg_v": torch.autograd.grad(value.sum(), v)[0]}
    if "f" in arrays:
        outcomes |= furthest([_unnormalised(arrays, form) for form in FORMS], arrays)
    return {name: value.detach() for name, value in outcomes.items()}


def _unnormalised(arrays: Arrays, form: str) -> Arrays:
    leaves = {name: arrays[name].clone().requires_grad_() for name in "fih"}
    out = min_lstm(*leaves.values(), normalised=False, form=form)
    outcomes = {"out_minlstm_unnormalised": out.detach()}
    if "grad_out" in arrays:
        found = torch.autograd.grad((out * arrays["grad_out"]).sum(), list(leaves.values()))
        outcomes |= dict(zip(("gf", "gi", "gh"), found, strict=True))
    return outcomes


FAMILIES = {"mingru": partial(layer, kind=MinGRU), "minlstm": partial(layer, kind=MinLSTM), "minrnn_extra": extra}
INPUTS = {"minrnn_extra": {"v", "f", "i", "h"}}
