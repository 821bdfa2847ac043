"""Mamba, Mamba-2, their scan, and S4D among the reference values: the authors' code, channels before time in part."""

from importlib.util import find_spec

import torch
import torch.nn.functional as F
from reference.leaves import furthest, parameters, with_gradients
from torch import Tensor

from rtx_lib.kernels import selective_scan
from rtx_lib.models.mamba import Mamba, official_weights
from rtx_lib.models.mamba2 import Mamba2
from rtx_lib.models.s4d import S4D
from rtx_lib.models.s4d import official_weights as s4d_weights

Arrays = dict[str, Tensor]


def scan(arrays: Arrays) -> Arrays:
    """The scan with softplus, bias, skip and gate around it, as the original has them; ``_plain`` without these.

    By every backend at hand; of each outcome, the one that is furthest off. D, z, ``delta_bias``, and the gradients may
    be left out of a file.
    """
    backends = ["auto", "loop", "scan", *(["numba"] if find_spec("numba") else [])]
    return furthest([_scan(arrays, backend) for backend in backends], arrays)


def _scan(arrays: Arrays, backend: str) -> Arrays:
    names = [name for name in ("u", "delta", "A", "B", "C", "D", "z", "delta_bias") if name in arrays]
    given = {name: arrays[name].clone().requires_grad_() for name in names}
    u, B, C = (given[name].transpose(1, 2) for name in ("u", "B", "C"))
    delta = given["delta"].transpose(1, 2)
    y, last = selective_scan(u, F.softplus(delta + given.get("delta_bias", 0)), given["A"], B, C, backend=backend)
    out = (y + given.get("D", 0) * u).transpose(1, 2)
    out = out * F.silu(given["z"]) if "z" in given else out
    plain, last_plain = selective_scan(u, delta.exp(), given["A"], B, C, backend=backend)
    outcomes = {"out": out, "last_state": last, "out_plain": plain.transpose(1, 2), "last_plain": last_plain}
    return with_gradients(arrays, outcomes, **given)


def mamba(arrays: Arrays) -> Arrays:
    """The block: whole, and step by step. The original keeps one more input of its convolution than we do."""
    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    model = Mamba.from_official(given)
    out, (past, h) = model(x)
    steps, state = [], None
    for x_t in x.split(1, 1):
        y, state = model(x_t, state)
        steps.append(y)
    inner, _, taps = given["conv1d.weight"].shape
    seen = F.pad((x @ given["in_proj.weight"][:inner].T).transpose(1, 2), (taps, 0))[..., -taps:]
    seen = torch.cat([seen[..., :1], past.transpose(1, 2)], 2)  # the last k - 1 are what the model kept
    outcomes = {"out": out, "out_steps": torch.cat(steps, 1), "conv_state": seen, "ssm_state": h}
    return with_gradients(arrays, outcomes, model, given, official_weights(given), x=x)


def mamba2(arrays: Arrays) -> Arrays:
    """The block of Mamba-2; a file without ``ngroups`` has one group."""
    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    how = {"groups": int(arrays.get("ngroups", 1)), "eps": float(arrays.get("norm_eps", 1e-5))}

    def by(backend: str) -> Arrays:
        model = Mamba2.from_official(given, **how, backend=backend)
        return with_gradients(arrays, {"out": model(x)[0]}, model, given, official_weights(given), x=x)

    return furthest([by(backend) for backend in ("auto", "loop", "chunks")], arrays)


def s4d(arrays: Arrays) -> Arrays:
    """The layer, by the convolution and by the recurrence, channels before time in the file."""
    return furthest([_s4d(arrays, route) for route in ("convolution", "recurrence")], arrays)


def _s4d(arrays: Arrays, route: str) -> Arrays:
    given, x = parameters(arrays), arrays["x"].clone().requires_grad_()
    model = S4D.from_official(given, route=route)
    inner, seen = model.state_space, []
    model.state_space = lambda *args: seen.append(inner(*args)) or seen[0]  # type: ignore[method-assign]
    outcomes = {"out": model(x.transpose(1, 2))[0].transpose(1, 2), "kernel": model.kernel(x.shape[2])}
    outcomes["y_ssm"] = seen[0][0].transpose(1, 2)
    return with_gradients(arrays, outcomes, model, given, s4d_weights(given), x=x)


FAMILIES = {"selective_scan": scan, "mamba_": mamba, "mamba2_": mamba2, "s4d": s4d}
INPUTS = {
    "selective_scan": {"u", "delta", "A", "B", "C", "D", "z", "delta_bias"},
    "mamba_": {"dt_rank", "d_state", "d_conv", "expand"},
    "mamba2_": {"headdim", "ngroups", "d_state", "norm_eps", "d_conv", "expand", "chunk_size"},
}
