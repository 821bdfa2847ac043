"""RWKV-4 among the reference values: time mixing and channel mixing of one sequence, by every backend at hand."""

from importlib.util import find_spec

from torch import Tensor

from rtx_lib.models.rwkv import RWKVChannelMixing, RWKVTimeMixing, official_weights

from .furthest import furthest
from .leaves import gradients, parameters

Arrays = dict[str, Tensor]


def rwkv4(arrays: Arrays) -> Arrays:
    """x and the outcomes are (T, D), without a batch; ``ffn_`` is channel mixing, which a file may lack."""
    backends = ["auto", "loop", "scan", *(["numba"] if find_spec("numba") else [])]
    return furthest([_rwkv4(arrays, backend) for backend in backends], arrays)


def _rwkv4(arrays: Arrays, backend: str) -> Arrays:
    x, ffn = arrays["x"].clone().requires_grad_(), parameters(arrays, "p/ffn_")
    given = {name: value for name, value in parameters(arrays).items() if not name.startswith("ffn_")}
    time = RWKVTimeMixing.from_official(given, backend=backend)
    y, (_, *sums) = time(x[None])
    outcomes = {"out": y[0]} | {f"state_{name}": part[0] for name, part in zip(("aa", "bb", "pp"), sums, strict=True)}
    if "grad_out" in arrays:
        outcomes |= gradients((y * arrays["grad_out"]).sum(), time, given, official_weights(given), x=x)
    if ffn:
        channel = RWKVChannelMixing.from_official(ffn)
        outcomes["out_channel"] = channel(x[None])[0][0]
        if "grad_channel" in arrays:
            loss = (outcomes["out_channel"] * arrays["grad_channel"]).sum()
            found = gradients(loss, channel, ffn, official_weights(ffn), x=x)
            outcomes["gx"] = outcomes["gx"] + found.pop("gx")
            outcomes |= {name.replace("/", "/ffn_"): value for name, value in found.items()}
    return outcomes


FAMILIES = {"rwkv4": rwkv4}
INPUTS = {"rwkv4": {"grad_channel"}}
