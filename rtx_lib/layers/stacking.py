"""What the recurrent layers share: torch.nn's parameter names, layers and directions, and its fused kernels."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

States = tuple[Tensor, ...]
# Runs one layer and direction: (x (B, T, D), initial parts of the state, suffix) -> (h_1..h_T, last parts).
Run = Callable[[Tensor, States, str], tuple[States, States]]
BACKENDS = ("loop", "torch")


def suffixes(layer: int, directions: int) -> list[str]:
    """The endings of torch.nn's parameter names for one layer."""
    return [f"l{layer}", f"l{layer}_reverse"][:directions]


def register_weights(
    module: nn.Module, gates: int, input_size: int, hidden_size: int, num_layers: int = 1, directions: int = 1
) -> None:
    """Give ``module`` torch.nn's parameters, uninitialised, for blocks of ``gates * hidden_size`` rows."""
    rows = gates * hidden_size
    for layer in range(num_layers):
        width = input_size if layer == 0 else hidden_size * directions
        shapes = {"weight_ih": (rows, width), "weight_hh": (rows, hidden_size), "bias_ih": (rows,), "bias_hh": (rows,)}
        for suffix in suffixes(layer, directions):
            for name, shape in shapes.items():
                module.register_parameter(f"{name}_{suffix}", nn.Parameter(torch.empty(shape)))


def weights(module: nn.Module, suffix: str = "l0") -> list[Tensor]:
    """W_ih, W_hh, b_ih and b_hh of one layer and direction."""
    return [getattr(module, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def all_weights(module: nn.Module, num_layers: int, directions: int) -> States:
    """The weights of all layers and directions, in torch.nn's order."""
    return tuple(w for layer in range(num_layers) for end in suffixes(layer, directions) for w in weights(module, end))


@torch.no_grad()
def draw_uniform(module: nn.Module, inputs: int) -> None:
    """U(-1/sqrt(n), 1/sqrt(n)) with n inputs for every parameter, torch.nn's rule."""
    bound = 1 / math.sqrt(inputs)
    for parameter in module.parameters():
        parameter.uniform_(-bound, bound)


def watched(*taps: nn.Module) -> bool:
    """Whether a forward hook sits on one of the taps."""
    return any(tap._forward_hooks or tap._forward_pre_hooks for tap in taps)


def run_fused(
    function: Callable[..., Any], x: Tensor, state: Tensor | States, flat: States, num_layers: int, directions: int
) -> Any:
    """All layers and directions in ``torch.lstm`` or ``torch.gru``, whose weights ``flat`` are in torch.nn's order.

    On a GPU this is cuDNN, which keeps what the backward pass needs only if told to train. Our weights lie apart,
    as parameters do; it copies them together in each call and would warn that this costs memory.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous chunk")
        return function(x, state, flat, True, num_layers, 0.0, torch.is_grad_enabled(), directions == 2, True)


def run_stack(x: Tensor, state: States, num_layers: int, directions: int, run: Run) -> tuple[Tensor, States]:
    """Run all layers and directions, each on the joined states of the layer below.

    Parameters
    ----------
    x
        (B, T, D_in).
    state
        The parts of the state, each (num_layers * directions, B, H).
    run
        Runs one layer and direction over a sequence in the order given; the backward direction gets it reversed.

    Returns
    -------
    y
        (B, T, H * directions).
    state
        The parts in which each layer and direction ended, as they came in.
    """
    last: list[States] = []
    for layer in range(num_layers):
        halves = []
        for suffix in suffixes(layer, directions):
            reverse = suffix.endswith("_reverse")
            states, end = run(x.flip(1) if reverse else x, tuple(part[len(last)] for part in state), suffix)
            last.append(end)
            halves.append(torch.stack(states[::-1] if reverse else states, dim=1))  # (B, T, H)
        x = torch.cat(halves, dim=-1)
    return x, tuple(torch.stack(parts) for parts in zip(*last, strict=True))
