"""Advice stands only while the records bear it out: that of the book, and made-up entries with planted mistakes."""

import re

import pytest
import yaml
from support.made_records import records

from rtx_book.claims.guide import guide, read_guide, supported, told
from rtx_book.race.ranking import computed
from rtx_book.records import measured
from rtx_book.records.records import load
from rtx_book.records.rules import parse
from rtx_book.runs import recorded, tried

ENTRY = {"id": "short", "situation": "It is short.", "ours": {"A": "a.loss", "B": "b.loss"}, "rules": ["every A < B"]}
ENTRY |= {"advice": 'Take\n A, <span data-record="a.loss.median">0.2</span>.'}
MADE = records(a=[0.1, 0.2, 0.3], b=[0.4, 0.5, 0.6])


def written(tmp_path, *entries):
    path = tmp_path / "guide.yml"
    path.write_text(yaml.safe_dump(list(entries)), encoding="utf-8")
    return path


def test_advice_comes_with_numbers_out_of_the_records(tmp_path):
    (entry,) = read_guide(written(tmp_path, ENTRY))
    assert supported(entry, MADE)
    line = told(entry, MADE)
    assert line.startswith("*It is short.* Take A, 0.2. (") and '<span data-recipe="a">a</span>' in line
    moved = records(a=[0.1, 0.3, 0.3], b=[0.4, 0.5, 0.6])
    assert "Take A, 0.3." in told(entry, moved), "the typed number is only a pattern"
    with pytest.raises(ValueError, match="advice short: rules missing"):
        read_guide(written(tmp_path, ENTRY | {"rules": []}))


@pytest.mark.parametrize(
    "made",
    [
        records(a=[0.1, 0.2, 0.5], b=[0.4, 0.5, 0.6]),
        records(a=[0.1, 0.2], b=[0.4, 0.5, 0.6]),
        records(a=[0.1, 0.2, 0.3]),
        {**MADE, "b": []},
        records(a=[0.1, 0.2, None], b=[0.4, 0.5, 0.6]),
    ],
    ids=["seeds overlap", "two seeds", "no record", "an empty list", "a run diverged"],
)
def test_what_the_records_do_not_bear_out_is_not_advised(tmp_path, made):
    path = written(tmp_path, ENTRY)
    assert not supported(read_guide(path)[0], made)
    text = guide(made, path).data
    assert "Take" not in text and text.endswith("do not decide what to do here:* It is short.")
    two = ENTRY | {"rules": ["every A < B", "every A < 0.25"]}
    assert not supported(read_guide(written(tmp_path, two))[0], MADE), "one rule that is not true is enough"


def test_a_line_names_four_records_at_most(tmp_path):
    made = records(**{name: [0.1, 0.2, 0.3] for name in "abcdef"})
    entry = ENTRY | {"ours": {name.upper(): f"{name}.loss" for name in "abcdef"}, "rules": ["every A < 1"]}
    line = told(read_guide(written(tmp_path, entry))[0], made)
    assert line.count("<span ") == 4 and line.endswith(", …)")


def test_numbers_that_were_computed_need_no_seeds(tmp_path):
    computed = {name: [{**run, "computed": True} for run in runs[:1]] for name, runs in MADE.items()}
    entry = read_guide(written(tmp_path, ENTRY))[0]
    assert supported(entry, computed)
    assert told(entry, computed) == "*It is short.* Take A, 0.1.", "and there is no record to name"


@pytest.fixture(scope="module")
def race_records():
    """What the race gives the guide."""
    made = load()
    race = recorded(made)
    return made | race.computed(tried(made)) | computed(race)


@pytest.mark.parametrize("entry", read_guide(), ids=lambda entry: entry.id)
def test_the_records_bear_out_the_book_s_advice(entry, race_records):
    assert supported(entry, race_records)
    assert measured.faults(entry.advice, race_records) == [], "a number of the advice is not that of the records"


@pytest.mark.parametrize("entry", read_guide(), ids=lambda entry: entry.id)
def test_two_models_are_told_apart_by_every_seed_and_not_by_their_medians(entry):
    assert medians_compared([parse(rule, entry.ours) for rule in entry.rules]) == []


def medians_compared(rules):
    """Rules that set a median against another one; a number or what was computed is no model."""
    compared = [rule for rule in rules if rule.kind in ("median", "close")]
    return [rule for rule in compared if not re.fullmatch(r"[\d.]+", rule.right)]


def test_two_medians_are_seen():
    ours = {"A": "a.loss", "B": "b.loss"}
    planted = [parse(rule, ours) for rule in ("every A < B", "median A < 0.5", "median A < B", "close A ~ 2 * B: 5%")]
    assert medians_compared(planted) == planted[2:]
