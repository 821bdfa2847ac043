"""Numbers as sentences have them."""

import math

from rtx_book.words import few, listed, number, padded, percent, power, three


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


def test_what_would_be_long_is_counted():
    told = {"": "none", "AB": "A and B", "ABCD": "A, B, C and D", "ABCDE": "5 models"}
    assert {names: few(list(names), "models") for names in told} == told


def test_numbers_of_findings_are_short():
    short = {None: "not finite", 0.1634: "0.163", 2.1e-24: "2.1e-24", 1240.2: "1,240", 5.0: "5", 0.0: "0"}
    short |= {12.34: "12.3", 999.6: "1,000", 999_600.0: "1.0e+06", 0.0009999: "0.001", 12_345.6: "12,346"}
    assert {value: number(value) for value in short} == short


def test_other_numbers_have_three_digits():
    short = {0: "0", 0.01234: "0.0123", 1234.5: "1,230", 1000: "1,000", 1050: "1,050", 99.96: "100"}
    short |= {1e-5: "1e-5", 1.2e7: "1.2e7", -1: "-1"}
    assert {value: three(value) for value in short} == short
    assert [padded(value) for value in (0.1, 1.0, 99.96, 1234.5)] == ["0.100", "1.00", "100", "1,234"]
