"""What the recurrent layers share: torch.nn's parameter names, layers and directions, and checks of what comes in."""

import math
import warnings
from collections.abc import Callable, Sequence
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
    module: nn.Module, gates: int, input_size: int, hidden_size: int, num_layers: int, directions: int
) -> None:
    """Give ``module`` torch.nn's parameters, uninitialised, for blocks of ``gates * hidden_size`` rows."""
    rows = gates * hidden_size
    for layer in range(num_layers):
        width = input_size if layer == 0 else hidden_size * directions
        for suffix in suffixes(layer, directions):
            module.register_parameter(f"weight_ih_{suffix}", nn.Parameter(torch.empty(rows, width)))
            module.register_parameter(f"weight_hh_{suffix}", nn.Parameter(torch.empty(rows, hidden_size)))
            module.register_parameter(f"bias_ih_{suffix}", nn.Parameter(torch.empty(rows)))
            module.register_parameter(f"bias_hh_{suffix}", nn.Parameter(torch.empty(rows)))


def weights(module: nn.Module, suffix: str) -> list[Tensor]:
    """W_ih, W_hh, b_ih and b_hh of one layer and direction."""
    return [getattr(module, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def all_weights(module: nn.Module, num_layers: int, directions: int) -> States:
    """The weights of all layers and directions, in torch.nn's order."""
    return tuple(w for layer in range(num_layers) for end in suffixes(layer, directions) for w in weights(module, end))


@torch.no_grad()
def draw_uniform(module: nn.Module, hidden_size: int, generator: torch.Generator | None) -> None:
    """U(-1/sqrt(H), 1/sqrt(H)) for every parameter, torch.nn's rule."""
    bound = 1 / math.sqrt(hidden_size)
    for parameter in module.parameters():
        parameter.uniform_(-bound, bound, generator=generator)


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


def check_sizes(**sizes: int) -> None:
    """Raise ``ValueError`` unless every size is at least 1."""
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be at least 1, got {size}")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise ``ValueError`` unless the value is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}, got {value!r}")


def check_sequence(x: object, input_size: int, weight: Tensor) -> None:
    """Raise ``ValueError`` unless x is (B, T, input_size), B and T at least 1, of the weight's device and dtype."""
    if not isinstance(x, Tensor):
        raise ValueError(f"x must be a tensor of shape (B, T, {input_size}), got {type(x).__name__}")
    if x.ndim != 3 or x.shape[-1] != input_size:
        raise ValueError(f"x must have shape (B, T, {input_size}), got {tuple(x.shape)}")
    if x.shape[0] < 1 or x.shape[1] < 1:
        raise ValueError(f"x must hold at least one sequence of at least one step, got shape {tuple(x.shape)}")
    if x.device != weight.device:
        raise ValueError(f"x must be on {weight.device}, as the weights are, got {x.device}")
    if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        raise ValueError(f"x must be of {weight.dtype}, as the weights are, got {x.dtype}")


def check_entries(entries: object, count: int, of: str, name: str = "state") -> tuple[Any, ...]:
    """The entries; ``ValueError`` unless they are a tuple of so many. ``of`` tells what, as "one for each layer"."""
    if not isinstance(entries, tuple) or len(entries) != count:
        got = f"{len(entries)} entries" if isinstance(entries, tuple) else type(entries).__name__
        raise ValueError(f"{name} must be a tuple of {count} entries, {of}, got {got}")
    return entries


def check_state(state: object, shape: tuple[int, ...], x: Tensor, name: str = "state") -> Tensor:
    """The state; ``ValueError`` unless it is a tensor of this shape, and of the device and dtype of x."""
    if not isinstance(state, Tensor):
        raise ValueError(f"{name} must be a tensor of shape {shape}, got {type(state).__name__}")
    if state.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {tuple(state.shape)}")
    if state.device != x.device:
        raise ValueError(f"{name} must be on {x.device}, as x is, got {state.device}")
    if state.dtype != x.dtype and not torch.is_autocast_enabled(x.device.type):
        raise ValueError(f"{name} must be of {x.dtype}, as x is, got {state.dtype}")
    return state
