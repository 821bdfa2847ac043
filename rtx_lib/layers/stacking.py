"""What the recurrent layers share: layers and directions over torch.nn's weights, and its fused kernels."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rtx_lib.shapes import expect, expect_ids, expect_state, map_tensors, traced

States = tuple[Tensor, ...]
# Runs one layer and direction: (x (B, T, D), initial parts of the state, its weights) -> (h_1..h_T, last parts).
Run = Callable[[Tensor, States, list[nn.Parameter]], tuple[States, States]]
Change = Callable[[Tensor], Tensor]
BACKENDS = ("loop", "torch", "auto")


@torch.no_grad()
def draw_uniform(module: nn.Module, inputs: int) -> None:
    """U(-1/sqrt(n), 1/sqrt(n)) with n inputs for every parameter, torch.nn's rule."""
    bound = 1 / math.sqrt(inputs)
    for parameter in module.parameters():
        parameter.uniform_(-bound, bound)


def watched(*taps: nn.Module) -> bool:
    """Whether a forward hook sits on one of the taps."""
    return any(tap._forward_hooks or tap._forward_pre_hooks for tap in taps)


def first_state(module: nn.RNNBase, x: Tensor, state: Tensor | None) -> Tensor:
    """The state (num_layers * directions, B, H) itself, zeros for None; ``ValueError`` if it or x does not fit."""
    like: Tensor = module.all_weights[0][0]
    if isinstance(x, Tensor) and x.ndim == 2 and not x.is_floating_point():
        expect_ids(x, module.input_size)
    else:
        like = expect(x, ("B", "T", module.input_size), like=like)
    first: Tensor = expect_state(state, (len(module.all_weights), x.shape[0], module.hidden_size), like)
    return first


def inputs(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """W x + b at every step of x (B, T, D); for ids (B, T) the columns of W that their one-hot vectors would pick."""
    return F.linear(x, weight, bias) if x.ndim == 3 else F.embedding(x, weight.T) + bias


def kernel_runs(x: Tensor, *taps: nn.Module) -> bool:
    """Whether torch's kernel may run. For ids, of which it knows nothing, the loop is faster on a CPU."""
    return not (traced() or watched(*taps) or (x.ndim == 2 and x.device.type == "cpu"))


def run_fused(
    function: Callable[..., Any], module: nn.RNNBase, x: Tensor, state: Tensor | States, change: Change | None = None
) -> Any:
    """All layers and directions in ``torch.lstm`` or ``torch.gru``, after a change of each weight if asked for.

    On a GPU this is cuDNN, which keeps what the backward pass needs only if told to train. Where our weights lie
    apart, it copies them together in each call and would warn that this costs memory. It takes a state
    in one piece of memory only.

    Of ids (B, T) it reads the columns of the first matrices, through identities in place of these.
    """
    flat = [weight if change is None else change(weight) for weights in module.all_weights for weight in weights]
    if x.ndim == 2:
        first = range(0, 8 if module.bidirectional else 4, 4)  # where the matrices that read x stand
        x = torch.cat([F.embedding(x, flat[i].T) for i in first], dim=-1)
        identities = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device).chunk(len(first))
        for i, rows in zip(first, identities, strict=True):
            flat[i] = rows
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous chunk")
        train, both = torch.is_grad_enabled(), module.bidirectional
        return function(x, map_tensors(state, Tensor.contiguous), flat, True, module.num_layers, 0.0, train, both, True)


def run_stack(module: nn.RNNBase, x: Tensor, state: States, run: Run) -> tuple[Tensor, States]:
    """Run all layers and directions, each on the joined states of the layer below.

    Parameters
    ----------
    x
        (B, T, D_in), or ids (B, T).
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
    for _ in range(module.num_layers):
        halves = []
        for reverse in (False, True) if module.bidirectional else (False,):
            parts, weights = tuple(part[len(last)] for part in state), module.all_weights[len(last)]
            states, end = run(x.flip(1) if reverse else x, parts, weights)
            last.append(end)
            halves.append(torch.stack(states[::-1] if reverse else states, dim=1))  # (B, T, H)
        x = torch.cat(halves, dim=-1)
    return x, tuple(torch.stack(parts) for parts in zip(*last, strict=True))
