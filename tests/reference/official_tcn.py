"""The temporal convolutional network among the reference values."""

import torch
from torch import Tensor

from rtx_lib.models.tcn import TCN

Arrays = dict[str, Tensor]

INPUTS = {"kernel_size", "channels"}


def tcn(arrays: Arrays) -> Arrays:
    """The levels alone, channels before time; all sizes are those of the parameters.

    A file without ``grad_out`` claims no gradients.
    """
    parameters = {name.removeprefix("p/"): value for name, value in arrays.items() if name.startswith("p/")}
    depth = sum(name.endswith("conv1.bias") for name in parameters)
    channels = [len(parameters[f"network.{i}.conv1.bias"]) for i in range(depth)]
    _, inputs, taps = parameters["network.0.conv1.weight_v"].shape
    model = TCN(inputs, 1, channels, taps).double()
    ends = {name: value for name, value in model.state_dict().items() if name.startswith("readout")}
    model.load_state_dict(parameters | ends)  # the names are the same
    outcomes: Arrays = {}
    for i, level in enumerate(model.network):
        level.register_forward_hook(lambda _, args, result, i=i: outcomes.update({f"level{i}_out": result[0]}))
    x = arrays["x"].double().clone().requires_grad_()
    model(x.transpose(1, 2))
    outcomes["out"] = outcomes[f"level{depth - 1}_out"]
    if "grad_out" in arrays:
        named = dict(model.network.named_parameters(prefix="network"))
        loss = (outcomes["out"] * arrays["grad_out"]).sum()
        found = torch.autograd.grad(loss, [x, *named.values()])
        outcomes |= dict(zip(["gx", *(f"g/{name}" for name in named)], found, strict=True))
    return {name: value.detach() for name, value in outcomes.items()}
