"""Published weights in our models: what their ``from_official`` share."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor, nn

Model = TypeVar("Model", bound=nn.Module)
P = ParamSpec("P")
Value = TypeVar("Value")


def reads_official(load: Callable[P, Model]) -> Callable[P, Model]:
    """A ``from_official`` that raises ``ValueError`` where it looks for an array in vain."""

    @wraps(load)
    def loaded(*args: P.args, **options: P.kwargs) -> Model:
        try:
            return load(*args, **options)
        except KeyError as error:
            raise ValueError(f"arrays must hold {error}") from error

    return loaded


def load_official(model: Model, weights: Mapping[str, Tensor]) -> Model:
    """The model with these weights, in their precision; ``ValueError`` names what is missing, unknown or misshapen."""
    model.to(next(iter(weights.values())).dtype)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"arrays must be those of a {type(model).__name__}: {error}") from error
    return model


def renamed(arrays: Mapping[str, Value], rules: Mapping[str, str]) -> dict[str, Value]:
    """The arrays by other names: what each rule's regular expression finds becomes what the rule says.

    An array whose name becomes empty is left out.
    """
    found = {}
    for name, value in arrays.items():
        for pattern, ours in rules.items():
            name = re.sub(pattern, ours, name)
        if name:
            found[name] = value
    return found


def joined(weights: Mapping[str, Tensor], parts: Sequence[str], whole: str) -> dict[str, Tensor]:
    """The weights with the rows of one matrix, ``whole``, in place of those that differ in these parts of their names.

    So ``joined(weights, ["query", "key", "value"], "in_proj")`` joins three matrices of every layer, in this order.
    """
    found = dict(weights)
    for first in [name for name in weights if parts[0] in name]:
        rows = [found.pop(first.replace(parts[0], part)) for part in parts]
        found[first.replace(parts[0], whole)] = torch.cat(rows)
    return found
