"""The page of speed: its numbers are short, every case and kind is in it, and each fault of its file is named."""

import json
import re

import pytest
from support.helpers import ROOT

from rtx_book.bench import CASES
from rtx_book.bench.measuring import KINDS
from rtx_book.records.records import SPEED_SCHEMA
from rtx_book.runs.recipes.race import CELLS
from rtx_book.sphinx import speed

KEPT = speed.load_speeds()


RIGHT = next(found for found in KEPT if found["case"] == "rnn")
ROW = RIGHT["rows"][0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "does not follow the schema"),
        (RIGHT | {"rows": [ROW | {"case": "cells"}]}, "holds a row of case cells"),
        (RIGHT | {"rows": [ROW | {"ratio": 0}]}, "rows/0/ratio"),
        (RIGHT | {"rows": [ROW | {"kind": "theirs"}]}, "rows/0/kind"),
        (RIGHT | {"commit": "main"}, "commit"),
        (RIGHT | {"machine": RIGHT["machine"] | {"host": "here"}}, "machine: .*'host' was unexpected"),
        (RIGHT | {"versions": RIGHT["versions"] | {"torch": "/home/me"}}, "versions/torch"),
        *(({key: RIGHT[key] for key in RIGHT if key != name}, f"'{name}' is a required") for name in RIGHT),
    ],
)
def test_every_planted_fault_is_named(tmp_path, content, message):
    (tmp_path / "speed.jsonl").write_text(json.dumps(RIGHT) + "\n" + json.dumps(content))
    with pytest.raises(ValueError, match=rf"speed\.jsonl, line 2.*{message}"):
        speed.read_speeds(tmp_path / "speed.jsonl")


def test_numbers_are_short():
    said = {0.0404: "0.04×", 0.404: "0.40×", 1: "1.00×", 2.568: "2.57×", 38.06: "38.1×", 418.2: "418×", 7504: "7504×"}
    assert {ratio: speed.ratio_text(ratio) for ratio in said} == said
    assert [speed.error_text(error) for error in (0.0, 3.52e-7)] == ["0", "3.5e-07"]


def test_what_a_row_lacks_is_a_dash_and_what_all_lack_no_column():
    whole = {"forward_ratio": 1.25, "memory_ratio": 0.5, "seconds_per_step": 0.0123}
    shown = speed.table([ROW | {"max_error": 3.5e-7} | whole, ROW | {"max_error": None}])
    assert shown["head"] == [*("Variant", "Ratio", "Forward alone", "Memory", "Error", "Milliseconds per step")]
    first, second = (one["texts"] for one in shown["rows"])
    assert first[2:] == ["1.25×", "0.50×", "3.5e-07", "12.3"] and second[2:] == ["–"] * 4


def test_the_page_shows_every_case_of_the_bench_and_names_every_kind():
    page = (ROOT / "book" / "speed.md").read_text(encoding="utf-8")
    assert re.findall(r"```\{speed\} (\S+)", page) == list(CASES)
    assert [kind for kind in KINDS if not re.search(rf"^{re.escape(kind)}\n: ", page, flags=re.M)] == []
    schema = SPEED_SCHEMA["properties"]["rows"]["items"]["properties"]
    assert tuple(schema["kind"]["enum"]) == KINDS


def test_what_is_kept_covers_every_case_and_every_kind():
    found = speed.read_speeds(ROOT / "book" / "results" / "speed.jsonl")
    assert [case for case in CASES if (case, "cpu") not in found] == []
    assert [key for key in found if key[0] not in CASES] == []
    rows = [row for measured in found.values() for row in measured["rows"]]
    assert {row["kind"] for row in rows} == set(KINDS)
    for kind in ("torch.nn", "plain loop", "original"):
        assert any(row["kind"] == kind and row["max_error"] is not None for row in rows)
    far = [row["variant"] for row in rows if (row["max_error"] or 0) > 1e-4]
    assert [name for name in far if not name.startswith("TCN, torch.compile")] == [], "there a ReLU may turn a sign"
    raced = {(row["case"], row["variant"]) for row in found["race", "cpu"]["rows"]}
    assert raced == {(f"race-{task}", lane) for task, lane in CELLS}


@pytest.mark.parametrize("found", KEPT, ids=lambda found: found["case"])
def test_what_is_kept_was_measured_with_what_is_in_git(found):
    assert not found["commit"].endswith("-dirty") and found["commit"] != "unknown"
