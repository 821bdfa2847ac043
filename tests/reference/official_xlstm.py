"""xLSTM among the reference values: the authors' cells and layers, with their epsilon and their names of the gates."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.func import functional_call

from rtx_lib.models.xlstm import MLSTM, SLSTM, mlstm, slstm

Arrays = dict[str, Tensor]
EPS = 1e-6  # that of the authors' mLSTM


def slstm_cell(arrays: Arrays) -> Arrays:
    """From nothing, and from ``state0``; x (B, T, 4 D) has the gates first, then the heads.

    A file without ``grad_out`` claims no gradients, in all families here.
    """
    leaves, x = _leaves(arrays), arrays["x"].clone().requires_grad_()
    weight = leaves["_recurrent_kernel_"]
    a = (x + leaves["_bias_"].flatten()).unflatten(2, (4, len(weight), -1)).transpose(2, 3).flatten(3)
    outcomes: Arrays = {}
    for name in ("", "_state"):
        if name == "" or "state0" in arrays:
            state = tuple(arrays["state0"]) if name else None
            outcomes[f"out{name}"], after = slstm(a, weight, state)
            outcomes[f"state{name}"] = torch.stack(after)
    return _with_gradients(arrays, outcomes, {"x": x}, leaves)


def slstm_layer(arrays: Arrays) -> Arrays:
    """Under the name ``fgate`` are the weights of i, under ``igate`` those of f."""
    leaves, x = _leaves(arrays), arrays["x"].clone().requires_grad_()
    weight_hh = leaves["slstm_cell._recurrent_kernel_"]
    heads = len(weight_hh)
    weights = {"weight_ih": torch.cat([leaves[f"{name}gate.weight"] for name in "fizo"], 1), "weight_hh": weight_hh}
    weights["bias"] = leaves["slstm_cell._bias_"].view(4, heads, -1).transpose(0, 1).flatten(1)
    width = x.shape[2]
    weights |= _norm("group_norm", leaves, width) | _convolution(leaves, width)
    model = SLSTM(width, heads, _taps(leaves)).double()
    out = functional_call(model, weights, (x,), strict=True)[0]
    return _with_gradients(arrays, {"out": out}, {"x": x}, leaves)


def mlstm_cell(arrays: Arrays) -> Arrays:
    """All forms, with every epsilon that the names tell. The parallel one starts from m = -inf, the others from 0."""
    given = {name: arrays[name].clone().requires_grad_() for name in ("q", "k", "v", "igate", "fgate")}
    q, k, v, i, f = given.values()
    (batch, heads, _, size), width = q.shape, v.shape[3]
    nothing = (q.new_zeros(batch, heads, size, width), q.new_zeros(batch, heads, size))
    cell = partial(mlstm, q, k, v, i[..., 0], F.logsigmoid(f[..., 0]))
    forms = {"": {"form": "parallel", "state": (*nothing, q.new_full((batch, heads), -math.inf))}}
    forms |= {"_recurrent": {"form": "recurrent"}}
    forms |= {"_chunkwise": {"form": "chunked", "chunk": int(arrays.get("chunk_size", torch.tensor(4)))}}
    outcomes: Arrays = {}
    for ending in {name.partition("_eps")[2] for name in arrays if name.startswith("out")} | {""}:
        for name, options in forms.items():
            key = f"out{name}_eps{ending}" if ending else f"out{name}"
            outcomes[key], last = cell(eps=float(ending or 0), **options)
            if key == "out_recurrent":
                c, n, m = last
                outcomes |= {"C_last": c, "n_last": n[..., None], "m_last": m[..., None, None]}
    return _with_gradients(arrays, outcomes, given, {})


def mlstm_layer(arrays: Arrays) -> Arrays:
    """The parallel form whole, and the recurrent one step by step."""
    leaves, x = _leaves(arrays), arrays["x"].clone().requires_grad_()
    inner, (heads, _) = len(leaves["learnable_skip"]), leaves["mlstm_cell.igate.weight"].shape
    batch, _, width = x.shape
    weights = {"skip": leaves["learnable_skip"]} | _norm("mlstm_cell.outnorm", leaves, inner)
    weights |= _convolution(leaves, inner)
    projections = [leaves[f"{name}_proj.weight"] for name in "qkv"]
    weights["qkv_weight"] = torch.stack(projections)
    for name in ("weight", "bias"):
        weights[f"gates.{name}"] = torch.cat([leaves[f"mlstm_cell.{gate}gate.{name}"] for gate in "if"])
    for ours, theirs in (("up", "proj_up"), ("down", "proj_down")):
        weights |= {
            f"{ours}.{name}": leaves[f"{theirs}.{name}"] for name in ("weight", "bias") if f"{theirs}.{name}" in leaves
        }
    bias = "up.bias" in weights
    if bias:
        weights["qkv_bias"] = torch.stack([leaves[f"{name}_proj.bias"] for name in "qkv"])

    def run(x: Tensor, form: str, state: object) -> tuple[Tensor, tuple[Tensor, ...]]:
        options = {"block_size": projections[0].shape[1], "bias": bias, "form": form, "eps": EPS}
        model = MLSTM(width, heads, inner / width, _taps(leaves), **options).double()  # type: ignore[arg-type]
        return functional_call(model, weights, (x, state), strict=True)

    size = inner // heads
    start = (
        x.new_zeros(batch, heads, size, size),
        x.new_zeros(batch, heads, size),
        x.new_full((batch, heads), -math.inf),
    )
    if taps := _taps(leaves):
        start += (x.new_zeros(batch, taps - 1, inner),)
    outcomes = {"out": run(x, "parallel", start)[0]}
    pieces, state = [], None
    for step in x.split(1, 1):
        y, state = run(step, "recurrent", state)
        pieces.append(y)
    outcomes["out_steps"] = torch.cat(pieces, 1)
    return _with_gradients(arrays, outcomes, {"x": x}, leaves)


def _leaves(arrays: Arrays) -> Arrays:
    return {name[2:]: value.clone().requires_grad_() for name, value in arrays.items() if name.startswith("p/")}


def _norm(theirs: str, leaves: Arrays, width: int) -> Arrays:
    """Their weight is the distance from 1."""
    return {"norm.weight": 1 + leaves.get(f"{theirs}.weight", torch.zeros(width).double())}


def _convolution(leaves: Arrays, width: int) -> Arrays:
    if not _taps(leaves):
        return {}
    bias = leaves.get("conv1d.conv.bias", torch.zeros(width).double())
    return {"conv.weight": leaves["conv1d.conv.weight"], "conv.bias": bias}


def _taps(leaves: Arrays) -> int | None:
    name = "conv1d.conv.weight"
    return leaves[name].shape[2] if name in leaves else None


def _with_gradients(arrays: Arrays, outcomes: Arrays, inputs: Arrays, leaves: Arrays) -> Arrays:
    """With those of sum(out * grad_out), in which every parameter has a part."""
    loss = (outcomes["out"] * arrays.get("grad_out", torch.ones(1))).sum()
    found = torch.autograd.grad(loss, [*inputs.values(), *leaves.values()], allow_unused=True)
    names = [*(f"g{name}" for name in inputs), *(f"g/{name}" for name in leaves)]
    if unused := [name for name, gradient in zip(names, found, strict=True) if gradient is None]:
        raise ValueError(f"path must hold known parameters only, and also holds {unused}")
    if "grad_out" in arrays:
        outcomes = outcomes | dict(zip(names, found, strict=True))
    return {name: value.detach() for name, value in outcomes.items()}


FAMILIES = {"slstm_cell": slstm_cell, "slstm_layer": slstm_layer, "mlstm_cell": mlstm_cell, "mlstm_layer": mlstm_layer}
INPUTS = {
    "slstm_cell": {"num_heads", "state0"},
    "slstm_layer": {"num_heads"},
    "mlstm_cell": {"q", "k", "v", "igate", "fgate", "chunk_size"},
    "mlstm_layer": {"num_heads", "inner", "qkv_proj_blocksize"},
}
