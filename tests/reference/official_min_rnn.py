"""minGRU and minLSTM among the reference values: the layers, and g with its logarithm by itself."""

from functools import partial

import torch
from torch import Tensor

from rtx_lib.models.min_rnn import MinGRU, MinLSTM, log_positive, min_lstm, official_weights, positive

from .leaves import parameters, with_gradients

Arrays = dict[str, Tensor]


def layer(arrays: Arrays, kind: type[MinGRU]) -> Arrays:
    """A layer.

    ``h0`` and ``h_last`` (B, 1, H). A file without ``h0`` claims nothing of a state, one without ``grad_out`` no
    gradients, and one without ``p/to_out.weight`` has the states themselves as outputs.
    """
    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    model = kind.from_official(given)
    out, last = model(x)
    steps, state = [], None
    for now in x.split(1, dim=1):
        y, state = model(now, state)
        steps.append(y)
    outcomes = {"out": out, "h_last": last[:, None], "out_sequential": torch.cat(steps, 1)}
    if "h0" in arrays:
        h0 = arrays["h0"][:, 0]
        twice = positive(h0) if kind is MinLSTM else h0  # the fault of the authors' parallel branch
        outcomes["out_state"], outcomes["out_state_parallel_original"] = model(x, h0)[0], model(x, twice)[0]
    return with_gradients(arrays, outcomes, model, given, official_weights(given), x=x)


def extra(arrays: Arrays) -> Arrays:
    """g, log g and g', and minLSTM whose gates are not divided by their sum."""
    outcomes: Arrays = {}
    if "v" in arrays:
        v = arrays["v"].clone().requires_grad_()
        value = positive(v)
        outcomes |= {"g_v": value, "log_g_v": log_positive(v), "dg_v": torch.autograd.grad(value.sum(), v)[0]}
    if "f" in arrays:
        given = {name: arrays[name].clone().requires_grad_() for name in "fih"}
        found = with_gradients(arrays, {"out": min_lstm(*given.values(), normalised=False)}, **given)
        outcomes |= found | {"out_minlstm_unnormalised": found["out"]}
    return outcomes


FAMILIES = {"mingru": partial(layer, kind=MinGRU), "minlstm": partial(layer, kind=MinLSTM), "minrnn_extra": extra}
INPUTS = {"minrnn_extra": {"v", "f", "i", "h"}}
