"""Checks of the exercises on recurrence: spot the slip, the backward direction, counting parameters.

Each takes the reader's answer; None stands for one that is not there yet. If it is wrong, the message of the
AssertionError names the slip that most likely led there.
"""

from collections.abc import Callable, Collection

import torch
from torch import Tensor

from rtx_book.checks.answers import compare, draw, exercise, judged, numeric, of_chapter

solution, ask = of_chapter(__name__)
(check_parameter_count,) = numeric(__name__)

LINES = judged("lines")
"""The lines of exercise 1 by number: whether each holds, and what is said of it."""

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
    unknown, wrong = sorted(set(answer) - set(LINES)), {number for number, (holds, _) in LINES.items() if not holds}
    assert not unknown, f"the lines are numbered 1 to {len(LINES)}; the answer names {unknown}"
    faults = [*sorted(set(answer) - wrong), *sorted(wrong - set(answer))]
    assert not faults, LINES[faults[0]][1]


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
        "the states are in the order in which they were made: turn them so that h[:, 0] is h_1": right.flip(1),
        "no state depends on another: add W_hh h_{t+1} inside the tanh": torch.tanh(z),
        "W_hh is transposed: for row vectors W_hh h is written h @ W_hh.T": transposed,
    }
    compare(function(z, weight), right, slips, 1e-12)
