"""The relative difference that proofs are stated in."""

import pytest
import torch
from support.compare import worst
from support.helpers import relative_error

from rtx_lib.diagnostics.agreement import error


def test_the_largest_difference_counts_relative_to_the_reference():
    theirs = torch.tensor([1.0, -4.0, 2.0])
    assert error(torch.tensor([1.5, -4.0, 1.0]), theirs) == 0.25
    assert error(theirs.clone().requires_grad_(), theirs) == 0.0


def test_what_is_not_a_number_is_never_close():
    one, other = torch.ones(2), torch.tensor([float("nan"), 1.0])
    assert max(error(one, one), error(other, one)) == float("inf") == max(error(one, one), relative_error(other, one))
    assert not worst([one, other], [one, one]) < 1e-12


def test_what_cannot_be_compared_is_refused():
    for theirs, message in ((torch.ones(2, 1), "shape"), (torch.zeros(2), "0 everywhere")):
        with pytest.raises(ValueError, match=message):
            error(torch.ones(2), theirs)
