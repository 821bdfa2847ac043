"""Published weights in our models: what their ``from_official`` share."""

from collections.abc import Mapping
from typing import TypeVar

from torch import Tensor, nn

Model = TypeVar("Model", bound=nn.Module)


def load_official(model: Model, weights: Mapping[str, Tensor]) -> Model:
    """The model with these weights, in their precision; ``ValueError`` names what is missing, unknown or misshapen."""
    model.to(next(iter(weights.values())).dtype)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"arrays must be those of a {type(model).__name__}: {error}") from error
    return model
