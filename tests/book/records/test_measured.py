"""Numbers of the prose: out of the records at build time, and equal to what was typed."""

import json
import re

import pytest
from support import made_records
from support.helpers import ROOT

from rtx_book.build import website as build
from rtx_book.records import measured
from rtx_book.records.records import load


def run(seed, loss, **changes):
    found = {"recipe": "lag5-xl", "seed": seed, "parameters": 1200, "seconds": 10.0 + seed, "diverged": None}
    found |= {"configuration": {"steps": 1500, "lr": 0.003}}
    found |= {"metrics": {"loss": loss, "accuracy": 0.9, "last quarter": 0.7}}
    found |= {"baselines": {"predict 1": 1 / 6}, "elsewhere": {"memory 64": {"loss": loss + 1}}}
    rows = [{"step": 50, "loss": 2.0}, {"step": 100, "loss": 0.5, "reference_loss": 0.4}]
    return found | {"evaluations": rows} | changes


LOST: dict = {"metrics": {}, "elsewhere": None, "diverged": {"step": 3, "reason": "x"}}
RECORDS = {"lag5-xl": [run(0, 1.804), run(1, 1.796), run(2, 1.9)], "lag5": [run(0, 0.0, recipe="lag5", **LOST)]}
RECORDS["rate-0.003"] = [run(0, 1.0, recipe="rate-0.003")]
PARTLY = {"a": [run(0, 1.5), run(1, 0.0, metrics={}, elsewhere={"memory 64": {}}), run(2, 0.0, **LOST)]}


def mark(expression, typed):
    return f'<span data-record="{expression}">{typed}</span>'


SAID = {  # how it may be typed
    "lag5-xl.loss.median": "1.80; 1.804",
    "lag5-xl.loss.mean": "1.833",
    "lag5-xl.loss.min": "1.796",
    "lag5-xl.loss.max": "2",
    "lag5-xl.accuracy.median": "90 %; 90\u00a0%",
    "lag5-xl.configuration.steps": "1,500; 1500",
    "lag5-xl.parameters": "1,200",
    "lag5-xl.seeds": "3",
    "lag5.diverged": "1",
    "lag5-xl.baselines.predict 1": "0.167",
    "lag5-xl.elsewhere.memory 64.loss.median": "2.80",
    "lag5-xl.steps to loss 0.6.median": "100",
    "lag5-xl.last reference_loss.median": "0.4",
    "lag5-xl.last quarter.median": "0.7",
    "lag5-xl.seconds.max": "12",
    "rate-0.003.loss.median": "1.0",
    "lag5-xl.loss.min - lag5-xl.loss.max": "−0.10",
    "lag5-xl.loss.max - lag5-xl.loss.min": "+0.10",
    "lag5-xl.parameters / 1000": "1.2",
}


@pytest.mark.parametrize(("expression", "typed"), [(key, one) for key, own in SAID.items() for one in own.split("; ")])
def test_what_the_records_say_is_accepted_and_filled_in(expression, typed):
    assert measured.faults(mark(expression, typed), RECORDS) == []
    assert f">{typed}</span>" in measured.filled(mark(expression, typed), RECORDS)


@pytest.mark.parametrize(
    ("expression", "typed", "message"),
    [
        ("lag5-xl.loss.median", "1.81", "the records say 1.80, the text says 1.81"),
        ("lag5-xl.loss.median", "1.800", "the records say 1.804"),
        ("lag5-xl.loss.median", "1.8 nats", "is no number"),
        ("lag9.loss.median", "1.80", "no record of the recipe"),
        ("lag5-xl.bpc.median", "1.80", "no number 'bpc'"),
        ("lag5-xl.loss.middle", "1.80", "'middle' is no statistic"),
        ("lag5-xl.seconds", "11", "names no statistic"),
        ("lag5-xl.elsewhere.memory 9.loss.median", "1", "no number"),
        ("lag5.loss.median", "1.80", "no run has a value"),
    ],
)
def test_every_planted_fault_is_named(expression, typed, message):
    faults = measured.faults(f"It ends at {mark(expression, typed)} nats.", RECORDS)
    assert len(faults) == 1 and re.search(message, faults[0]), faults


@pytest.mark.parametrize("broken", ["='lag5-xl.loss.median'>1.80", '="lag5-xl.loss.median">**1.80**</b>'])
def test_a_mark_of_another_form_is_a_fault(broken):
    assert measured.faults(f"<span data-record{broken}</span>", RECORDS)


def test_the_build_puts_the_records_number_in_and_says_where_it_is_from():
    text = measured.filled(f"At {mark('lag5-xl.loss.median', '9.99')} nats.", RECORDS)
    title = "median over 3 seeds, from the records of lag5-xl"
    assert text == f'At <span data-record="lag5-xl.loss.median" title="{title}">1.80</span> nats.'
    assert measured.filled(text, RECORDS) == text, "a second time changes nothing"
    assert "9.99" in measured.filled(mark("gone.loss.median", "9.99"), RECORDS), "without records the text stays"


def test_a_run_without_a_value_is_no_fault_where_another_has_one():
    assert measured.series("a.loss", PARTLY) == [1.5, None, None]
    assert measured.series("a.elsewhere.memory 64.loss", PARTLY) == [2.5, None, None]
    assert measured.lost(measured.series("a.loss", PARTLY), PARTLY["a"]) == {"diverged": 1, "without a value": 1}
    title = 'title="median over 1 seed, 1 diverged, 1 without a value, from the records of a"'
    assert title in measured.filled(mark("a.loss.median", "1.5"), PARTLY)
    assert 'title="median over 3 seeds, from' in measured.filled(mark("a.seconds.median", "11"), PARTLY)
    for wrong in ("a.bpc", "a.elsewhere.memory 64.bpc", "a.elsewhere.memory 9.loss", "lag5.configuration.width"):
        with pytest.raises(ValueError, match="the records have no number"):
            measured.series(wrong, PARTLY | RECORDS)


def test_pages_and_notebooks_are_staged_with_the_records_numbers(tmp_path):
    made_records.write(tmp_path / "book" / "results", *RECORDS["lag5-xl"])
    text = mark("lag5-xl.loss.median", "9.99")
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# One\n", text]},
        {"cell_type": "code", "metadata": {}, "source": [repr(text)], "outputs": [], "execution_count": None},
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    toc = "root: book/intro\nparts:\n- chapters:\n  - file: notebooks/one\n"
    (tmp_path / "notebooks").mkdir()
    for name, own in {"_config.yml": "", "CITATION.cff": "", "_toc.yml": toc, "book/intro.md": text}.items():
        (tmp_path / name).write_text(own)
    (tmp_path / "notebooks" / "one.ipynb").write_text(json.dumps(notebook))
    staged = build.pages(tmp_path, None)
    assert b">1.80</span>" in staged["book/intro.md"]
    first, second = json.loads(staged["notebooks/one.ipynb"])["cells"]
    assert ">1.80</span>" in "".join(first["source"]) and "9.99" in "".join(second["source"])


RESULTS = load()


def prose(path):
    """The Markdown of a page or of a notebook's cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    return "\n\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


PAGES = [*sorted((ROOT / "notebooks").glob("*.ipynb")), *sorted((ROOT / "book").glob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_number_of_the_prose_parts_from_its_record(path):
    assert measured.faults(prose(path), RESULTS) == []


def test_some_numbers_of_the_prose_are_marked():
    assert sum(prose(path).count("data-record") for path in (ROOT / "notebooks").glob("*.ipynb")) > 0
