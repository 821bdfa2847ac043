"""Checks of the exercises of chapter 1: spot the slip, the backward direction, counting parameters.

Each takes the reader's answer and returns None if it is right. If not, the message of its AssertionError names
the slip that most likely led there.
"""

from collections.abc import Callable, Collection

import torch
from torch import Tensor

from rtx_lib.checks.answers import draw
from rtx_lib.layers import RNN

WRONG_LINES = frozenset({1, 2})
"""The lines of exercise 1 that do not hold."""

_HINTS = {
    1: "line 1 is wrong: compare its sign with that of a loss that falls as the right answer grows likelier",
    2: "line 2 is wrong: by the chain rule the slope of tanh at step t+1 acts before W^T, not after it",
    3: "line 3 is right: diag(1 - h_t^2) stands on the left of the gradient, and b reaches every step",
    4: "line 4 is right: o_t = V h_t + c, so each step adds an outer product of shape (D_out, H)",
    5: "line 5 is right: W multiplies h_{t-1}, and the slope belongs to the step that W helps to make",
    6: "line 6 is right: with a loss at T alone there is one path to h_t, and the product walks along it",
}


def check_slips(answer: Collection[int]) -> None:
    """Exercise 1: the numbers of the lines that do not hold.

    Raises
    ------
    AssertionError
        For a number that is no line's, and for the first line that is judged wrongly.
    """
    assert isinstance(answer, Collection), f"give a set of line numbers such as {{3, 4}}, not {answer!r}"
    unknown = sorted(set(answer) - set(_HINTS))
    assert not unknown, f"the lines are numbered 1 to {len(_HINTS)}; the answer names {unknown}"
    missed = sorted(set(answer) ^ WRONG_LINES)
    assert not missed, _HINTS[missed[0]]


def check_backward_states(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Exercise 2: h_t = tanh(z_t + W h_{t+1}) for t = T..1, from z (B, T, H) and W (H, H) to h (B, T, H).

    States after the last step are zero.

    Raises
    ------
    AssertionError
        If the shape or a value differs by more than 1e-12.
    """
    z, weight = draw(0, (3, 6, 4), (4, 4))

    def run(z: Tensor, weight: Tensor) -> Tensor:
        h, states = torch.zeros_like(z[:, 0]), []
        for z_t in z.unbind(1):
            h = torch.tanh(z_t + h @ weight.T)
            states.append(h)
        return torch.stack(states, dim=1)

    right, forward, transposed = run(z.flip(1), weight).flip(1), run(z, weight), run(z.flip(1), weight.T).flip(1)
    h = function(z, weight)
    assert isinstance(h, Tensor), f"the function must return a tensor of states, returned {type(h).__name__}"
    assert h.shape == z.shape, f"the states must have the shape {tuple(z.shape)} of z, had {tuple(h.shape)}"
    slips = {
        "the state at t reads the one at t-1: this is the forward direction; begin at the last step": forward,
        "the states stand in the order in which they were made: turn them so that h[:, 0] is h_1": right.flip(1),
        "no state depends on another: add W h_{t+1} inside the tanh": torch.tanh(z),
        "W is transposed: for row vectors W h is written h @ W.T": transposed,
    }
    for message, slip in slips.items():
        assert not _same(h, slip), message
    assert _same(h, right), (
        f"the states differ by up to {(h - right).abs().max():.2g}: check that h_{{T+1}} = 0 and that each step "
        "reads the state just made"
    )


def check_parameter_count(function: Callable[[int, int, int], int]) -> None:
    """Exercise 3: parameters of a bidirectional RNN from D_in, H and the number of layers, two biases each.

    Raises
    ------
    AssertionError
        At the first of a few sizes for which the number is wrong.
    """
    for width, hidden, layers in ((3, 5, 1), (3, 5, 2), (7, 4, 3)):
        right = sum(p.numel() for p in RNN(width, hidden, layers, bidirectional=True).parameters())
        one_direction = sum(p.numel() for p in RNN(width, hidden, layers).parameters())
        upper = 2 * (layers - 1) * hidden
        slips = [
            (right // 2, "this counts one direction: the other has weights of its own"),
            (one_direction, "this counts one direction, and upper layers that read H numbers"),
            (right - 2 * layers * hidden, "this counts one bias: torch.nn keeps two, b_ih and b_hh"),
            (right - upper * hidden, "the upper layers read both directions of the layer below: 2H numbers, not H"),
            (right + upper * (width - 2 * hidden), "only the first layer reads the D_in inputs; those above read 2H"),
        ]
        found = function(width, hidden, layers)
        if found == right:
            continue
        message = dict(reversed(slips)).get(found, "add up W_ih, W_hh, b_ih and b_hh, layer by layer and direction")
        raise AssertionError(f"D_in={width}, H={hidden}, {layers} layers: {found}, but there are {right}; {message}")


def _same(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).abs().max() <= 1e-12 * other.abs().max())
