"""Records: of one format, complete, and found by name."""

import json

import jsonschema
import pytest
from support.helpers import ROOT

from rtx_lib.experiments.recipes import RECIPES, race, recipe_of
from rtx_lib.experiments.records import LIMIT, SCHEMA, as_text, load_costs, load_record, load_records, thin

RESULTS = ROOT / "book" / "results"


def test_committed_records_follow_the_schema_and_their_recipe():
    groups = {RESULTS: RECIPES, RESULTS / "rates": {recipe.name: recipe for recipe in race.TRIALS}}
    assert any(RESULTS.glob("*.json"))
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for folder, recipes in groups.items():
        for path in sorted(folder.glob("*-s*.json")):  # not replication.json, which is no record
            text = path.read_text()
            record = json.loads(text)
            validator.validate(record)
            assert path.stem == f"{record['recipe']}-s{record['seed']}"
            assert recipe_of(record) == recipes[record["recipe"]], path.name
            assert not record["commit"].endswith("-dirty") and "/" not in json.dumps(record["device"])
            assert len(text.encode()) < LIMIT, path.name


def long_record(evaluations):
    """One of the book's, with long curves and so many evaluations."""
    record = json.loads(next(RESULTS.glob("*.json")).read_text())
    record["curves"] = {name: [i / 7 for i in range(1000)] for name in record["curves"]}
    return record | {"evaluations": [{"step": i, "split": "valid", "mse": i / 7} for i in range(evaluations)]}


def test_a_record_that_would_be_too_large_has_shorter_curves():
    record = long_record(200)
    assert len(json.dumps(record, indent=1)) > 1.5 * LIMIT
    text = as_text(record)
    kept = json.loads(text)
    assert len(text) < LIMIT and 100 < len(kept["curves"]["loss"]) <= 500
    assert kept["curves"]["loss"] == thin(record["curves"]["loss"], len(kept["curves"]["loss"]))
    assert kept | {"curves": record["curves"]} == record, "only curves are touched"
    with pytest.raises(ValueError, match="eval_every must be larger: a record has less than 40,000 bytes, got"):
        as_text(long_record(600))
    record["metrics"] = {"mse": float("nan")}
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_text(record)


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


def test_costs_of_the_race(monkeypatch, tmp_path):
    monkeypatch.setattr("rtx_lib.experiments.records.results_folder", lambda: tmp_path)
    assert load_costs() == load_costs("copy") == {}, "nothing was measured"
    costs = {"seconds_per_step": 0.01, "flops_per_step": 1000, "parameters": 50}
    rows = [
        {"case": f"race-{task}", "variant": lane, "ratio": 1.0, **costs}
        for task in ("copy", "adding")
        for lane in ("rnn", "transformer-xl")
    ]
    (tmp_path / "speed").mkdir()
    (tmp_path / "speed" / "race-cpu.json").write_text(json.dumps({"rows": rows}))
    assert load_costs("copy") == {("copy", "rnn"): costs, ("copy", "transformer-xl"): costs}
    assert len(load_costs()) == 4 and load_costs("text") == {}
