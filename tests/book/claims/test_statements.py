"""Sentences of the book about its records: they stand where they are said to stand, and the records bear them out."""

import json

import pytest
import yaml
from support.helpers import ROOT
from support.made_records import records
from support.trivial import no_better_than_trivial

from rtx_book.claims import statements
from rtx_book.race.ranking import computed
from rtx_book.records.records import load
from rtx_book.runs import recorded, tried

RESULTS = load()
RACE = recorded(RESULTS)
RESULTS |= RACE.computed(tried(RESULTS)) | computed(RACE)
BOOK = statements.read_statements(ROOT / "book" / "statements.yml")
ENTRY = {"chapter": "one", "says": "A is better than B", "rules": ["every A < B"]}
ENTRY |= {"ours": {"A": "a.loss", "B": "b.loss"}}


@pytest.mark.parametrize("entry", BOOK, ids=lambda one: one.says)
def test_a_statement_stands_in_its_page_and_is_true_of_the_records(entry):
    assert statements.faults(entry, ROOT, RESULTS) == []


@pytest.mark.parametrize("entry", BOOK, ids=lambda one: one.says)
def test_no_statement_of_chapters_8_and_9_counts_a_rival_that_misses_the_trivial_baseline(entry):
    if entry.chapter in ("r_transformer", "transformer_xl"):
        assert no_better_than_trivial(entry, RESULTS) == set()


def planted(tmp_path, **changes):
    """The faults of a statement about a notebook with a cell of Markdown and one of code."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "book").mkdir()
    cells = [("markdown", "The model A\nis better than B."), ("code", "show(title='B loses '\n     'to A')  # always")]
    notebook = {"cells": [{"cell_type": kind, "source": [text]} for kind, text in cells]}
    (tmp_path / "notebooks" / "one.ipynb").write_text(json.dumps(notebook))
    (tmp_path / "book" / "page.md").write_text("# A page\n\nHere A is better than B.\n")
    (tmp_path / "book" / "statements.yml").write_text(yaml.safe_dump([{**ENTRY, **changes}]))
    (entry,) = statements.read_statements(tmp_path / "book" / "statements.yml")
    found = records(a=[1, 1, 2], b=[3, 3, 3], c=[3, 3], **{"rate-c-0.1": [3]})
    found["step-c"] = [{**found["c"][0], "recipe": "step-c", "computed": True}]
    return statements.faults(entry, tmp_path, found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({"chapter": None, "page": "page"}, None),
        ({"says": "B loses to A"}, None),
        ({"says": "always"}, "does not say"),
        ({"rules": ["every A > B"]}, "not true of the records: every A > B"),
        ({"ours": {"A": "a.loss", "B": "c.loss"}}, "fewer than 3 runs: c.loss"),
        ({"ours": {"A": "a.loss", "B": "rate-c-0.1.loss"}}, None),
        ({"ours": {"A": "a.loss", "B": "step-c.loss"}}, None),
        ({"ours": {"A": "a.loss", "B": "gone.loss"}}, "no record"),
        ({"chapter": "none"}, "there is no"),
    ],
)
def test_planted_mistakes_are_found(tmp_path, changes, message):
    found = planted(tmp_path, **changes)
    assert bool(found) == bool(message)
    assert not message or any(message in fault for fault in found)


@pytest.mark.parametrize("changes", [{"chapter": None}, {"page": "results"}])
def test_a_statement_stands_in_a_chapter_or_on_a_page(tmp_path, changes):
    with pytest.raises(ValueError, match=r"statement number 1.*a chapter or a page"):
        planted(tmp_path, **changes)
