"""What every check refuses before it looks for slips."""

from importlib import import_module
from itertools import product

import pytest
import torch
from torch.nn import RNN

from rtx_book.checks.answers import compare, numbers, worked

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


UNIT = (torch.arange(10_000.0) + 0.5) / 10_000  # as good as U(0, 1)
RECOUNTED = {  # in another way, over the answer; or what the answer leads to, over what it must
    "check_parameter_count": lambda x, D, H: sum(map(torch.numel, RNN(D, H, 2, bidirectional=True).parameters())) / x,
    "check_product_baseline": lambda x, n: (UNIT.square().mean() ** n - UNIT.mean() ** (2 * n)) / x,
    "check_half_life": lambda x, n: 2 * torch.tensor(x).sigmoid() ** n,
    "check_by_hand": lambda x, **own: torch.tensor([2.0, 1, 0]).softmax(0) @ torch.tensor([*own.values()]).float() / x,
    "check_scale": lambda x, K: K * (2 * UNIT - 1).square().mean() * x * x,
    "check_reach": lambda x, n, M: len(set(map(sum, product(range(M), repeat=n)))) / x,
    "check_joins": lambda x, k: sum(2**k - 2**i for i in range(k)) / x,
    "check_field": lambda x, k, n: len(set(map(sum, product(*(range(0, k * 2**i, 2**i) for i in range(n)))))) / x,
    "check_symbols": lambda x, k, N: float(2 ** (k * x) <= 2 ** (16 * N) < 2 ** (k * (x + 1))),
    "check_windows": lambda x, H: len(UNIT[:2880].unfold(0, H, 1)) / x,
}


@pytest.mark.parametrize(("chapter", "name"), [(chapter, name) for chapter, own in numbers().items() for name in own])
def test_a_number_is_right_and_each_slip_is_met_with_its_sentence(chapter, name, capsys):
    check, one = getattr(import_module(f"rtx_book.checks.{chapter}"), name), numbers()[chapter][name]
    choices = one.get("vary", {})
    others = product(*(own[1:] for own in choices.values())) if choices else ()
    for given in (
        {name: own[0] for name, own in choices.items()},
        *(dict(zip(choices, own, strict=True)) for own in others),
    ):
        right, slips, said = worked(one, **given)
        assert name not in RECOUNTED or float(RECOUNTED[name](right, **given)) == pytest.approx(1, abs=1e-4)
        check(right, **given)
        assert capsys.readouterr().out.startswith("Right: ")
        for value, words in (7e9, said(one["otherwise"], 7e9)), *((slip, words) for words, slip in slips.items()):
            with pytest.raises(AssertionError) as told:
                check(value, **given)
            assert str(told.value) == words
    check(None)
    assert capsys.readouterr().out == "Not answered yet.\n"
