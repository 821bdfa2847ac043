"""Exercises answered on the page: what the check says there is what it says in Python, for every kind of answer."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pages import page_checks
from support.helpers import refusals

from rtx_book.checks import attention, gates, positions, recurrence, transformer
from rtx_book.checks import vanishing_gradients as vanishing
from rtx_book.page import answer, figure
from rtx_book.page.answer import ask

GROWS = [[0.9, 1.59], [0.0, 0.9]]
PRODUCT = {"right": 7 / 144, "slips": [1 / 6, 1 / 9, 1 / 144, 1 / 9 - 1 / 2 + 1]}
LOOKS: list[dict[str, Any]] = [
    {"viewport": page_checks.DESKTOP},
    {"viewport": page_checks.PHONE, "color_scheme": "dark", "has_touch": True, "is_mobile": True},
]


def made(check: Callable[[Any], None] = vanishing.check_product_baseline, **given: Any) -> str:
    text: str = ask(check, **({"label": "error"} | given)).data
    return text


@pytest.fixture(params=LOOKS, ids=["wide", "phone"])
def page(request, browser, tmp_path):
    """Write fields into a page of its own; nothing may go wrong there."""
    context = browser.new_context(**request.param)
    seen: list[str] = []

    def open_page(text: str) -> Any:
        path: Path = tmp_path / f"page{len(list(tmp_path.iterdir()))}.html"
        path.write_text(f'<!doctype html><html lang="en"><meta charset="utf-8"><title>ask</title><body>{text}')
        opened = context.new_page()
        opened.set_default_timeout(page_checks.PATIENCE)
        for event in ("pageerror", "console"):
            opened.on(event, lambda it: seen.append(str(getattr(it, "text", it))))
        opened.goto(path.as_uri())
        return opened

    yield open_page
    context.close()
    assert not seen


def reply(opened: Any, *typed: str, label: str = "error") -> str:
    """What the page says after these were written into the fields of a group, and "Check" was pressed."""
    box = opened.get_by_role("group", name=label, exact=True)
    for i, text in enumerate(typed):
        box.locator("input").nth(i).fill(text)
    box.get_by_role("button", name="Check").click()
    return said(box)


def said(box: Any) -> str:
    """The words of the status line, which is emptied by a press and filled a moment later."""
    line = box.get_by_role("status")
    box.page.wait_for_function("line => line.textContent", arg=line.element_handle())
    text: str = line.inner_text()
    return text


def in_python(check: Callable[[Any], None], given: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        check(given)
    return str(caught.value)


def test_numbers_as_people_write_them(page):
    opened = page(made(**PRODUCT))
    for typed in ("7/144", "0.0486", "0,0486", ".0486", " 4.86e-2 ", "4.86 %", "4.86·10^-2", "+0.04861"):
        assert reply(opened, typed).startswith("✓ Right: 1/9"), typed
    for typed, value in (("1/6", 1 / 6), ("0,1667", 1 / 6), ("0.1111", 1 / 9), ("1/144", 1 / 144), ("11/18", 11 / 18)):
        assert reply(opened, typed) == f"✗ Not yet: {in_python(vanishing.check_product_baseline, value)}", typed
    assert reply(opened, "0.3") == f"✗ Not yet: {in_python(vanishing.check_product_baseline, 0.3)}"
    assert reply(opened, "-0.0486").startswith("✗"), "the sign counts"
    assert reply(opened, "−0.0486").startswith("✗"), "a typeset minus is one"
    for typed in ("much", "1/2/3", "1,2,x"):
        assert reply(opened, typed).startswith("Write numbers")
    assert reply(opened, "  ") == "Write an answer first."


def test_separators_of_thousands(page):
    opened = page(made(transformer.check_training_cost, right=12 * 3600 * 8 * 9.5e12))
    for typed in ("3.3e18", "3.3·10^18", "3.3 x 10^18", "3,283,200,000,000,000,000", "3 283 200 000 000 000 000"):
        assert reply(opened, typed).startswith("✓"), typed


@pytest.mark.parametrize("within", [-0.9, 0.9, -1.1, 1.1])
def test_the_page_is_as_strict_as_the_check(page, within):
    """A number inside the check's tolerance is right on the page, one outside is not."""
    right = -math.log(2**0.01 - 1)
    value = right * (1 + within * 2e-3)
    opened = page(made(gates.check_half_life, right=right, slips=[100.0]))
    assert reply(opened, f"{value:.12g}").startswith("✓") == (abs(within) < 1)


def test_a_pair(page):
    names = ("sentence", "probability")
    opened = page(made(attention.check_beam, right=("by", 0.24), slips=[("ax", 0.18)], kind="pair", parts=names))
    assert reply(opened, "by", "0.24").startswith("✓ Right: by")
    assert reply(opened, "  BY ", "6/25").startswith("✓ Right: by")
    assert reply(opened, "ax", "0.18") == f"✗ Not yet: {in_python(attention.check_beam, ('ax', 0.18))}"
    assert reply(opened, "by", "0.3").startswith("✗ Not yet: That is not it")
    assert reply(opened, "by", "") == "Write an answer first."
    assert opened.get_by_label("probability").count() == 1


def test_every_set_of_the_options(page):
    """All 64 answers that can be ticked get what the check says of them."""
    opened = page(made(recurrence.check_slips, right={1, 2}, kind="set", options=range(1, 7)))
    boxes = opened.get_by_role("checkbox").all()
    chosen: set[int] = set()
    for wanted in map(set, itertools.chain.from_iterable(itertools.combinations(range(1, 7), n) for n in (0, 1, 2, 6))):
        for number in chosen ^ wanted:
            boxes[number - 1].click()
        chosen = wanted
        right = wanted == {1, 2}
        expected = "✓ Right" if right else f"✗ Not yet: {in_python(recurrence.check_slips, wanted)}"
        assert reply(opened).startswith(expected)


def test_a_choice(page):
    options = {"a": "small", "b": "other", "c": "one"}
    opened = page(made(positions.check_slip, right="c", kind="choice", options=options))
    assert reply(opened) == "Choose an answer first."
    opened.get_by_label("other").check()
    assert reply(opened) == f"✗ Not yet: {in_python(positions.check_slip, 'b')}"
    opened.get_by_label("one").check()
    assert reply(opened).startswith("✓ Right")


def test_a_matrix_by_rules(page):
    """Any matrix that does what is asked is right, and the page says of others what the check says."""
    slips = [[[1, 0], [0, 1]], [[0.9, 2], [0, 0.9]], [[0.9, 0.5], [0, 0.9]], [[0.9, 0], [0, 0.9]]]
    opened = page(made(vanishing.check_transient, right=GROWS, slips=slips, kind="matrix", rules=vanishing.TRANSIENT))
    for typed in ("0.9 1.59 0 0.9", "9/10 0 -1,59 9/10", "0,9 1,5 0 0,9"):
        assert reply(opened, *typed.split()).startswith("✓ Right: radius 0.9"), typed
    for own in slips:
        typed = [str(value) for row in own for value in row]
        assert reply(opened, *typed) == f"✗ Not yet: {in_python(vanishing.check_transient, own)}"
    assert reply(opened, "0.9", "1.59", "0", "x").startswith("Write numbers")


def test_the_measures_of_both_sides(page):
    """What the script measures of a matrix is what Python measures."""
    opened = page("")
    script = f"(matrix) => ({figure.beside('answer_matrix.js')})(matrix)"
    for matrix in ([0.9, 1.59, 0, 0.9], [0.3, -0.8, 0.7, 0.5], [-0.2, 0.1, 0.4, 0.6], [0.5, 0, 0, 0.5]):
        ours, theirs = answer.measures([matrix[:2], matrix[2:]]), opened.evaluate(script, matrix)
        for name, value in ours.items():
            assert theirs[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name


def test_by_keyboard_and_by_ear(page):
    opened = page(made(**PRODUCT) + made(label="another error", **PRODUCT))
    opened.keyboard.press("Tab")
    opened.keyboard.type("1/6")
    opened.keyboard.press("Enter")
    box = opened.get_by_role("group", name="error", exact=True)
    assert said(box).startswith("✗ Not yet: 2/12 belongs")
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.textContent") == "Check"
    assert opened.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert opened.get_by_role("group", name="another error").get_by_role("status").inner_text() == ""
    assert opened.get_by_role("textbox", name="error", exact=True).count() == 1
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not opened.evaluate("document.querySelectorAll('[id]').length"), "an id may occur twice"


def test_nothing_of_it_on_paper_and_without_scripts(page, browser, tmp_path):
    opened = page(made(**PRODUCT))
    opened.emulate_media(media="print")
    assert not opened.locator(".book-ask").is_visible()
    path = tmp_path / "silent.html"
    path.write_text(f"<!doctype html>{made(**PRODUCT)}")
    with browser.new_context(java_script_enabled=False) as silent:
        still = silent.new_page()
        still.goto(path.as_uri())
        assert not still.locator(".book-ask").is_visible()


def test_it_weighs_nothing_and_is_the_same_every_time():
    text = made(**PRODUCT)
    assert len((figure.beside("answer.js") + figure.beside("answer.css")).encode()) < 5_000
    assert text == made(**PRODUCT)


MATRIX: dict[str, Any] = {"right": GROWS, "slips": [[[0.9, 0.1], [0, 0.9]]], "kind": "matrix"}
WEAK = [rule for rule in vanishing.TRANSIENT if rule[0] != "peak"]
test_an_exercise_that_its_check_does_not_bear_out_is_refused = refusals(
    {
        "right must be an answer that the check accepts": lambda: made(**PRODUCT | {"right": 0.3}),
        "slips must be wrong answers": lambda: made(**PRODUCT | {"slips": [7 / 144 + 1e-6]}),
        "slips must be answers that the check has a word for": lambda: made(**PRODUCT | {"slips": [0.3]}),
        "right must be made of the options": lambda: made(**PRODUCT | {"kind": "choice", "options": [1, 2]}),
        "rules must judge as the check does": lambda: made(vanishing.check_transient, **MATRIX, rules=WEAK),
    }
)
