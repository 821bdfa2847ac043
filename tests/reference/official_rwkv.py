"""RWKV-4 among the reference values: time mixing and channel mixing of one sequence, by every backend at hand."""

from importlib.util import find_spec

import torch
from torch import Tensor

from rtx_lib.models.rwkv import RWKVChannelMixing, RWKVTimeMixing

from .furthest import furthest

Arrays = dict[str, Tensor]


def rwkv4(arrays: Arrays) -> Arrays:
    """x and the outcomes are (T, D), without a batch; ``ffn_`` is channel mixing, which a file may lack."""
    backends = ["auto", "loop", "scan", *(["numba"] if find_spec("numba") else [])]
    return furthest([_rwkv4(arrays, backend) for backend in backends], arrays)


def _rwkv4(arrays: Arrays, backend: str) -> Arrays:
    given = {name.removeprefix("p/"): value for name, value in arrays.items() if name.startswith("p/")}
    x = arrays["x"].clone().requires_grad_()
    time = RWKVTimeMixing(x.shape[1], backend=backend).double()
    _load(time, {name: value for name, value in given.items() if not name.startswith("ffn_")})
    y, (_, *sums) = time(x[None])
    outcomes = {"out": y[0]} | {f"state_{name}": part[0] for name, part in zip(("aa", "bb", "pp"), sums, strict=True)}
    named = dict(time.named_parameters())
    loss = (outcomes["out"] * arrays["grad_out"]).sum() if "grad_out" in arrays else x.new_zeros(())
    if any(name.startswith("ffn_") for name in given):
        ffn = {name.removeprefix("ffn_"): value for name, value in given.items() if name.startswith("ffn_")}
        channel = RWKVChannelMixing(x.shape[1], len(ffn["key"])).double()
        _load(channel, ffn)
        outcomes["out_channel"] = channel(x[None])[0][0]
        if "grad_channel" in arrays:
            loss = loss + (outcomes["out_channel"] * arrays["grad_channel"]).sum()
            named |= {f"ffn_{name}": parameter for name, parameter in channel.named_parameters()}
    if "grad_out" in arrays:
        found = torch.autograd.grad(loss, [x, *named.values()], materialize_grads=True)
        names = ["gx", *(f"g/{name.removesuffix('.weight')}" for name in named)]
        outcomes |= dict(zip(names, found, strict=True))
    return {name: value.detach() for name, value in outcomes.items()}


def _load(model: torch.nn.Module, given: Arrays) -> None:
    """Matrices are called by the linear map that has them."""
    model.load_state_dict({f"{name}.weight" if value.ndim == 2 else name: value for name, value in given.items()})


FAMILIES = {"rwkv4": rwkv4}
INPUTS = {"rwkv4": {"grad_channel"}}
