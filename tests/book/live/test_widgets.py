"""What every widget owes its reader: keyboard, phone, dark, no script, no motion, paper."""

import pytest
from live.widgets import GIVEN
from pages import page_checks
from support import built
from support.helpers import ROOT

from rtx_book.build import website as build
from rtx_book.page import live

KINDS = sorted(live.PARTS)


def test_every_kind_has_a_figure_here():
    assert sorted(GIVEN) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_light_or_dark_wide_or_narrow_all_can_be_read(widget, kind):
    build.libraries(ROOT, built.BUILD)
    assert built.AXE.is_file(), "axe-core is missing: npm installs it from book/package.json"
    for viewport, scheme in ((page_checks.DESKTOP, "light"), (page_checks.PHONE, "dark")):
        page = widget(kind, context={"viewport": viewport, "color_scheme": scheme})
        assert not [*page_checks.overflow(page), *page_checks.small_text(page), *page_checks.axe(page, built.AXE)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_tab_key_leads_to_controls_that_show_it_and_no_id_comes_twice(widget, kind):
    page = widget(kind, count=2)
    assert not page_checks.invisible_focus(page, 8)
    ids = page.evaluate("[...document.querySelectorAll('.live-body [id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_moves_for_who_wants_no_motion_and_paper_gets_the_picture(widget, kind):
    page = widget(kind, context={"reduced_motion": "reduce"})
    assert page.evaluate("document.getAnimations().length") == 0
    assert not page.get_by_role("button", name="Play", exact=True).filter(visible=True).count()
    page.emulate_media(media="print")
    assert page.locator(".live-still svg").is_visible() and not page.locator(".live-body").is_visible()


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_script_the_still_picture_is_there(widget, kind):
    page = widget(kind, ready=False, context={"java_script_enabled": False})
    assert page.get_by_role("img", name="A line rises.").is_visible()
