"""Each check on recurrence passes the right answer and names the slip behind a wrong one."""

import pytest
import torch
from support.answers import chapter

from rtx_book.checks.recurrence import check_backward_states, check_slips


def backward_states(z, weight):
    h, states = torch.zeros_like(z[:, 0]), []
    for z_t in reversed(z.unbind(1)):
        h = torch.tanh(z_t + h @ weight.T)
        states.append(h)
    return torch.stack(states[::-1], dim=1)


RIGHT = {check_slips: [([2, 1], "Right: line 1 and line 2")]}
SLIPS = {
    check_slips: [
        ({2}, "make the right answers likelier"),
        ({1}, "slope of tanh or W_hh"),
        (set(), "a line is missing"),
        (3, "give a set"),
        ({1, 2, 3}, "line 3 is right"),
        ({1, 2, 4}, "outer product"),
        ({1, 2, 5}, "line 5 is right"),
        ({1, 2, 6}, "T alone"),
        ({0, 1, 2}, "numbered 1 to 6"),
    ],
    check_backward_states: [
        (lambda z, w: backward_states(z.flip(1), w).flip(1), "reads the one at t-1"),
        (lambda z, w: backward_states(z, w).flip(1), "order in which they were made"),
        (lambda z, w: torch.tanh(z), "no state depends on another"),
        (lambda z, w: backward_states(z, w.T), "transposed"),
        (lambda z, w: backward_states(z, 2 * w), "the entry .0, 0, 0. must be"),
        (lambda z, w: backward_states(z, w)[:, 0], "shape"),
        (lambda z, w: None, "must return a tensor"),
    ],
}

test_slips, test_stubs, test_right_answers = chapter(SLIPS, RIGHT)


@pytest.mark.parametrize("answer", [set(), {1}, {2}])
def test_a_line_that_is_missing_is_not_named(answer):
    with pytest.raises(AssertionError) as said:
        check_slips(answer)
    assert not any(character.isdigit() for character in str(said.value))
