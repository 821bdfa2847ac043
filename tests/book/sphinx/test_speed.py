"""The page of speed: tables made from the files of the bench, and red where a file is broken."""

import json
import math
import re

import pytest
from support.helpers import ROOT
from support.sphinx_page import build_page

from rtx_book.bench import CASES
from rtx_book.bench.measuring import KINDS
from rtx_book.records.records import SPEED_SCHEMA
from rtx_book.runs.recipes.race import CELLS
from rtx_book.sphinx import speed

PAGE = "```{speed-machines}\n```\n\n```{speed} rnn\n```\n\n```{speed} race\n```"
KEPT = speed.load_speeds()


def row(variant="rtx_lib RNN", ratio=1.5, **changes):
    """A row that follows the schema."""
    known = {"case": "rnn", "against": "torch.nn.RNN", "kind": "torch.nn", "device": "cpu, one thread"}
    return {"variant": variant, "ratio": ratio, "max_error": 3.5e-7, **known, **changes}


def raced(lane, **changes):
    """A row of the race."""
    known = {"case": "race-copy", "against": "transformer", "kind": "ours", "max_error": None}
    extra = {"seconds_per_step": 0.0123, "flops_per_step": 961604544, "parameters": 50845}
    return row(lane, **known | extra | changes)


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


def on_gpu(**changes):
    machine = measured()["machine"] | {"gpu": "A GPU"}
    return measured(machine=machine, clock="wall", rows=[row(device="A GPU"), row("loop", device="A GPU")], **changes)


def build(root, *found):
    """Build a page with the directives in it, warnings as errors; what was said, and the page."""
    folder = root / "book" / "results"
    folder.mkdir(parents=True)
    (folder / "speed.jsonl").write_text("".join(json.dumps(one) + "\n" for one in found))
    return build_page(root, "speed", "speed", PAGE)


def test_the_page_holds_what_was_measured_and_links_the_files(tmp_path):
    race = measured("race", [raced("rnn"), raced("transformer", ratio=1.0)])
    faults, page = build(tmp_path, measured(), race, on_gpu())
    assert not faults
    assert page.count("<table") == 3 and page.count('class="faster"') == 5 and page.count('class="slower"') == 1
    assert 'href="../book/results/speed.jsonl"' in page and "Measured on 2 November 2026" in page
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    assert "Variant Ratio Against Kind Error rtx_lib RNN 1.50×" in text and "3.5e-07 loop 0.25×" in text
    assert "For every row: against torch.nn.RNN; kind torch.nn; device A GPU." in text
    assert "Milliseconds a step MFLOPs a step Parameters RNN 1.50× 12.3 962 50,845 Transformer 1.00×" in text
    assert "A processor, 2 cores, 1 thread used; torch 2.13.0 (CPU only, AVX2), Python 3.11.7" in text
    assert "A GPU, beside A processor" in text and "time on the wall. Cases: rnn." in text
    assert "on a GPU yet" not in text and "Nothing is measured" not in text


def test_what_is_missing_is_said(tmp_path):
    faults, page = build(tmp_path)
    assert not faults
    assert page.count("Nothing is measured yet") == 2 and "No case has been measured on a GPU yet" in page
    assert "python -m rtx_book bench rnn --record" in re.sub(r"<[^>]+>", "", page)


def test_a_broken_file_makes_the_build_red_and_is_named(tmp_path):
    broken = measured()
    del broken["rows"][1]["kind"]
    faults, _ = build(tmp_path, broken)
    assert "speed.jsonl, line 1 does not follow the schema: rows/1" in faults and "'kind'" in faults
    assert "speed.md" in faults and "Traceback" not in faults


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


def test_memory_has_a_column_where_it_was_measured():
    both = " ".join(node.astext() for node in speed.tables([row(memory_ratio=0.333), row("other")]))
    assert "Memory" in both and "0.33×" in both and "–" in both
    assert "Memory" not in speed.tables([row()])[-1].astext()


def test_numbers_are_short():
    said = {0.0404: "0.04×", 0.404: "0.40×", 1: "1.00×", 2.568: "2.57×", 38.06: "38.1×", 418.2: "418×", 7504: "7504×"}
    assert {ratio: speed.ratio_text(ratio) for ratio in said} == said
    assert [speed.error_text(error) for error in (None, 0.0, 3.52e-7)] == ["–", "0", "3.5e-07"]


@pytest.mark.parametrize(
    "ratio, kind, left, width",
    [
        (1, "faster", 50, 0),
        (4, "faster", 50, 50),
        (2, "faster", 50, 25),
        (0.25, "slower", 0, 50),
        (0.5, "slower", 25, 25),
    ],
)
def test_a_bar_grows_from_the_middle(ratio, kind, left, width):
    html = speed.bar(ratio, math.log(4)).astext()
    assert f'class="{kind}" style="left:{left:.1f}%;width:{width:.1f}%"' in html and 'aria-hidden="true"' in html


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
