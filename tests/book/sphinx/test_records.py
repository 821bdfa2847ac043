"""The page of records: built from the files, and red where a record is broken."""

import json

import pytest
from support.helpers import ROOT
from support.made_records import whole, write
from support.sphinx_page import build_page

from rtx_book.records.records import SCHEMA
from rtx_book.runs.recipes import RECIPES
from rtx_book.sphinx import records


def built(root, *found):
    write(root / "book" / "results", *found)
    return build_page(root, "records", "records", "```{records}\n```")


def text_of(rows):
    return " ".join(node.astext() for cell in rows for node in cell)


def test_the_page_holds_one_row_a_recipe_and_links_the_files(tmp_path):
    faults, page = built(
        tmp_path,
        whole(),
        whole(seed=1, metrics={"mse": 0.03}),
        whole("adding-rnn-t0.5", metrics={}, diverged={"step": 237, "reason": "loss is nan"}),
        whole("long-lstm-t100"),
    )
    assert not faults
    assert page.count("<table") == 2 and page.count("<tr") == 2 + 3  # two groups: two heads, three recipes
    assert 'id="recipe-adding-rnn-t10"' in page and 'id="recipe-adding-rnn-t0.5"' in page
    assert 'href="../book/results/adding-rnn-t10-s1.json"' in page and ">0 1</a>" in page
    assert "mse 0.0200 (0.0100 to 0.0300)" in page
    assert "0.167 (predict 1)" in page and "1 of 1 diverged, at step 237" in page


def test_what_came_out_stands_beside_the_recipe():
    cells = records.cells("a", [whole()], "")
    assert "mse" in text_of(cells[1:2]) and "Test metric" in records.HEAD[1], "a phone shows two columns"
    assert "steps" in text_of(cells[3:4]) and records.HEAD[3] == "Budget"


def test_trials_of_rates_are_a_table_of_their_own(tmp_path):
    tried = [
        whole(
            f"rate-adding-lstm-{lr:g}",
            configuration=whole()["configuration"] | {"lr": lr},
            evaluations=[{"step": 400, "split": "valid", "mse": value}],
        )
        for lr, value in ((0.01, 0.2), (0.0003, 0.125))
    ]
    faults, page = built(tmp_path, whole(), *tried)
    assert not faults and page.count("<table") == 2
    assert page.count('title="records, rate-adding-lstm-') == 2, "each file of theirs is linked"
    assert "0.0003: mse 0.125; 0.01: mse 0.200" in page


def test_what_lost_in_the_race_is_set_apart_from_what_won(tmp_path):
    def final(lr, seed, loss, **changes):
        rows = [{"step": 400, "split": "valid", "loss": loss}]
        how = whole()["configuration"] | {"lr": lr}
        return whole(f"race-copy-gru-{lr:g}", seed, configuration=how, evaluations=rows, **changes)

    lost = [final(0.01, 0, 0.2), final(0.01, 1, 0.3), final(0.01, 2, 9.0, diverged={"step": 9, "reason": "x"})]
    write(tmp_path / "book" / "results", final(0.03, 0, 0.1), *lost)
    (tmp_path / "book" / "results" / "chosen.json").write_text('{"race-copy-gru": "race-copy-gru-0.03"}')
    faults, page = build_page(tmp_path, "records", "records", "```{records}\n```")
    assert not faults and 'id="recipe-race-copy-gru-0.03"' in page and 'id="recipe-race-copy-gru-0.01"' not in page
    assert "Finals of learning rates" in page and "0.01: loss 0.250, 1 of 3 diverged" in page


def test_the_optimizer_is_named_and_how_the_tested_model_was_chosen():
    plain = text_of(records.cells("a", [whole()], ""))
    assert "Adam with rate 0.001, clipped at 1." in plain and "best" not in plain
    changed = whole(configuration=whole()["configuration"] | {"optimizer": "sgd", "keep_best": "loss", "clip": None})
    text = text_of(records.cells("a", [changed], ""))
    assert "SGD with rate 0.001, not clipped" in text and "loss was best on the validation split" in text


def test_every_recipe_has_a_table_of_its_chapter():
    names = [name for name in RECIPES if not name.startswith("paper-")]
    tables = records.grouped(names)
    assert sum(map(len, tables.values())) == len(names) and records.REST not in tables
    assert tables["R-Transformer: Penn Treebank"] and "ptb-char-xl-64" in tables["Transformer-XL"]
    assert records.grouped(["new-thing"]) == {records.REST: ["new-thing"]}


def test_no_record_is_a_line_that_says_so(tmp_path):
    faults, page = built(tmp_path)
    assert not faults and "There are no records yet" in page


def test_a_broken_record_makes_the_build_red_and_is_named(tmp_path):
    broken = whole()
    del broken["commit"]
    faults, _ = built(tmp_path, broken)
    assert "adding-rnn-t10-s0 does not follow the schema" in faults and "'commit'" in faults
    assert "records.md" in faults and "Traceback" not in faults


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


def test_recipes_are_ordered_by_their_numbers_and_records_by_seed(tmp_path):
    write(tmp_path, *(whole(f"adding-rnn-t{t}", seed) for t in (10, 100, 50) for seed in (10, 2)))
    found = records.read_records(tmp_path)
    assert list(found) == ["adding-rnn-t10", "adding-rnn-t50", "adding-rnn-t100"]
    assert all([one["seed"] for one in group] == [2, 10] for group in found.values())


def test_a_metric_that_one_run_lacks_is_left_out_of_the_median():
    pair = [whole(), whole(seed=1, metrics={}, diverged={"step": 3000, "reason": "x"})]
    assert records.results(pair) == ["mse 0.0100", "1 of 2 diverged, at step 3,000"]
    three = records.results([*pair, whole(seed=2, metrics={"mse": 0.03})])
    assert three == ["mse 0.0200 (0.0100 to 0.0300)", "1 of 3 diverged, at step 3,000"]
    assert "none" in text_of(records.cells("a", [whole(metrics={}, baselines={})], ""))


def test_the_page_explains_every_field_of_a_record():
    page = (ROOT / "book" / "records.md").read_text()
    assert [field for field in SCHEMA["properties"] if f"`{field}`" not in page] == []
