"""Grading: an untouched notebook fails every check, a solved one passes them on any numbers, and no slip gets by."""

import contextlib
import json
import re
import signal
import threading
import time

import pytest
from support.built import NOTEBOOKS
from support.helpers import code_cell

from rtx_book.build.execute import read_notebook, source
from rtx_book.checks import answers
from rtx_book.checks.assignments import assignment, numbers_of
from rtx_book.checks.grading import answers_of, checks_of, grade, graded

HAND = "from rtx_book.checks import attention as checks\n"


def sources(chapter):
    return [source(cell) for cell in read_notebook(NOTEBOOKS[chapter])["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("chapter", NOTEBOOKS)
def test_an_untouched_notebook_fails_every_check_and_its_solutions_pass(chapter, monkeypatch):
    made = assignment(chapter, 7, read_notebook(NOTEBOOKS[chapter]))["cells"]
    solved, released = ("\0".join(source(cell) for cell in made if cell["cell_type"] == "code") for _ in range(2))
    for part, mark in (("SOLUTION", "# your answer"), ("HIDDEN TESTS", "")):  # as nbgrader takes them out
        released = re.sub(rf"### BEGIN {part}.*?### END {part}", mark, released, flags=re.S)
        solved = re.sub(r"### BEGIN HIDDEN TESTS.*?### END HIDDEN TESTS", "", solved, flags=re.S)
    solved, released = answers_of(solved.split("\0")), answers_of(released.split("\0"))
    solved |= answers_of(["checks.check_slips({1, 2})"])  # its solution needs what the chapter has computed
    stubs = answers_of(sources(chapter))
    otter = [source(cell) for cell in assignment(chapter, 7, read_notebook(NOTEBOOKS[chapter]), otter=True)["cells"]]
    assert [f"# BEGIN QUESTION\nname: {n}\npoints: 1" for n in stubs] == [one for one in otter if "BEGIN Q" in one]
    assert sum("# BEGIN SOLUTION\n" in c for c in otter) == sum("hidden: true" in c for c in otter) == len(stubs)
    assert set(stubs) == set(checks_of(chapter))
    for name in checks_of(chapter):
        monkeypatch.setenv("RTX_GRADING", "1")
        with pytest.raises(AssertionError, match="Not answered yet"):
            grade(chapter, name, stubs)
        with pytest.raises(AssertionError, match="Not answered yet"):
            grade(chapter, name, released)
        monkeypatch.setenv("RTX_GRADING", "7")
        grade(chapter, name, solved, **(own := numbers_of(chapter, 7).get(name, {})))
        if own:  # the book's answer is no answer
            with pytest.raises(AssertionError):
                grade(chapter, name, solved)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([], "no cell calls checks.check_by_hand"),
        (["x = 2.2\nchecks.check_by_hands(x)"], "no cell calls checks.check_by_hand"),
        (["x = 2.2\n# checks.check_by_hand(x)"], "no cell calls checks.check_by_hand"),
        (["checks.check_by_hand = print", "checks.check_by_hand(7 / 3)"], "this is the plain mean"),
        (["x = 0\nwhile True:\n    x += 1\nchecks.check_by_hand(x)"], "no answer after 0.1 seconds"),
        (["while x:", "%matplotlib inline\nx = 2.2\nchecks.check_by_hand(x)\nlater = x"], ""),
    ],
)
def test_an_answer_counts_if_it_is_there_and_comes_in_time(cells, words, tmp_path, monkeypatch):
    monkeypatch.setattr(answers, "LIMIT", 0.1)
    (file := tmp_path / "own.ipynb").write_text(json.dumps({"cells": [code_cell(cell) for cell in (HAND, *cells)]}))
    monkeypatch.setenv("RTX_GRADING", "1")
    with pytest.raises(AssertionError, match=words) if words else contextlib.nullcontext():
        graded("attention", file)("check_by_hand")


def test_a_check_ends_an_answer_that_never_comes_and_not_for_another_interrupt(monkeypatch, request):
    monkeypatch.setenv("RTX_GRADING", "1")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as where it runs in the background
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    @answers.exercise()
    def check(answer):
        if not answer:
            raise KeyboardInterrupt
        while time.monotonic() < answer:
            pass

    with pytest.raises(KeyboardInterrupt):
        check(0)
    assert all(one.finished.is_set() for one in threading.enumerate() if isinstance(one, threading.Timer))
    monkeypatch.setattr(answers, "LIMIT", 0.1)
    with pytest.raises(AssertionError, match="does a loop never end"):
        check(time.monotonic() + 20)
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    monkeypatch.setenv("RTX_GRADING", "yes")
    with pytest.raises(ValueError, match=r"RTX_GRADING must be a whole number, .* got 'yes'"):
        check(None)
