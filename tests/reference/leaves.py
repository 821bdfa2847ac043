"""What the adapters share: parameters and gradients by their official names, and the worst of several routes."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

Arrays = dict[str, Tensor]


def parameters(arrays: Arrays, start: str = "p/") -> Arrays:
    """Those whose names begin so, as leaves in double precision."""
    named = {name.removeprefix(start): value for name, value in arrays.items() if name.startswith(start)}
    return {name: value.double().clone().requires_grad_() for name, value in named.items()}


def with_eps(arrays: Arrays, model: nn.Module, name: str = "layer_norm_eps") -> nn.Module:
    """The model with the file's epsilon in every norm."""
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = float(arrays[name])
    return model


def gradients(loss: Tensor, model: nn.Module, leaves: Arrays, ours: Arrays, **inputs: Tensor) -> Arrays:
    """``gNAME`` of each input and ``g/NAME`` of each leaf; 0 for what has no part in the loss.

    ``ours`` are the model's parameters as functions of the leaves, as ``official_weights`` makes them.
    """
    named = {name: parameter for name, parameter in model.named_parameters() if name in ours}
    found = gradients_of(loss, inputs | {f"/{name}": parameter for name, parameter in named.items()})
    through_ours = sum((found.pop(f"g/{name}") * ours[name]).sum() for name in named)
    return found | gradients_of(through_ours, {f"/{name}": leaf for name, leaf in leaves.items()})


def gradients_of(loss: Tensor, tensors: Arrays) -> Arrays:
    """``gNAME`` of each tensor; 0 for one that has no part in the loss."""
    found = torch.autograd.grad(loss, list(tensors.values()), retain_graph=True, materialize_grads=True)
    return {f"g{name}": gradient for name, gradient in zip(tensors, found, strict=True)}


def with_gradients(
    arrays: Arrays,
    outcomes: Arrays,
    model: nn.Module | None = None,
    leaves: Arrays | None = None,
    ours: Arrays | None = None,
    out: str = "out",
    **inputs: Tensor,
) -> Arrays:
    """The outcomes, with the gradients of sum(out * grad_out), for the outcome so called, if the file has ``grad_out``.

    Without a model, of the inputs alone.
    """
    if "grad_out" not in arrays:
        return outcomes
    loss = (outcomes[out] * arrays["grad_out"]).sum()
    return outcomes | (gradients(loss, model, leaves, ours, **inputs) if model else gradients_of(loss, inputs))


def furthest(runs: Sequence[Arrays], arrays: Arrays) -> Arrays:
    """Each outcome of the route whose own is furthest from the file's; NaN and other shapes are as far as can be."""

    def error(ours: Tensor, name: str) -> float:
        if name not in arrays or ours.shape != arrays[name].shape:
            return math.inf if name in arrays else 0.0
        return float((ours.detach() - arrays[name]).abs().nan_to_num(nan=math.inf).max()) if ours.numel() else 0.0

    return {name: max((run[name] for run in runs), key=lambda ours: error(ours, name)) for name in runs[0]}
