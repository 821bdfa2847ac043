"""What can be read off a model's states by a linear map (Alain and Bengio 2016)."""

import torch
from torch import Tensor


def linear_probe(states: Tensor, target: Tensor) -> float:
    """Mean distance between a number and its best linear guess from a state.

    The map is fitted to the first half of the sequences by least squares, in double precision, and tested on the
    others.

    Parameters
    ----------
    states
        (B, T, D), B at least 2.
    target
        (T,), the number to guess at each step, the same in all sequences.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    if states.ndim != 3 or len(states) < 2:
        raise ValueError(f"states must have shape (B, T, D) with B at least 2, got {tuple(states.shape)}")
    if target.shape != states.shape[1:2]:
        wanted = tuple(states.shape[1:2])
        raise ValueError(f"target must have shape {wanted}, one for each step, got {tuple(target.shape)}")
    states = states.detach().cpu().double()
    states = torch.cat([states, torch.ones_like(states[..., :1])], dim=-1)  # and a bias
    numbers, half = target.cpu().double(), len(states) // 2
    fitted = torch.linalg.lstsq(states[:half].flatten(0, 1), numbers.repeat(half)[:, None]).solution
    return float((states[half:] @ fitted - numbers[:, None]).abs().mean())
