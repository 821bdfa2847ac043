"""A finding says what it is worth, whichever way it fell, and never stops anything."""

import json
import math

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from rtx_book.claims import findings, page
from rtx_book.claims.findings import Bound, Finding
from rtx_book.claims.page import Evidence


@pytest.fixture
def shown(monkeypatch):
    """What the cell displayed, as data by kind; without a study."""
    InteractiveShell.instance()
    monkeypatch.setattr(page, "load_study", lambda: {})

    def of(call):
        with capture_output() as captured:
            call()
        return [output.data for output in captured.outputs]

    return of


def evidence(profile="book"):
    with capture_output():
        return Evidence("02_gradients", profile, 0, "cpu")


@pytest.mark.parametrize(
    "text, inside, outside",
    [
        ("< 0.05", [0.049, -1.0], [0.05, 1, math.inf]),
        ("<= 0.05", [0.05], [0.051]),
        ("> 1e-3", [0.002, math.inf], [1e-3]),
        (">= 3", [3], [2.9]),
        ("== 5", [5], [4]),
        ("> -0.5", [0], [-0.5]),
        ("between 0.1 and 0.6", [0.2], [0.1, 0.6, 7]),
    ],
)
def test_a_bound_says_where_a_value_lies(text, inside, outside):
    assert all(map(Bound(text).holds, inside)) and not any(map(Bound(text).holds, [*outside, math.nan]))


@pytest.mark.parametrize("text", ["0.05", "<0.05", "< a", "=< 1", "between 1 and 0", "between 1, 2", "< 1 or > 2", ""])
def test_another_bound_is_refused(text):
    with pytest.raises(ValueError, match="bound"):
        Bound(text)


def test_a_finding_that_holds_says_so_in_one_line(shown):
    (data,) = shown(lambda: evidence().finding("gradients-wall", "It learns < nothing.", 0.163, "> 0.15"))
    assert data["text/plain"] == "✓ It learns < nothing. [here 0.163, bound > 0.15; not in the replication study yet]"
    assert "held" in data["text/html"] and "learns &lt; nothing" in data["text/html"]
    kept = json.loads(json.dumps(data[findings.MIME]))
    assert Finding(**kept).held is True and kept["value"] == 0.163 and kept["chapter"] == "02_gradients"


@pytest.mark.parametrize("value", [0.1, math.nan, math.inf * 0])
def test_a_finding_that_does_not_hold_is_told_and_stops_nothing(shown, value):
    (data,) = shown(lambda: evidence().finding("gradients-wall", "It learns nothing.", value, "> 0.15"))
    assert "fell otherwise" in data["text/html"] and data["text/plain"].startswith("✗ It fell otherwise")
    assert Finding(**data[findings.MIME]).held is False


def test_smoke_keeps_the_value_and_judges_nothing(shown):
    (data,) = shown(lambda: evidence("smoke").finding("gradients-wall", "It learns nothing.", 0.1, "> 0.15"))
    found = Finding(**data[findings.MIME])
    assert (found.held, found.value) == (None, 0.1) and "not judged" in data["text/plain"]


def test_the_rate_is_counted_by_the_bound_of_the_notebook():
    found = Finding("gradients-wall", "02_gradients", "It learns nothing.", 0.2, "> 0.15", True)
    runs = [
        {"part": part, "seed": seed, "values": {"gradients-wall": value}}
        for part, seed, value in (("first", 1, 0.2), ("first", 2, 0.1), ("first", 3, None), ("second", 101, 0.3))
    ]
    kept = {"chapters": {"02_gradients": {"runs": [*runs, {"part": "first", "seed": 4, "values": {}}]}}}
    assert findings.rate_of(kept, found) == findings.Rate(2, 4)
    assert findings.rate_of(kept, found, "second") == findings.Rate(1, 1)
    assert findings.rate_of(kept, found, seed=1) == findings.Rate(1, 1)
    assert findings.rate_of({}, found) is None
    told = page.bundle(found, kept, "../book/findings.html#gradients-wall")
    assert "held in 2 of 4 runs" in told["text/plain"]
    assert '<a href="../book/findings.html#gradients-wall">held in 2 of 4 runs' in told["text/html"]


@pytest.mark.parametrize("held, runs, at_least", [(20, 20, 0.05 ** (1 / 20)), (0, 5, 0.0), (19, 20, 0.7838938)])
def test_the_lower_bound_is_clopper_and_pearsons(held, runs, at_least):
    assert findings.Rate(held, runs).at_least == pytest.approx(at_least, abs=1e-6)


GOOD = {"id": "a-wall", "sentence": "It learns.", "value": 1, "bound": "> 0"}


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"id": "Wall"}, "id must be words in lower case"),
        ({"id": "wall"}, "id must be words in lower case"),
        ({"id": "b-wall", "sentence": " "}, "sentence must"),
        ({"bound": "0"}, "bound must"),
        ({"sentence": "It forgets."}, "id must be new in the chapter, 'a-wall'"),
    ],
)
def test_what_is_no_finding_is_refused(shown, wrong, named):
    page = evidence()
    shown(lambda: page.finding(**GOOD))
    with pytest.raises(ValueError, match=named):
        page.finding(**GOOD | wrong)


def test_findings_are_read_from_an_executed_notebook(shown):
    (data,) = shown(lambda: evidence().finding(**GOOD))
    outputs = [{"output_type": "stream", "text": "1"}, {"output_type": "display_data", "data": data}]
    cells = [{"cell_type": "markdown"}, {"cell_type": "code", "outputs": outputs}]
    (found,) = findings.findings_of({"cells": cells})
    assert found.id == "a-wall" and found.held


def test_the_page_says_what_it_is_computed_on(shown):
    with pytest.raises(ValueError, match="smoke, book, paper, got 'huge'"):
        shown(lambda: Evidence("02_gradients", "huge", 0, "cpu"))
    (data,) = shown(lambda: Evidence("02_gradients", "book", 3, "cuda:0"))
    assert data["text/plain"] == "This page is computed on a GPU, with seed 3, in the profile book."
