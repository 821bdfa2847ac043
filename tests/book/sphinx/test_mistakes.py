"""The museum of mistakes: what is recorded is what the list and the program say, and the page draws it."""

import json
import re
import shutil
import xml.etree.ElementTree as ET

import pytest
from support.helpers import ROOT

from rtx_book.runs import mistakes as runs
from rtx_book.sphinx import generated, mistakes

FOUND = runs.mistakes()
RECORD = json.loads((ROOT / "book" / "results" / "mistakes.json").read_text(encoding="utf-8"))
SOURCE = (ROOT / "book" / "own" / "sound.py").read_text(encoding="utf-8")


def test_the_record_has_every_mistake_and_a_line_that_saw_it():
    assert set(RECORD["mistakes"]) == set(FOUND) and not RECORD["commit"].endswith("-dirty")
    length = len(RECORD["sound"]["Recurrence"])
    assert [name for name, one in RECORD["mistakes"].items() if not one["failed"] or len(one["losses"]) != length] == []


@pytest.mark.parametrize("name", FOUND)
def test_a_mistake_is_a_change_of_one_line(name):
    spoiled = runs.planted(SOURCE, FOUND[name]["right"], FOUND[name]["wrong"])
    compile(spoiled, name, "exec")
    assert spoiled != SOURCE and len(set(SOURCE.splitlines()) - set(spoiled.splitlines())) <= 1


def test_a_chart_goes_from_zero_or_the_lowest_loss_to_the_highest():
    drawn = mistakes.chart([4.0, 2.0], [4.0, 1.0], 10)
    assert (drawn["own"], drawn["sound"]) == ("60.0,0.0 180.0,60.0", "60.0,0.0 180.0,90.0")
    assert (drawn["low"], drawn["high"], drawn["steps"]) == ("0", "4", 20)
    assert mistakes.chart([1.0, -3.0], [1.0, 1.0], 10)["own"] == "60.0,0.0 180.0,120.0"


def test_the_page_has_a_link_and_an_entry_for_each(tmp_path):
    (tmp_path / "book" / "results").mkdir(parents=True)
    shutil.copy(ROOT / "book" / "mistakes.yml", tmp_path / "book")
    one = {"losses": [4.0, 2.0], "failed": {"start": ["a < b", "it is *odd*"]}}
    record = RECORD | {"sound": {"Recurrence": [4, 1], "Attention": [4, 1]}, "mistakes": dict.fromkeys(FOUND, one)}
    file = tmp_path / "book" / "results" / "mistakes.json"
    file.write_text(json.dumps(record))
    text = generated.rendered("mistakes", tmp_path)
    for name, told in FOUND.items():
        assert text.count(f'<a href="#mistake-{name}">') == text.count(f"(mistake-{name})=\n### {told['title']}") == 1
        assert f"\n- {told['wrong'].splitlines()[0]}\n" in text or f"\n  {told['right']}\n" in text
    assert r"- `start` fails: a \< b. *it is \*odd\**" in text
    drawings = [ET.fromstring(drawing) for drawing in re.findall(r"<svg.*?</svg>", text, flags=re.S)]
    assert {one.get("aria-label") for one in drawings} == {"After 20 steps the loss is 2, without the mistake 1."}
    assert len(drawings) == 2 * len(FOUND)
    file.write_text(json.dumps(record | {"mistakes": {}}))
    with pytest.raises(ValueError, match=r"mistakes\.json lacks std-10"):
        generated.rendered("mistakes", tmp_path)
