"""What every check refuses before it looks for slips."""

from importlib import import_module

import pytest
import torch

from rtx_book.checks.answers import compare, numbers

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


@pytest.mark.parametrize(("chapter", "name"), [(chapter, name) for chapter, own in numbers().items() for name in own])
def test_a_number_is_right_and_each_slip_is_met_with_its_sentence(chapter, name, capsys):
    check, one = getattr(import_module(f"rtx_book.checks.{chapter}"), name), numbers()[chapter][name]
    check(one["right"])
    assert capsys.readouterr().out.startswith("Right: ")
    check(None)
    assert capsys.readouterr().out == "Not answered yet.\n"
    for value, words in (
        (7e9, one["otherwise"].format(7e9, shown={"check_half_life": "1"}.get(name, "inf"))),
        *((slip, said) for said, slip in one["slips"].items()),
    ):
        with pytest.raises(AssertionError) as told:
            check(value)
        assert str(told.value) == words
