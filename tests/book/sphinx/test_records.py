"""The page of records: a table for every recipe, a word for every field, and each fault of a record named."""

import json

import pytest
from support.helpers import ROOT
from support.made_records import whole

from rtx_book.records.records import SCHEMA
from rtx_book.runs.recipes import RECIPES
from rtx_book.sphinx import records


def test_every_recipe_has_a_table_of_its_chapter():
    names = [name for name in RECIPES if not name.startswith("paper-")]
    tables = records.grouped(names)
    assert sum(map(len, tables.values())) == len(names) and records.REST not in tables
    assert tables["R-Transformer: Penn Treebank"] and "ptb-char-xl-64" in tables["Transformer-XL"]
    assert records.grouped(["new-thing"]) == {records.REST: ["new-thing"]}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a-s0.json", "{", r"a-s0\.json is not JSON"),
        ("a-s0.json", "[]", r"a-s0\.json does not follow the schema"),
        ("a-s0.json", json.dumps(whole()), "a wrong name"),
        ("adding-rnn-t10-s0.json", json.dumps(whole(seconds="long")), "seconds: 'long' is not of type 'number'"),
        ("adding-rnn-t10-s0.json", json.dumps(whole(note="hello")), "'note' was unexpected"),
    ],
)
def test_every_planted_fault_is_named(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        records.read_records(tmp_path)


def test_the_page_explains_every_field_of_a_record():
    page = (ROOT / "book" / "records.md").read_text()
    assert [field for field in SCHEMA["properties"] if f"`{field}`" not in page] == []
