"""The linear forecasters among the reference values: outputs, parts, loss and gradients."""

import torch.nn.functional as F
from torch import Tensor

from rtx_lib.models.ltsf import DLinear, Linear, NLinear, official_weights

from .leaves import gradients, parameters

Arrays = dict[str, Tensor]


def ltsf(arrays: Arrays) -> Arrays:
    """DLinear's parameters tell it. Linear and NLinear have the same: it is the one whose outcomes are the file's."""
    if any(name.startswith("p/Linear_Trend") for name in arrays):
        return _ltsf(arrays, DLinear)
    return min((_ltsf(arrays, kind) for kind in (Linear, NLinear)), key=lambda ours: _distance(ours, arrays))


def _ltsf(arrays: Arrays, kind: type[Linear]) -> Arrays:
    given, x = parameters(arrays), arrays["x"].double().clone().requires_grad_()
    model = kind.from_official(given, channels=x.shape[2])
    y, _ = model(x)
    outcomes = {"y": y, "loss": F.mse_loss(y, arrays["target"])}
    if kind is DLinear:
        outcomes |= dict(zip(("trend", "rest"), model.parts(x), strict=True))
    return outcomes | gradients(outcomes["loss"], model, given, official_weights(given), _x=x)


def _distance(ours: Arrays, theirs: Arrays) -> float:
    same = [name for name in ours if name in theirs and ours[name].shape == theirs[name].shape]
    return sum(float((ours[name].detach() - theirs[name]).abs().mean()) for name in same)


FAMILIES = {"ltsf_": ltsf}
INPUTS = {"ltsf_": {"target", "individual"}}
