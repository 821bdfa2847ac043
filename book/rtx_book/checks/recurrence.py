"""Checks of the exercises on recurrence: spot the slip, the backward direction, counting parameters.

Each takes the reader's answer; None stands for one that is not there yet. If it is wrong, the message of the
AssertionError names the slip that most likely led there.
"""

from collections.abc import Callable, Collection

import torch
from torch import Tensor

from rtx_book.checks.answers import compare, draw, exercise, number, of_chapter

solution, ask = of_chapter(__name__)
check_parameter_count = number(__name__, "check_parameter_count")

WRONG_LINES = frozenset({1, 2})
"""The lines of exercise 1 that do not hold."""

_MISSED = {
    1: "a line is missing: would gradient descent on what it says make the right answers likelier?",
    2: "a line is missing: going backwards, does the gradient meet the slope of tanh or W_hh^T first?",
}
_HOLDS = {
    3: "line 3 is right: diag(1 - h_t^2) stands on the left of the gradient, and b reaches every step",
    4: "line 4 is right: o_t = V h_t + c, so each step adds an outer product of shape (D_out, H)",
    5: "line 5 is right: W_hh multiplies h_{t-1}, and the slope belongs to the step that W_hh helps to make",
    6: "line 6 is right: with a loss at T alone there is one path to h_t, and the product walks along it",
}
_RIGHT = """Right: line 1 and line 2.
Line 1 pairs a loss with the gradient of its negative:
descending it as it stands makes the right answers less likely.
Line 2 does not conform, a column times a matrix from the right;
read as elementwise factors, it lets the slope act after W_hh^T.
Line 6 holds, as the loss is at T alone. With a loss at every step
each h_t also gets what the steps in between contribute."""


@exercise(_RIGHT)
def check_slips(answer: Collection[int]) -> None:
    """Exercise 1: the numbers of the lines that do not hold."""
    assert isinstance(answer, Collection), f"give a set of line numbers such as {{3, 4}}, not {answer!r}"
    lines = _MISSED | _HOLDS
    unknown = sorted(set(answer) - set(lines))
    assert not unknown, f"the lines are numbered 1 to {len(lines)}; the answer names {unknown}"
    accused, missed = sorted(set(answer) - WRONG_LINES), sorted(WRONG_LINES - set(answer))
    assert not accused, _HOLDS[accused[0]]
    assert not missed, _MISSED[missed[0]]


@exercise("Right: from the last step to the first, and turned back into order.")
def check_backward_states(function: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Exercise 2: h_t = tanh(z_t + W h_{t+1}) for t = T..1, from z (B, T, H) and W (H, H) to h (B, T, H).

    States after the last step are zero.
    """
    z, weight = draw(0, (3, 6, 4), (4, 4))

    def run(z: Tensor, weight: Tensor) -> Tensor:
        h, states = torch.zeros_like(z[:, 0]), []
        for z_t in z.unbind(1):
            h = torch.tanh(z_t + h @ weight.T)
            states.append(h)
        return torch.stack(states, dim=1)

    right, forward, transposed = run(z.flip(1), weight).flip(1), run(z, weight), run(z.flip(1), weight.T).flip(1)
    slips = {
        "the state at t reads the one at t-1: this is the forward direction; begin at the last step": forward,
        "the states stand in the order in which they were made: turn them so that h[:, 0] is h_1": right.flip(1),
        "no state depends on another: add W_hh h_{t+1} inside the tanh": torch.tanh(z),
        "W_hh is transposed: for row vectors W_hh h is written h @ W_hh.T": transposed,
    }
    compare(function(z, weight), right, slips, 1e-12)
