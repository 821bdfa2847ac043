"""Records: of one format, packed without loss, and found by name."""

import json
import lzma
import os

import pytest
from support.helpers import ROOT
from support.made_records import whole, write

from rtx_book.records import records
from rtx_book.records.records import check, find, load, load_costs, load_records, pack, sources, thin
from rtx_book.runs.recipes import BESIDE, RECIPES, recipe_of
from rtx_book.runs.sweeps import SWEEPS

RESULTS = ROOT / "book" / "results"


def test_the_book_s_records_follow_the_schema_and_their_recipe():
    recipes = BESIDE | RECIPES
    found = [record for runs in load(RESULTS, plain=False).values() for record in runs]
    assert len(found) >= 992
    for record in found:
        check(record)
        assert recipe_of(record) == recipes[record["recipe"]], record["recipe"]
        assert not record["commit"].endswith("-dirty") and "/" not in json.dumps(record["device"])
    packed = {path.name.removesuffix(records.PACKED) for path in records.packed_files(RESULTS)}
    assert packed <= set(SWEEPS) and {name for name, sweep in SWEEPS.items() if not sweep.follow} <= packed


def test_the_book_s_records_are_few_small_files_that_the_wheel_has():
    files = [path for path in RESULTS.rglob("*") if path.is_file() and path.parent.name != "runs"]
    assert len(files) <= 32 and sum(path.stat().st_size for path in files) <= 4e6


def test_a_record_with_a_missing_field_is_refused():
    record = whole()
    check(record)
    del record["commit"]
    with pytest.raises(ValueError, match="the record does not follow the schema: all of it: 'commit' is a required"):
        check(record)


# A run of every kind: rows that lack a metric, no row at all, a run that diverged, other settings than its sister's.
RUNS = [
    whole("b", 1, evaluations=[{"step": 1, "split": "valid", "mse": 1 / 3 + 1}, {"step": 2, "split": "valid"}]),
    whole("b", 0, evaluations=[], metrics={}, diverged={"step": 1, "reason": "nan"}),
    whole("b", 10, configuration=whole("b")["configuration"] | {"lr": 0.1}, elsewhere={"64": {"mse": 0.1 + 0.2}}),
    whole("a", 0, loss_by_position=[0.5, 0.25], evaluations=[{"step": i, "split": f"s{i}"} for i in range(3)]),
]
MINE = whole("mine")
PLAN = {"first": ["b", "a"], "second": ["c"]}


@pytest.fixture
def packed(tmp_path):
    write(tmp_path / "runs", *RUNS, MINE)
    assert pack(tmp_path, PLAN) == {"first": 4}
    return tmp_path


def test_what_is_packed_is_loaded_as_it_was_and_a_reader_s_own_run_stays_a_file(packed):
    assert [path.name for path in packed.iterdir() if path.is_file()] == ["first.jsonl.xz"]
    assert [path.name for path in (packed / "runs").iterdir()] == ["mine-s0.json"]
    found = load(packed)
    row = found["b"][1]["evaluations"][0]
    assert row["mse"] == 1.3333, "evaluations along the way have five digits"
    found["b"][1] = found["b"][1] | {"evaluations": [row | {"mse": 1 / 3 + 1}, *found["b"][1]["evaluations"][1:]]}
    assert found == {"b": [RUNS[1], RUNS[0], RUNS[2]], "a": [RUNS[3]], "mine": [MINE]}
    assert sources(packed) == {"b": "first.jsonl.xz", "a": "first.jsonl.xz", "mine": "runs/mine-s0.json"}
    assert load(packed / "runs") == load(packed), "whoever names the folder of runs means all of them"
    with lzma.open(packed / "first.jsonl.xz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    assert [(row["recipe"], row["seed"]) for row in rows] == [("b", 0), ("b", 1), ("b", 10), ("a", 0)]


def test_the_same_runs_give_the_same_bytes_in_whatever_order_they_came(packed, tmp_path):
    write(tmp_path / "runs", *({name: run[name] for name in reversed(run)} for run in RUNS))
    for run in RUNS[::-1]:
        os.utime(tmp_path / "runs" / f"{run['recipe']}-s{run['seed']}.json", ns=(0, 0))
    (again := tmp_path / "first.jsonl.xz").rename(tmp_path / "before")
    pack(tmp_path, PLAN)
    assert again.read_bytes() == (tmp_path / "before").read_bytes()


def test_what_has_won_is_found_under_its_plain_name_too(packed):
    assert records.chosen(packed) == {}
    (packed / "chosen.json").write_text('{"race": "b", "b": "a", "gone": "never-run"}')
    found = load(packed)
    assert found["race"] == found["b"] and found["b"][0]["recipe"] == "b", "a recipe's own name comes first"
    assert set(found) == {"race", "a", "b", "mine"} and set(load(packed, plain=False)) == {"a", "b", "mine"}
    assert sources(packed)["race"] == "first.jsonl.xz"
    assert find("race", 0, packed) is None, "a run has one name"


def test_a_run_made_again_takes_the_place_of_the_packed_one(packed):
    again = whole("b", 1, metrics={"mse": 7.0})
    write(packed / "runs", again)
    found = load(packed)["b"][1], find("b", 1, packed)
    assert [one["metrics"] for one in found] == [{"mse": 7.0}] * 2, "before it is packed, too"
    assert pack(packed, PLAN) == {"first": 1} and pack(packed, PLAN) == {}
    assert load(packed)["b"] == [RUNS[1], again, RUNS[2]] and load(packed)["a"]


def test_curves_are_thinned_and_those_of_rate_and_norm_are_dropped(tmp_path):
    names = ("step", "loss", "gradient_norm", "lr")
    write(tmp_path / "runs", whole("c", curves={name: [i / 7 for i in range(200)] for name in names}))
    pack(tmp_path, PLAN)
    (record,) = load(tmp_path)["c"]
    digits = {"step": 6, "loss": 4}
    assert record["curves"] == {name: thin([i / 7 for i in range(200)], 50, few) for name, few in digits.items()}
    check(record)


def test_of_a_trial_the_evaluations_are_kept_that_judge_it(tmp_path):
    rows = [{"step": i, "split": "valid", "mse": value} for i, value in enumerate((0.5, 0.25, 0.75, 0.375))]
    best = whole("trial-b")["configuration"] | {"keep_best": "mse"}
    runs = whole("trial-a", evaluations=rows), whole("trial-b", evaluations=rows, configuration=best)
    write(tmp_path / "runs", *runs, whole("trial-a", 1, evaluations=[]), whole("c", evaluations=rows))
    pack(tmp_path, {"first": ["trial-a", "trial-b", "c"]})
    found = {name: [run["evaluations"] for run in own] for name, own in load(tmp_path).items()}
    assert found == {"trial-a": [rows[3:], []], "trial-b": [rows[1:2]], "c": [rows]}


def test_a_run_s_file_is_kept_until_its_packed_record_was_read_back(packed, monkeypatch):
    before = (packed / "first.jsonl.xz").read_bytes()
    write(packed / "runs", whole("b", 2))
    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", lambda old, new: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            pack(packed, PLAN)
    with monkeypatch.context() as broken:
        broken.setattr(records, "_write", lambda path, found: None)
        with pytest.raises(ValueError, match=r"first\.jsonl\.xz does not hold what was packed"):
            pack(packed, PLAN)
    assert (packed / "first.jsonl.xz").read_bytes() == before and (packed / "runs" / "b-s2.json").exists()
    assert pack(packed, PLAN) == {"first": 1} and find("b", 2, packed)


def test_one_run_is_found_wherever_it_lies(packed):
    assert find("b", 10, packed)["configuration"]["lr"] == 0.1 and find("b", 3, packed) is find("d", 0, packed) is None
    assert find("mine", 0, packed) == MINE and find("a", 0, packed / "runs")["loss_by_position"]
    find("a", 0, packed)["metrics"]["mse"] = 0
    assert find("a", 0, packed)["metrics"] == {"mse": 0.01}, "a copy"
    (packed / "runs" / "mine-s0.json").write_text('{"recipe": "mi')
    assert find("mine", 0, packed) is None, "cut off, as if there were none"
    with pytest.raises(ValueError, match=r"mine-s0\.json is not JSON"):
        load(packed)


def test_a_file_is_read_again_when_it_has_changed(packed):
    load(packed)["b"][0]["metrics"]["seen"] = 1.0
    assert "seen" in load(packed)["b"][0]["metrics"], "parsed once"
    os.utime(packed / "first.jsonl.xz", ns=(0, 0))
    assert "seen" not in load(packed)["b"][0]["metrics"]


def test_thin_keeps_the_mean_and_the_length_small():
    values = thin(range(1000), points=200)
    assert len(values) == 200 and values[0] == 2.0 and thin([1, 2, 3]) == [1.0, 2.0, 3.0] and thin([]) == []
    assert thin([1, 2, 3], points=2) == [1.5, 3.0]


def test_loading_by_name():
    assert load_records("nothing") == []
    assert [record["seed"] for record in load_records("copy-gru")] == [0, 1, 2]


def test_costs_of_the_race(monkeypatch, tmp_path):
    monkeypatch.setattr(records, "results_folder", lambda: tmp_path)
    assert load_costs() == {}, "nothing was measured"
    costs = {"seconds_per_step": 0.01, "flops_per_step": 1000, "parameters": 50}
    pairs = [(task, lane) for task in ("copy", "adding") for lane in ("rnn", "transformer-xl")]
    rows = [{"case": f"race-{task}", "variant": lane, "ratio": 1.0, **costs} for task, lane in pairs]
    other = {"case": "race", "machine": {"gpu": "A card"}, "rows": [rows[0] | {"seconds_per_step": 9.0}]}
    found = [other, {"case": "race", "machine": {"gpu": None}, "rows": rows}, {"case": "rnn", "machine": {"gpu": None}}]
    (tmp_path / "speed.jsonl").write_text("".join(json.dumps(one) + "\n" for one in found))
    assert load_costs() == dict.fromkeys(pairs, costs)
