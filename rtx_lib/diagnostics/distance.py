"""Attention by distance: how much goes how far back, and what happens where it may not.

The distance of key j from query i is i - j, where the T queries are the last of the S positions.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from rtx_lib.diagnostics.attention import weights_taps


@contextmanager
def attention_window(model: nn.Module, size: int) -> Iterator[None]:
    """Hide the keys that stand ``size`` and more steps back, inside the ``with`` block and without any training.

    The weights that are left of a query are divided by their sum, which is what a softmax over their scores alone
    gives; NaN where nothing is left.

    Args:
        model: any module with submodules named ``weights_tap``.
        size: how many keys a query still sees, itself included.

    Raises:
        ValueError: if the model has no ``weights_tap`` or ``size`` is below 1.
    """
    if size < 1:
        raise ValueError(f"size must be at least 1, was {size}")

    def hide(module: nn.Module, args: Any, weights: Tensor) -> Tensor:
        T, S = weights.shape[-2:]
        i = torch.arange(S - T, S, device=weights.device)[:, None]
        near = i - torch.arange(S, device=weights.device) < size  # (T, S)
        left = weights * near
        return left / left.sum(-1, keepdim=True)

    with ExitStack() as stack:
        for tap in weights_taps(model).values():
            # In front of the others, so that a recorder sees what the model uses.
            stack.callback(tap.register_forward_hook(hide, prepend=True).remove)
        yield


def weight_by_distance(weights: Tensor, first: int) -> Tensor:
    """The mean weight at each distance, of the queries that have all of these distances before them.

    Args:
        weights: (..., T, T), as :func:`rtx_lib.diagnostics.attention.record_attention` gives them.
        first: the first query that counts, and the number of distances.

    Returns:
        (..., first): entry d is the mean over the queries i = first, ..., T - 1 of their weight on key i - d.

    Raises:
        ValueError: if the weights are not square or ``first`` is not between 1 and T - 1.
    """
    if weights.ndim < 2 or weights.shape[-1] != weights.shape[-2]:
        raise ValueError(f"weights must have shape (..., T, T), was {tuple(weights.shape)}")
    if not 1 <= first < weights.shape[-1]:
        raise ValueError(f"first must be from 1 to {weights.shape[-1] - 1}, was {first}")
    late = weights[..., first:, :]  # (..., T - first, T)
    return torch.stack([late.diagonal(first - d, -2, -1).mean(-1) for d in range(first)], dim=-1)
