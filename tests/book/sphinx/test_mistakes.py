"""The museum of mistakes: what is recorded is what the program and the list say, and the page draws it."""

import json
import xml.etree.ElementTree as ET

import pytest
from support.helpers import ROOT

from rtx_book.runs import mistakes as runs
from rtx_book.sphinx import generated
from rtx_book.sphinx.mistakes import chart

FOUND = runs.mistakes()
RECORD = json.loads((ROOT / "book" / "results" / "mistakes.json").read_text(encoding="utf-8"))
SOURCE = (ROOT / "book" / "own" / "sound.py").read_text(encoding="utf-8")


def test_the_record_has_every_mistake_and_checkup_saw_each():
    assert set(RECORD["mistakes"]) == set(FOUND) and not RECORD["commit"].endswith("-dirty")
    assert not any(RECORD["sound"].values(), key=len) if False else len({len(c) for c in RECORD["sound"].values()}) == 1
    for name, one in RECORD["mistakes"].items():
        assert one["failed"] and len(one["losses"]) == len(RECORD["sound"]["Recurrence"]), name


@pytest.mark.parametrize("name", FOUND)
def test_a_mistake_is_a_change_of_one_line_that_can_be_planted(name):
    spoiled = runs.planted(SOURCE, FOUND[name]["right"], FOUND[name]["wrong"])
    compile(spoiled, name, "exec")
    assert spoiled != SOURCE and len(set(SOURCE.splitlines()) - set(spoiled.splitlines())) <= 1
