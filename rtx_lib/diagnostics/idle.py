"""Parameters that are counted but never learn."""

from torch import Tensor, nn

_ROUNDING = 1e-12  # of the greatest gradient; in float64 what is left where the exact gradient is 0 lies below


def idle_parameters(model: nn.Module) -> int:
    """How many parameters got no gradient but rounding, after a backward pass in float64.

    They are judged tensor by tensor, and the bias of an attention's input projection number by number, as it is that of
    queries, keys and values: a bias on the keys adds the same to all scores of a query, and the softmax takes it out
    again.

    Parameters
    ----------
    model
        In float64, after ``loss.backward()`` on inputs that use all of it.
    """
    gradients: list[Tensor] = []
    for name, parameter in model.named_parameters():
        if parameter.itemsize != 8:
            raise ValueError(f"model must be in float64, got {name} in {parameter.dtype}")
        found = parameter.grad if parameter.grad is not None else parameter.detach() * 0
        gradients += found.split(1) if name.endswith("in_proj_bias") else [found]
    greatest = max((float(gradient.abs().max()) for gradient in gradients), default=0.0)
    if not greatest:
        raise ValueError("model must have gradients, got none: call loss.backward() first")
    return sum(gradient.numel() for gradient in gradients if float(gradient.abs().max()) < _ROUNDING * greatest)
