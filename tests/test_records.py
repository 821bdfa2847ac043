"""Records: of one format, complete, and found by name."""

import json

import jsonschema
import pytest
from helpers import ROOT

from rtx_lib.recipes import RECIPES, recipe_of
from rtx_lib.records import SCHEMA, load_record, load_records, thin


def test_committed_records_follow_the_schema_and_their_recipe():
    paths = sorted((ROOT / "book" / "results").glob("*.json"))
    assert paths
    for path in paths:
        text = path.read_text()
        record = json.loads(text)
        jsonschema.validate(record, SCHEMA)
        assert path.stem == f"{record['recipe']}-s{record['seed']}"
        assert recipe_of(record) == RECIPES[record["recipe"]]
        assert not record["commit"].endswith("-dirty") and "/" not in json.dumps(record["device"])
        assert len(text) < 100_000


def test_a_record_with_a_missing_field_is_refused():
    record = json.loads(next((ROOT / "book" / "results").glob("*.json")).read_text())
    del record["commit"]
    with pytest.raises(jsonschema.ValidationError, match="commit"):
        jsonschema.validate(record, SCHEMA)


def test_thin_keeps_the_mean_and_the_length_small():
    values = thin(range(1000), points=200)
    assert len(values) == 200 and values[0] == 2.0 and thin([1, 2, 3]) == [1.0, 2.0, 3.0] and thin([]) == []
    assert thin([1, 2, 3], points=2) == [1.5, 3.0]


def test_loading(monkeypatch):
    with pytest.raises(FileNotFoundError, match="experiments run nothing --seed 7"):
        load_record("nothing-s7")
    assert load_records("nothing") == []
    first = sorted(RECIPES)[0]
    assert all(record["recipe"] == first for record in load_records(first))
