"""What a sentence with numbers rests on: each kind of support, a planted number that has none, and the whole book."""

import json

import pytest
from support.helpers import ROOT

from rtx_book.claims import support
from rtx_book.claims.statements import Statement

CODE = """steps, share, figure = 1_500, 0.25, dict(figsize=(5.8, 3))
evidence.finding("one-wall", "It ends above 0.15 with four seeds.", last, "> 0.31")"""
MADE = [("program steps.py", "times = 23"), ("finding one-late", "It comes after 0.77."), ("finding one-other", "0.66")]
FAR = [("code", "assert error < 1e-12 and T == 77"), ("code", "width = 640"), ("markdown", "")]
SAYS = [Statement("every A of 42 wins", rules=["every A < B"], chapter="one")]


def of(text, page="one"):
    cells = [("markdown", text), ("code", CODE), *FAR, ("code", "tries = 6  # seeds\nlength = 99\nname = '98'"), *MADE]
    return support.sentences(page, cells, SAYS)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('It is <span data-record="a.loss.median">0.98</span> high.', "record a.loss.median"),
        ("It takes $2^4 = 16$ of 16 ways.", "formula"),
        ("Here every A of 42 wins, on 55.", "statement"),
        ("It ends above 0.15.", "finding one-wall (0.15)"),
        ("It ends above 0.31.", "finding one-wall (0.31)"),
        ("It held with four seeds.", "finding one-wall (4)"),
        ("At length 77 all is exact.", "proof in cell 3 (77)"),
        ("After 1,500 steps it stops.", "run in cell 2 (1500)"),
        ("They report 12.34 {cite:p}`paper2020`.", "citation paper2020 (12.34)"),
        ("It has a length of 99.", "setting in cell 6 (99)"),
        ("It holds with six seeds.", "seeds in cell 6 (6)"),
        ("It was measured 23 times.", "program steps.py (23)"),
        ("Now `one-late` says 0.77.", "finding one-late (0.77)"),
        ("Will it be so at 0.83?\n\nAt 0.83 there are words.", "what cell 1 asks (0.83)"),
    ],
)
def test_every_kind_of_support_is_seen(text, kind):
    (one,) = of(text)
    assert one.bare == [] and any(own.startswith(kind) for own in one.rests)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("It ends at 12.34 or 5.8.", ["12.34", "5.8"]),  # the size of a figure
        ("It ends at 0.2 or 15.", ["0.2", "15"]),  # parts of other numbers
        ("It has 98 parts.", ["98"]),  # far away, and no number there
        ("It held in 3 of 5 tries, after 1,500 steps.", ["3", "5"]),
        ("It held with nine seeds.", ["9"]),
        ("It holds with 640 seeds.", ["640"]),  # there, but not as seeds
        ("Now `one-late` says 0.66 (was < 0.67), not > 0.", ["0.66", "0.67", "0"]),
        ("We report 12.34 {cite:p}`paper2020`.", ["12.34"]),
        ("Others report 12.34.\n\nOr not {cite:p}`paper2020`.", ["12.34"]),
        ("Set it to 13, where it ends at 14.", ["13", "14"]),
        ("| one | 12.34 |\n|---|---|\n| two | 0.25 |", ["12.34"]),
    ],
)
def test_what_rests_on_nothing_is_found(text, bare):
    assert [number for one in of(text) for number in one.bare] == bare


def test_a_statement_of_another_page_supports_nothing():
    assert of("Here every A of 42 wins.", page="two")[0].bare == ["42"]


@pytest.mark.parametrize(
    "text",
    [
        "# Part 12",
        "Are there 12 of them?",
        "Set it to 13.",
        "<summary>About 12.34</summary>",
        "In 2017 the 3rd of section 3.4 has $x = 12$ and `n = 12`: GPT-2.",
        "```\nmake 12\n\nmake 13\n```",
    ],
)
def test_what_claims_no_number_is_left_out(text):
    assert of(text) == []


def test_the_command_counts_and_draws_by_the_seed(tmp_path, capsys):
    (tmp_path / "book").mkdir()
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "_toc.yml").write_text("- file: notebooks/one\n")
    (tmp_path / "book" / "statements.yml").write_text("")
    text = "\n\n".join(f"It is {number} high." for number in range(30, 60))
    cells = [{"cell_type": "markdown", "source": [text]}, {"cell_type": "code", "source": ["range(31, 60)"]}]
    (tmp_path / "notebooks" / "one.ipynb").write_text(json.dumps({"cells": cells}))
    for page in support.PAGES:
        (tmp_path / "book" / f"{page}.md").write_text("No number.\n")

    def told(*words):
        return support.main(words, tmp_path), capsys.readouterr().out

    status, out = told()
    assert status == 1 and "one: It is 30 high.\n    NOTHING (30)" in out
    assert "29 of 30 sentences" in out and "It is 31" not in out
    assert told("--draw", "5", "--seed", "1") == told("--draw", "5", "--seed", "1") != told("--draw", "5")
    (tmp_path / "notebooks" / "one.ipynb").write_text(json.dumps({"cells": []}))
    assert told() == (0, "0 of 0 sentences with numbers rest on nothing.\n")


def test_nothing_in_the_book_rests_on_nothing():
    assert [(one.page, one.text, one.bare) for one in support.of_book(ROOT) if one.bare] == []
