"""Numbers as sentences have them."""

import math
from functools import partial

import pytest

from rtx_book.words import few, listed, number, padded, percent, power, three

TOLD = [
    (percent, {0.616: "62\u00a0%", -0.05: "\u22125\u00a0%"}),
    (partial(percent, digits=1), {0.6164: "61.6\u00a0%"}),
    (power, {3e-7: "10⁻⁷", 0.9e-20: "10⁻²⁰", 2e10: "10¹⁰", 0.0099: "10⁻²"}),
    (power, {0.01: "0.01", 0.123: "0.12", 1: "1", 62.4: "62", 99.6: "10²", 0: "0", math.inf: "inf", math.nan: "nan"}),
    (listed, {(): "", (10,): "10", (10, 20): "10 and 20", (500, 1000, "more"): "500, 1,000 and more"}),
    (partial(few, kind="models"), {"": "none", "AB": "A and B", "ABCD": "A, B, C and D", "ABCDE": "5 models"}),
    (number, {None: "not finite", 0.1634: "0.163", 2.1e-24: "2.1e-24", 1240.2: "1,240", 5.0: "5", 0.0: "0"}),
    (number, {12.34: "12.3", 999.6: "1,000", 999_600.0: "1.0e+06", 0.0009999: "0.001", 12_345.6: "12,346"}),
    (three, {0: "0", 0.01234: "0.0123", 1234.5: "1,230", 1000: "1,000", 1050: "1,050", 99.96: "100"}),
    (three, {1e-5: "1e-5", 1.2e7: "1.2e7", -1: "-1"}),
    (padded, {0.1: "0.100", 1.0: "1.00", 99.96: "100", 1234.5: "1,234"}),
]


@pytest.mark.parametrize(("write", "told"), TOLD)
def test_what_is_written(write, told):
    assert {value: write(value) for value in told} == told
