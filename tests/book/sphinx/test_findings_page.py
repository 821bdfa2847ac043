"""The page of findings: worst first, with what the study says of each."""

import pytest

from rtx_book.sphinx import findings


def run(seed, data="true", part="first", **values):
    where = {"processor": "x86_64, AVX2", "python": "3.11.7", "torch": "2.13.0", "instructions": "avx2", "threads": 1}
    return {"seed": seed, "data": data, "part": part, "cpu_seconds": 36.0, "values": values, **where}


def study():
    told = {
        "a-sure": {"sentence": "It learns.", "bound": "< 1"},
        "a-shaky": {"sentence": "It forgets.", "bound": "> 0"},
        "a-new": {"sentence": "Nobody ran it.", "bound": "> 0"},
    }
    runs = [
        run(1, **{"a-sure": 0.5, "a-shaky": 2.0}),
        run(2, "embedded", **{"a-sure": 0.25, "a-shaky": -1.0}),
        run(101, part="second", **{"a-sure": 0.75, "a-shaky": None}),
    ]
    return {"chapters": {"01_a": {"findings": told, "runs": runs}}}


def test_the_least_rate_comes_first_and_what_never_ran_is_left_out():
    rows = findings.rows_of(study())
    assert [(row.found.id, row.rate.held, row.rate.runs) for row in rows] == [("a-shaky", 1, 3), ("a-sure", 3, 3)]


def test_a_row_tells_values_and_parts():
    shaky, sure = (row.found for row in findings.rows_of(study()))
    assert findings.split(study(), shaky) == [
        "true data: 1 of 2",
        "embedded data: 0 of 1",
        "seeds before the bound: 1 of 2",
        "seeds after it: 0 of 1",
    ]
    assert findings.split(study(), sure)[-1] == "seeds after it: 1 of 1"


@pytest.mark.parametrize(
    "values, text",
    [
        ([0.5, 0.25, 0.75], "0.5 (0.25 to 0.75)"),
        ([2.0, 2.0], "2 in every run"),
        ([2.0, float("nan")], "2 in every run, 1 not finite"),
        ([float("nan")], "none finite"),
    ],
)
def test_values_are_told_with_their_range(values, text):
    assert findings.spread(values) == text


def test_the_machines_are_named():
    assert findings.machines(study()).startswith("3 runs of 1 chapters in 0.0 CPU hours; instruction sets: avx2 3;")
