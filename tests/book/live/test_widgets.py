"""What every widget owes its reader: keyboard, phone, dark, no script, no motion, paper."""

import pytest
from pages import page_checks
from support import built
from support.helpers import ROOT

from rtx_book.build import website as build
from rtx_book.page import live

KINDS = sorted(live.PARTS)


# A figure is told of its new width in the next frame, and may draw itself in the one after.
FRAMES = "new Promise((done) => { let n = 3; (function next() { n-- ? requestAnimationFrame(next) : done() })() })"


@pytest.fixture
def axe_script():
    build.libraries(ROOT, built.BUILD)
    assert built.AXE.is_file(), "axe-core is missing: npm installs it from book/package.json"
    return built.AXE


@pytest.mark.parametrize("kind", KINDS)
def test_all_can_be_read_and_reached_and_nothing_moves_for_who_wants_no_motion(widget, axe_script, kind):
    """Two on a page: wide and narrow, by the Tab key, without an id twice, and as a picture on paper."""
    page = widget(kind, count=2, context={"reduced_motion": "reduce"})
    assert page.evaluate("document.getAnimations().length") == 0
    assert not page.get_by_role("button", name="Play", exact=True).filter(visible=True).count()
    ids = page.evaluate("[...document.querySelectorAll('.live-body [id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    faults = page_checks.overflow(page) + page_checks.small_text(page) + page_checks.invisible_focus(page, 8)
    page.set_viewport_size(page_checks.PHONE)
    page.evaluate(FRAMES)
    assert not faults + page_checks.overflow(page) + page_checks.small_text(page)
    page.emulate_media(media="print")
    assert page.locator(".live-still svg").first.is_visible() and not page.locator(".live-body").first.is_visible()
    page.emulate_media(media="screen")
    assert not page_checks.axe(page, axe_script, "rest")


@pytest.mark.weekly
@pytest.mark.parametrize("kind", KINDS)
def test_colours_are_told_apart_in_light_and_dark(widget, axe_script, kind):
    for scheme in ("light", "dark"):
        page = widget(kind, context={"viewport": page_checks.PHONE, "color_scheme": scheme})
        assert not page_checks.axe(page, axe_script, "colours")


def test_without_a_script_the_still_picture_is_there(widget):
    page = widget(KINDS[0], ready=False, context={"java_script_enabled": False})
    assert page.get_by_role("img", name="A line rises.").is_visible()


DRAWN = [("integrator", "input", "0k" * 64), ("forecast", "drawn", "rs0a" * 72), ("scene", "scene", "3-0-2-4_7-1-15-2")]
DRAWN += [("transplant", "held", "3-1-1-0_3-2_1")]


@pytest.mark.parametrize(("kind", "name", "text"), DRAWN)
def test_a_link_brings_a_drawing_again_and_nothing_else(widget, kind, name, text):
    held = widget(kind).locator(f"input[name={name}]")
    given = [text, text[:-1], "-1" * 64, "zz" * 144, "é🙂"]
    told = held.evaluate("({held}, all) => all.map((text) => [held.set(text), held.get()])", given)
    assert told == [[one == text, text] for one in given]
