"""The page of records: built from the files, and red where a file is broken."""

import importlib.util
import json
import subprocess
import sys

import pytest
from support.helpers import ROOT

CONF = f"""
import sys
sys.path[:0] = [{str(ROOT / "book" / "_ext")!r}, {str(ROOT)!r}]
extensions = ["records"]
html_theme = "basic"
"""


@pytest.fixture(scope="module")
def records():
    """The extension as a module."""
    spec = importlib.util.spec_from_file_location("book_records", ROOT / "book" / "_ext" / "records.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def record(recipe="adding-rnn-t10", seed=0, **changes):
    """A record that follows the schema."""
    return {
        "format": 1,
        "recipe": recipe,
        "configuration": {
            "name": recipe,
            "about": "tanh RNN on a task",
            "model": "rnn",
            "task": "adding",
            "steps": 4000,
            "batch_size": 50,
            "lr": 0.001,
            "clip": 1.0,
        },
        "seed": seed,
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "versions": {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.4.6", "rtx_lib": "0.1.0"},
        "device": {"name": "CPU", "threads": 1},
        "seconds": 12.3,
        "parameters": 16897,
        "curves": {"step": [1], "loss": [0.5], "gradient_norm": [1.0]},
        "evaluations": [{"step": 4000, "split": "valid", "mse": 0.02}],
        "metrics": {"mse": 0.01},
        "baselines": {"predict 1": 1 / 6},
        "diverged": None,
        **changes,
    }


def write(folder, *found):
    """Write the records under their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for one in found:
        (folder / f"{one['recipe']}-s{one['seed']}.json").write_text(json.dumps(one))


def build(root):
    """Build a page with the directive in it, warnings as errors; the finished process."""
    (root / "conf.py").write_text(CONF)
    (root / "book").mkdir(exist_ok=True)
    (root / "index.rst").write_text("Start\n=====\n\n.. toctree::\n\n   book/records\n")
    (root / "book" / "records.rst").write_text("Records\n=======\n\nAll records\n-----------\n\n.. records::\n")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", str(root), str(root / "out")]
    return subprocess.run(command, capture_output=True, text=True)


def page_of(root):
    return (root / "out" / "book" / "records.html").read_text()


def text_of(rows):
    return " ".join(node.astext() for cell in rows for node in cell)


def test_the_page_holds_one_row_a_recipe_and_links_the_files(tmp_path):
    write(
        tmp_path / "book" / "results",
        record(),
        record(seed=1, metrics={"mse": 0.03}),
        record("adding-rnn-t200", metrics={}, diverged={"step": 237, "reason": "loss is nan"}),
        record("long-lstm-t100"),
    )
    done = build(tmp_path)
    assert done.returncode == 0, done.stderr
    page = page_of(tmp_path)
    assert page.count("<table") == 2 and page.count("<tr") == 2 + 3  # two groups: two heads, three recipes
    assert 'id="recipe-adding-rnn-t10"' in page
    assert 'href="../book/results/adding-rnn-t10-s1.json"' in page
    assert "mse 0.0200 (0.0100 to 0.0300)" in page
    assert "0.167 (predict 1)" in page and "1 of 1 diverged, at step 237" in page


def test_what_came_out_stands_beside_the_recipe(records):
    cells = records.cells("a", [record()], "")
    assert "mse" in text_of(cells[1:2]) and "Test metric" in records.HEAD[1], "a phone shows two columns"
    assert "steps" in text_of(cells[3:4]) and records.HEAD[3] == "Budget"


def test_trials_of_rates_are_a_table_of_their_own(tmp_path):
    write(tmp_path / "book" / "results", record())
    tried = [
        record(
            f"rate-adding-lstm-{lr:g}",
            configuration=record()["configuration"] | {"lr": lr},
            evaluations=[{"step": 400, "split": "valid", "mse": value}],
        )
        for lr, value in ((0.01, 0.2), (0.0003, 0.125))
    ]
    write(tmp_path / "book" / "results" / "rates", *tried)
    done = build(tmp_path)
    assert done.returncode == 0, done.stderr
    page = page_of(tmp_path)
    assert page.count("<table") == 2 and 'href="../book/results/rates/rate-adding-lstm-0.0003-s0.json"' in page
    assert page.index("mse 0.125") < page.index("mse 0.200")


def test_the_optimizer_is_named_and_how_the_tested_model_was_chosen(records):
    settings = record()["configuration"]
    plain = text_of(records.cells("a", [record()], ""))
    assert "Adam with rate 0.001, clipped at 1." in plain and "best" not in plain
    changed = record(configuration=settings | {"optimizer": "sgd", "keep_best": "loss", "clip": None})
    text = text_of(records.cells("a", [changed], ""))
    assert "SGD with rate 0.001, not clipped" in text and "loss was best on the validation split" in text


def test_every_recipe_has_a_table_of_its_chapter(records):
    from rtx_lib.experiments.recipes import RECIPES

    names = [name for name in RECIPES if not name.startswith("paper-")]
    tables = records.grouped(names)
    assert sum(map(len, tables.values())) == len(names) and records.REST not in tables
    assert tables["Chapter 8: Penn Treebank"] and "ptb-char-xl-64" in tables["Chapter 9: Transformer-XL"]
    assert records.grouped(["new-thing"]) == {records.REST: ["new-thing"]}


def test_no_record_is_a_line_that_says_so(tmp_path):
    done = build(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "There are no records yet" in page_of(tmp_path)


def test_a_broken_record_makes_the_build_red_and_is_named(tmp_path):
    broken = record()
    del broken["commit"]
    write(tmp_path / "book" / "results", broken)
    done = build(tmp_path)
    assert done.returncode != 0
    assert "adding-rnn-t10-s0.json does not follow the schema" in done.stderr and "'commit'" in done.stderr
    assert "records.rst" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a-s0.json", "{", r"a-s0\.json is not JSON"),
        ("a-s0.json", "[]", r"a-s0\.json does not follow the schema"),
        ("a-s0.json", json.dumps(record()), "a wrong name"),
        ("adding-rnn-t10-s0.json", json.dumps(record(seconds="long")), "seconds: 'long' is not of type 'number'"),
        ("adding-rnn-t10-s0.json", json.dumps(record(note="hello")), "'note' was unexpected"),
    ],
)
def test_every_planted_fault_is_named(records, tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        records.read_records(tmp_path)


def test_recipes_are_ordered_by_their_numbers_and_records_by_seed(records, tmp_path):
    write(tmp_path, *(record(f"adding-rnn-t{t}", seed) for t in (10, 100, 50) for seed in (10, 2)))
    found = records.read_records(tmp_path)
    assert list(found) == ["adding-rnn-t10", "adding-rnn-t50", "adding-rnn-t100"]
    assert all([one["seed"] for one in group] == [2, 10] for group in found.values())


def test_numbers_keep_three_digits(records):
    texts = [records.number(x) for x in (1 / 6, 0.17, 0.00012345, -2.5, 123.4)]
    assert texts == ["0.167", "0.170", "0.000123", "-2.50", "123"]


def test_a_metric_that_one_run_lacks_is_left_out_of_the_median(records):
    pair = [record(), record(seed=1, metrics={}, diverged={"step": 3000, "reason": "x"})]
    assert records.results(pair) == ["mse 0.0100", "1 of 2 diverged, at step 3,000"]
    three = records.results([*pair, record(seed=2, metrics={"mse": 0.03})])
    assert three == ["mse 0.0200 (0.0100 to 0.0300)", "1 of 3 diverged, at step 3,000"]
    assert "none" in text_of(records.cells("a", [record(metrics={}, baselines={})], ""))


def test_the_page_explains_every_field_of_a_record():
    from rtx_lib.experiments.records import SCHEMA

    page = (ROOT / "book" / "records.md").read_text()
    assert [field for field in SCHEMA["properties"] if f"`{field}`" not in page] == []
