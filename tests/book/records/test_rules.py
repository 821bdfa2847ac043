"""Rules about records: true, the contrary shown, or neither."""

from dataclasses import dataclass, field

import pytest
import yaml
from support.made_records import records

from rtx_book.records import rules

OURS = {"A": "a.loss", "B": "b.loss"}
YES, NO, OPEN = True, False, None


# By rule and outcome the seeds of A and of B; "-" is a run that diverged.
TABLE = {
    "every A < B": {
        YES: "1 2 | 3 4",
        OPEN: "1 3.5 | 3 4; 3 4 | 3 4; 1 - | 3; 1 | 3 -; 9 | 3 nan",
        NO: "5 6 | 3 4; 5 - | 3; - - | 3",
    },
    "every A > B": {OPEN: "1 1 | 1 1"},
    "every A > 0.5": {YES: "1 2 | 0", OPEN: "0.1 2 | 0", NO: "0.1 | 0"},
    "every A < 0.5 * B": {YES: "1 1.4 | 3", OPEN: "1 1.6 | 3", NO: "1.6 2 | 3"},
    "none A < B": {YES: "5 - | 3 4; 3 3 | 3 3", OPEN: "3.5 | 3 4; 5 | 3 -", NO: "1 2 | 3 4"},
    "none A < 2": {YES: "- | 1", OPEN: "1 - | 1"},
    "some A < B": {YES: "1 9 | 3 4; 1 - | 3", OPEN: "3.5 9 | 3 4; 1 | 3 -", NO: "8 9 | 3 4"},
    "each A < B": {YES: "1 3.5 | 2 4", OPEN: "1 5 | 2 4; 1 - | 2 4; 1 | 2 4", NO: "3 5 | 2 4; 3 - | 2 4"},
    "median A < B": {YES: "1 2 9 | 3 3 3", OPEN: "1 4 9 | 3 3 3; 1 - | 3", NO: "4 4 9 | 3 3 3"},
    "close A ~ B: 5%": {
        YES: "1.04 | 1",
        NO: "1.06 | 1; 0.94 | 1",
        OPEN: "1.01 1.09 1.2 | 1; 0.9 0.9 1.2 1.2 1.2 | 1; 1 - | 1",
    },
    "overlap A ~ B": {YES: "1 3 | 2 4; 1 4 | 2 3; 1 2 | 2 3", NO: "1 2 | 3 4; 3 4 | 1 2", OPEN: "1 - | 0 2; 1 | 0 -"},
}


def seeds(side):
    return [None if one == "-" else float(one) for one in side.split()]


@pytest.mark.parametrize(
    ("rule", "case", "expected"),
    [(rule, case, end) for rule, ends in TABLE.items() for end, cases in ends.items() for case in cases.split("; ")],
)
def test_a_rule_is_what_its_table_says(rule, case, expected):
    a, b = map(seeds, case.split(" | "))
    assert rules.truth(rule, OURS, records(a=a, b=b)) is expected


def test_each_compares_the_same_seeds_in_whatever_order():
    found = records(a=[1, 3.5], b=[2, 4])
    found["a"].reverse()
    assert rules.truth("each A < B", OURS, found) is YES
    found["b"] = found["b"][1:]
    assert rules.truth("each A < B", OURS, found) is OPEN, "a seed has no partner"


@pytest.mark.parametrize("kind", ["every", "none", "each", "median"])
def test_the_contrary_of_a_rule_is_no_contrary_of_its_mirror(kind):
    """Whatever the records are, a rule and the same one with the other sign are not both true, or both contradicted."""
    for a, b in (([1, 2, 3], [4, 5, 6]), ([4, 5, 6], [1, 2, 3]), ([1, 5, 6], [2, 3, 4]), ([1, 4, 6], [2, 4, 5])):
        found = {rules.truth(f"{kind} A {sign} B", OURS, records(a=a, b=b)) for sign in "<>"}
        assert found in ({YES, NO}, {OPEN}, {YES, OPEN}), (a, b)


FAULTS = {
    "is no rule": "all A < B; every A ~ B; close A ~ B; apart A < B; every A < B: 5%; overlap A < B; overlap A ~ B: 5%",
    "1.2.3%' is no rule": "close A ~ B: 1.2.3%",
    "names 'C', which is not one of ours": "every A < C",
    "names '1.2.3'": "every A < 1.2.3",
    "names '3', which is not one of ours": "every A < 0.5 * 3",
    "has the factor 'x'": "every A < x * B",
    "names none of ours": "every 1 < 2",
    "takes two of ours": "each A < 2",
}


@pytest.mark.parametrize(("message", "rule"), [(m, rule) for m, wrong in FAULTS.items() for rule in wrong.split("; ")])
def test_what_is_no_rule_is_named(message, rule):
    with pytest.raises(ValueError, match=message):
        rules.parse(rule, OURS)


def test_rules_in_words():
    assert rules.spoken("every A < 0.5 * B", OURS) == "every seed of A below every seed of 0.5 * B"
    assert rules.spoken("none A < 0.1", OURS) == "no seed of A below 0.1"
    assert rules.spoken("none A > B", OURS) == "no seed of A above any seed of B"
    assert rules.spoken("each A > B", OURS) == "every seed of A above the same seed of B"
    assert rules.spoken("close A ~ B: 5%", OURS) == "the medians of A and B within 5 %"
    assert rules.spoken("overlap A ~ B", OURS) == "the seeds of A and B overlapping"


@dataclass(frozen=True)
class Said:
    says: str
    id: str = ""
    ours: dict[str, str] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)


RULED = {"says": "A is low", "ours": {"A": "a.loss"}, "rules": ["every A < 1"]}


def read(tmp_path, *entries):
    path = tmp_path / "said.yml"
    path.write_text(yaml.safe_dump(list(entries)) if entries else "# nothing yet\n")
    return list(rules.read_entries(path, Said, "saying", ["says"]))


def test_entries_are_objects_with_names(tmp_path):
    first, second = read(tmp_path, {"says": "rain", "id": "weather"}, RULED)
    assert first == ("saying weather", Said("rain", "weather")) and second == ("saying number 2", Said(**RULED))
    assert read(tmp_path) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"says": "rain", "sayz": "sun"}, "saying number 2: unknown sayz; there are says, id, ours, rules"),
        ({"id": "silent"}, "saying silent: says missing"),
        ({"says": "", "id": "empty"}, "saying empty: says missing"),
        ({"says": "sun", "id": "first"}, "saying first: two have this id"),
        (RULED | {"rules": ["every A is low"]}, "saying number 2: .*is no rule"),
        (RULED | {"rules": ["every B < 1"]}, "saying number 2: .*names 'B'"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_wrong_entry_is_named(tmp_path, entry, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, {"says": "rain", "id": "first"}, entry)
