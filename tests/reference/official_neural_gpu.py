"""The Neural GPUs among the reference values: which of our parameters their official names mean, and one pass."""

from collections.abc import Callable

import torch
from torch import Tensor

from rtx_lib.models.neural_gpu import CGRU, NeuralGPU

Arrays = dict[str, Tensor]
INPUTS: dict[str, set[str]] = {"neural_gpu_cgru": {"cutoff"}, "neural_gpu": {"ids", "width", "cutoff"}}
# The official convolutions of a unit, and the blocks of ours.
UNIT = {"g": ("gates", 0), "r": ("gates", 1), "c": ("candidate", 0)}
ENDS = {"input": "input", "output": "readout"}  # 1x1 convolutions, here linear maps


def cgru(arrays: Arrays) -> Arrays:
    """One unit on an image x (B, n, w, m).

    A file without ``grad_out`` claims no gradients.
    """
    p = _parameters(arrays)
    _, size, channels, _ = p["r/CvK"].shape
    unit = CGRU(channels, kernel_size=size, cutoff=float(arrays["cutoff"])).double()
    _load(unit, p)
    x = arrays["x"].double().clone().requires_grad_()
    outcomes = {"out": unit(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)}
    return _with_gradients(arrays, outcomes, unit, {"gx": x})


def neural_gpu(arrays: Arrays) -> Arrays:
    """The whole net on ids (B, n); all sizes but the width are those of the parameters."""
    p = _parameters(arrays)
    vocabulary, channels = p["embedding"].shape
    layers = len({name.split("/")[0] for name in p if name.startswith("cgru_")})
    sizes = {"width": int(arrays["width"]), "channels": channels, "layers": layers}
    sizes["kernel_size"] = p["cgru_0/r/CvK"].shape[1]
    model = NeuralGPU(vocabulary, len(p["output/CvB"]), cutoff=float(arrays["cutoff"]), **sizes).double()
    _load(model, p)
    outcomes = {"out": model(arrays["ids"])[0], "state": model.images(arrays["ids"])[-1]}
    return _with_gradients(arrays, outcomes, model, {})


FAMILIES: dict[str, Callable[[Arrays], Arrays]] = {"neural_gpu_cgru": cgru, "neural_gpu": neural_gpu}


def official_parameters(model: NeuralGPU) -> Arrays:
    """Our parameters by their official names, as views of them."""
    p = {"embedding": model.embedding.weight}
    for official, ours in ENDS.items():
        linear = model.get_submodule(ours)
        p |= {f"{official}/CvK": linear.weight.T[None, None], f"{official}/CvB": linear.bias}
    for layer, unit in enumerate(model.cgrus):
        for official, (ours, block) in UNIT.items():
            convolution, rows = unit.get_submodule(ours), slice(block * unit.channels, (block + 1) * unit.channels)
            p[f"cgru_{layer}/{official}/CvK"] = convolution.weight[rows].permute(2, 3, 1, 0)
            p[f"cgru_{layer}/{official}/CvB"] = convolution.bias[rows]
    return p


def _parameters(arrays: Arrays) -> Arrays:
    return {name.removeprefix("p/"): value for name, value in arrays.items() if name.startswith("p/")}


def _place(official: str) -> tuple[str, int | None]:
    """Our name of a parameter, and which block of its rows it is; None for all of them."""
    *at, convolution, kind = official.split("/") if "/" in official else ("", official)
    if convolution in UNIT:
        (module, block), kind = UNIT[convolution], {"CvK": "weight", "CvB": "bias"}[kind]
        return ".".join([*(f"cgrus.{name.removeprefix('cgru_')}" for name in at), module, kind]), block
    if convolution in ENDS and not at:
        return f"{ENDS[convolution]}.{ {'CvK': 'weight', 'CvB': 'bias'}[kind] }", None
    return f"{official}.weight", None


def _ours(value: Tensor) -> Tensor:
    """A kernel (k, k, in, out) as (out, in, k, k); anything else as it is."""
    return value.permute(3, 2, 0, 1) if value.ndim == 4 else value


def _load(model: torch.nn.Module, p: Arrays) -> None:
    """Give the model the file's parameters."""
    blocks: dict[str, dict[int, Tensor]] = {}
    for official, value in p.items():
        name, block = _place(official)
        blocks.setdefault(name, {})[block or 0] = _ours(value)
    for name, parts in blocks.items():
        if "gates" in name and len(parts) < 2:
            raise ValueError(f"path must hold both gates of a unit, got one for {name}")
    given = {name: torch.cat([parts[i] for i in sorted(parts)]) for name, parts in blocks.items()}
    linear = {f"{module}.weight" for module in ENDS.values()}
    model.load_state_dict({name: value.flatten(1) if name in linear else value for name, value in given.items()})


def _with_gradients(arrays: Arrays, outcomes: Arrays, model: torch.nn.Module, inputs: Arrays) -> Arrays:
    if "grad_out" in arrays:
        named = dict(model.named_parameters())
        loss = (outcomes["out"] * arrays["grad_out"]).sum()
        found = torch.autograd.grad(loss, [*inputs.values(), *named.values()], materialize_grads=True)
        outcomes |= dict(zip(inputs, found, strict=False))
        gradients = dict(zip(named, found[len(inputs) :], strict=True))
        for official, value in _parameters(arrays).items():
            name, block = _place(official)
            gradient, rows = gradients[name], _ours(value).shape[0]
            if block is not None:
                gradient = gradient[block * rows : (block + 1) * rows]
            if value.ndim == 4:
                gradient = gradient.view_as(_ours(value)).permute(2, 3, 1, 0)
            outcomes[f"g/{official}"] = gradient
    return {name: value.detach() for name, value in outcomes.items()}
