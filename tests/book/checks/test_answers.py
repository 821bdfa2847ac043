"""What every check refuses before it looks for slips."""

import pytest
import torch

from rtx_book.checks.answers import compare

RIGHT = torch.arange(6.0, dtype=torch.float64).view(2, 3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "must return a tensor, it returned NoneType"),
        (1.0, "must return a tensor, it returned float"),
        (RIGHT.T, r"shape must be \(2, 3\), it is \(3, 2\)"),
        (RIGHT / 0, "not finite"),
        (-RIGHT, "the sign"),
        (RIGHT + 1, r"the entry \[0, 0\] must be 0, it is 1, by none of the usual slips"),
    ],
)
def test_what_is_wrong_is_said(given, words):
    with pytest.raises(AssertionError, match=words):
        compare(given, RIGHT, {"the sign": -RIGHT})


def test_other_precision_and_what_does_not_count_are_forgiven():
    compare(RIGHT.int(), RIGHT, {})
    compare(RIGHT + torch.tensor([0, 0, torch.nan]), RIGHT, {}, seen=torch.tensor([True, True, False]).expand(2, 3))
