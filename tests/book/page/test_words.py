"""Numbers as sentences have them."""

import math

from rtx_book.page.words import listed, percent, power


def test_a_share_in_percent_does_not_break_before_its_sign():
    assert percent(0.616) == "62\u00a0%"
    assert percent(0.6164, 1) == "61.6\u00a0%"
    assert percent(-0.05) == "\u22125\u00a0%"


def test_a_power_of_ten_has_raised_digits_and_what_is_near_one_two_digits():
    assert [power(v) for v in (3e-7, 0.9e-20, 2e10, 0.0099)] == ["10⁻⁷", "10⁻²⁰", "10¹⁰", "10⁻²"]
    assert [power(v) for v in (0.01, 0.123, 1, 62.4, 99.6)] == ["0.01", "0.12", "1", "62", "10²"]


def test_what_has_no_power_is_said_all_the_same():
    assert [power(v) for v in (0, math.inf, math.nan)] == ["0", "inf", "nan"], "a training may end so"


def test_several_are_listed_as_a_sentence_does():
    assert [listed(range(10, 10 * n + 10, 10)) for n in range(4)] == ["", "10", "10 and 20", "10, 20 and 30"]
    assert listed([500, 1000, "more"]) == "500, 1,000 and more"
