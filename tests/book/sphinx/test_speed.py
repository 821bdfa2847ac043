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


def row(variant="rtx_lib RNN", ratio=1.5, **changes):
    """A row that follows the schema."""
    known = {"case": "rnn", "against": "torch.nn.RNN", "kind": "torch.nn", "device": "cpu, one thread"}
    return {"variant": variant, "ratio": ratio, "max_error": 3.5e-7, **known, **changes}


def measured(case="rnn", rows=None, **changes):
    """A file that follows the schema."""
    return {
        "format": 1,
        "case": case,
        "date": "2026-11-02",
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "versions": {"python": "3.11.7", "torch": "2.13.0", "numpy": "2.4.6", "rtx_lib": "0.1.0"},
        "machine": {"processor": "A processor", "cores": 2, "threads": 1, "gpu": None, "build": "CPU only, AVX2"},
        "clock": "processor",
        "rows": rows or [row(), row("loop", 0.25, against="it", kind="plain loop")],
        **changes,
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "does not follow the schema"),
        (measured(rows=[row(case="cells")]), "holds a row of case cells"),
        (measured(rows=[row(ratio=0)]), "rows/0/ratio"),
        (measured(rows=[row(kind="theirs")]), "rows/0/kind"),
        (measured(commit="main"), "commit"),
        (measured(machine=measured()["machine"] | {"host": "here"}), "machine: .*'host' was unexpected"),
        (measured(versions=measured()["versions"] | {"torch": "/home/me"}), "versions/torch"),
        *(
            ({key: value for key, value in measured().items() if key != name}, f"'{name}' is a required")
            for name in measured()
        ),
    ],
)
def test_every_planted_fault_is_named(tmp_path, content, message):
    (tmp_path / "speed.jsonl").write_text(json.dumps(measured()) + "\n" + json.dumps(content))
    with pytest.raises(ValueError, match=rf"speed\.jsonl, line 2.*{message}"):
        speed.read_speeds(tmp_path / "speed.jsonl")


def test_numbers_are_short():
    said = {0.0404: "0.04×", 0.404: "0.40×", 1: "1.00×", 2.568: "2.57×", 38.06: "38.1×", 418.2: "418×", 7504: "7504×"}
    assert {ratio: speed.ratio_text(ratio) for ratio in said} == said
    assert [speed.error_text(error) for error in (0.0, 3.52e-7)] == ["0", "3.5e-07"]


def test_what_a_row_lacks_is_a_dash_and_what_all_lack_no_column():
    whole = {"spread": [0.9, 1.62], "forward_ratio": 1.25, "memory_ratio": 0.5, "seconds_per_step": 0.0123}
    shown = speed.table([row(**whole), row("another", max_error=None)])
    assert shown["head"] == [
        *("Variant", "Ratio", "Lowest to highest", "Forward alone", "Memory", "Error", "Milliseconds a step")
    ]
    first, second = (one["texts"] for one in shown["rows"])
    assert first[2:] == ["0.90× to 1.62×", "1.25×", "0.50×", "3.5e-07", "12.3"] and second[2:] == ["–"] * 5


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
    assert [(row["case"], row["variant"]) for row in rows if (row["max_error"] or 0) > 1e-4] == []
    raced = {(row["case"], row["variant"]) for row in found["race", "cpu"]["rows"]}
    assert raced == {(f"race-{task}", lane) for task, lane in CELLS}


@pytest.mark.parametrize("found", KEPT, ids=lambda found: found["case"])
def test_what_is_kept_was_measured_with_what_is_in_git(found):
    assert not found["commit"].endswith("-dirty") and found["commit"] != "unknown"
