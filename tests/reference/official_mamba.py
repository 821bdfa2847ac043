"""Mamba, Mamba-2, their scan, and S4D among the reference values: the authors' code, channels before time in part."""

from collections.abc import Callable
from importlib.util import find_spec

import torch
import torch.nn.functional as F
from reference.furthest import furthest
from torch import Tensor
from torch.func import functional_call

from rtx_lib.kernels import selective_scan
from rtx_lib.models.mamba import Mamba
from rtx_lib.models.mamba2 import Mamba2
from rtx_lib.models.s4d import S4D

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
    if "grad_out" in arrays:
        found = torch.autograd.grad((out * arrays["grad_out"]).sum(), list(given.values()))
        outcomes |= {f"g{name}": value for name, value in zip(given, found, strict=True)}
    return {name: value.detach() for name, value in outcomes.items()}


def mamba(arrays: Arrays) -> Arrays:
    """The block: whole, and step by step. The original keeps one more input of its convolution than we do."""
    given = _parameters(arrays)
    inner, states = given["A_log"].shape
    width = len(given["out_proj.weight"])
    taps = given["conv1d.weight"].shape[-1]
    rank = given["dt_proj.weight"].shape[1]
    model = Mamba(width, states, expand=inner // width, kernel_size=taps, step_rank=rank).double()
    x, leaves, run = _prepare(arrays, model, given)
    out, (past, h) = run(x)
    steps, state = [], None
    for x_t in x.split(1, 1):
        y, state = run(x_t, state)
        steps.append(y)
    seen = F.pad((x @ leaves["in_proj.weight"][:inner].T).transpose(1, 2), (taps, 0))[..., -taps:]
    seen = torch.cat([seen[..., :1], past.transpose(1, 2)], 2)  # the last k - 1 are what the model kept
    outcomes = {"out": out, "out_steps": torch.cat(steps, 1), "conv_state": seen, "ssm_state": h}
    return _with_gradients(outcomes, arrays, x, leaves)


def mamba2(arrays: Arrays) -> Arrays:
    """The block of Mamba-2; a file without ``ngroups`` has one group."""
    given = _parameters(arrays)
    heads, inner, width = len(given["A_log"]), len(given["norm.weight"]), len(given["out_proj.weight"])
    groups = int(arrays.get("ngroups", torch.tensor(1)))
    channels, _, taps = given["conv1d.weight"].shape
    states = (channels - inner) // (2 * groups)
    eps = float(arrays.get("norm_eps", torch.tensor(1e-5)))
    sizes = {"expand": inner // width, "kernel_size": taps, "groups": groups, "eps": eps}

    def by(backend: str) -> Arrays:
        model = Mamba2(width, heads, states, **sizes, backend=backend).double()
        x, leaves, run = _prepare(arrays, model, given)
        return _with_gradients({"out": run(x)[0]}, arrays, x, leaves)

    return furthest([by(backend) for backend in ("auto", "loop", "chunks")], arrays)


def s4d(arrays: Arrays) -> Arrays:
    """The layer, by the convolution and by the recurrence, channels before time in the file."""
    return furthest([_s4d(arrays, route) for route in ("convolution", "recurrence")], arrays)


def _s4d(arrays: Arrays, route: str) -> Arrays:
    given = _parameters(arrays)
    width, states = given["kernel.A_imag"].shape
    model = S4D(width, 2 * states, route=route).double()
    x, leaves, run = _prepare(arrays | {"x": arrays["x"].transpose(1, 2)}, model, given)
    outcomes: Arrays = {}
    inner = model.state_space
    model.state_space = lambda *args: outcomes.setdefault("both", inner(*args))  # type: ignore[assignment, method-assign]
    out = run(x)[0].transpose(1, 2)
    y, _ = outcomes.pop("both")
    outcomes |= {"out": out, "y_ssm": y.transpose(1, 2)}
    with torch.no_grad():
        model.load_state_dict({_ours(name): _fit(model, _ours(name), value) for name, value in given.items()})
        outcomes["kernel"] = model.kernel(x.shape[1])
    outcomes = _with_gradients(outcomes, arrays, x, leaves)
    return outcomes | ({"gx": outcomes["gx"].transpose(1, 2)} if "gx" in outcomes else {})


def _parameters(arrays: Arrays) -> Arrays:
    return {name.removeprefix("p/"): value for name, value in arrays.items() if name.startswith("p/")}


def _ours(official: str) -> str:
    """Our name of a parameter."""
    name = official.removeprefix("kernel.").replace("output_linear.0.", "output_linear.")
    return f"conv.{name.removeprefix('conv1d.')}" if name.startswith("conv1d.") else name


def _fit(model: torch.nn.Module, ours: str, theirs: Tensor) -> Tensor:
    """Without the last axis, of 1, that a convolution of one step has, where we have a linear map."""
    return theirs.squeeze(-1) if ours == "output_linear.weight" and theirs.ndim == 3 else theirs


def _prepare(arrays: Arrays, model: torch.nn.Module, given: Arrays) -> tuple[Tensor, Arrays, Callable[..., object]]:
    """x and the parameters as leaves, and the model as a function of x and a state."""
    x = arrays["x"].clone().requires_grad_()
    leaves = {name: value.clone().requires_grad_() for name, value in given.items()}

    def run(x: Tensor, state: object = None) -> object:
        weights = {_ours(name): _fit(model, _ours(name), value) for name, value in leaves.items()}
        return functional_call(model, weights, (x, state), strict=True)

    return x, leaves, run


def _with_gradients(outcomes: Arrays, arrays: Arrays, x: Tensor, leaves: Arrays) -> Arrays:
    if "grad_out" in arrays:
        found = torch.autograd.grad((outcomes["out"] * arrays["grad_out"]).sum(), [x, *leaves.values()])
        outcomes = outcomes | dict(zip(["gx", *(f"g/{name}" for name in leaves)], found, strict=True))
    return {name: value.detach() for name, value in outcomes.items()}


FAMILIES = {"selective_scan": scan, "mamba_": mamba, "mamba2_": mamba2, "s4d": s4d}
INPUTS = {
    "selective_scan": {"u", "delta", "A", "B", "C", "D", "z", "delta_bias"},
    "mamba_": {"dt_rank", "d_state", "d_conv", "expand"},
    "mamba2_": {"headdim", "ngroups", "d_state", "norm_eps", "d_conv", "expand", "chunk_size"},
}
