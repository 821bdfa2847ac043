"""The Neural GPUs among the reference values: which of our parameters their official names mean, and one pass."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

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
    _, size, channels, _ = arrays["p/r/CvK"].shape
    unit = CGRU(channels, kernel_size=size, cutoff=float(arrays["cutoff"])).double()
    _load(official_unit(unit), arrays)
    x = arrays["x"].double().clone().requires_grad_()
    outcomes = {"out": unit(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)}
    return _with_gradients(arrays, outcomes, unit, official_unit, {"gx": x})


def neural_gpu(arrays: Arrays) -> Arrays:
    """The whole net on ids (B, n); all sizes but the width are those of the parameters."""
    p = {name.removeprefix("p/"): value for name, value in arrays.items()}
    vocabulary, channels = p["embedding"].shape
    layers = len({name.split("/")[0] for name in p if name.startswith("cgru_")})
    sizes = {"width": int(arrays["width"]), "channels": channels, "layers": layers}
    sizes["kernel_size"] = p["cgru_0/r/CvK"].shape[1]
    model = NeuralGPU(vocabulary, len(p["output/CvB"]), cutoff=float(arrays["cutoff"]), **sizes).double()
    _load(official_parameters(model), arrays)
    outcomes = {"out": model(arrays["ids"])[0], "state": model.images(arrays["ids"])[-1]}
    return _with_gradients(arrays, outcomes, model, official_parameters, {})


FAMILIES: dict[str, Callable[[Arrays], Arrays]] = {"neural_gpu_cgru": cgru, "neural_gpu": neural_gpu}


def official_parameters(model: NeuralGPU) -> Arrays:
    """Our parameters by their official names, as views of them."""
    p = {"embedding": model.embedding.weight}
    for official, ours in ENDS.items():
        linear = model.get_submodule(ours)
        p |= {f"{official}/CvK": linear.weight.T[None, None], f"{official}/CvB": linear.bias}
    for layer, unit in enumerate(model.cgrus):
        p |= official_unit(unit, f"cgru_{layer}/")
    return p


def official_unit(unit: CGRU, at: str = "") -> Arrays:
    """The parameters of one unit by their official names, as views of ours."""
    p = {}
    for official, (ours, block) in UNIT.items():
        convolution, rows = unit.get_submodule(ours), slice(block * unit.channels, (block + 1) * unit.channels)
        p[f"{at}{official}/CvK"] = convolution.weight[rows].permute(2, 3, 1, 0)
        p[f"{at}{official}/CvB"] = convolution.bias[rows]
    return p


def _load(views: Arrays, arrays: Arrays) -> None:
    """Give a model, of which these are views, the file's parameters."""
    given = {name: value for name, value in arrays.items() if name.startswith("p/")}
    shapes, ours = ({name: tuple(value.shape) for name, value in p.items()} for p in (given, views))
    if shapes != {f"p/{name}": shape for name, shape in ours.items()}:
        raise ValueError(f"path must hold parameters of shapes {ours}, got {shapes}")
    with torch.no_grad():
        for name, view in views.items():
            view.copy_(given[f"p/{name}"])


def _with_gradients(
    arrays: Arrays, outcomes: Arrays, model: nn.Module, views: Callable[[Any], Arrays], inputs: Arrays
) -> Arrays:
    """The outcomes, with the gradients of sum(out * grad_out), which take the places of inputs and parameters."""
    if "grad_out" in arrays:
        (outcomes["out"] * arrays["grad_out"]).sum().backward()
        outcomes |= {name: x.grad for name, x in inputs.items()}
        for parameter in model.parameters():
            parameter.data = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        outcomes |= {f"g/{name}": gradient for name, gradient in views(model).items()}
    return outcomes
