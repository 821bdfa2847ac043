"""The pages in which live models and widgets are tested: opened from a file, as a reader may open it."""

import re
from contextlib import ExitStack

import matplotlib.pyplot as plt
import pytest
import torch
from live.parity import IN_THE_PAGE, PARTS
from live.widgets import GIVEN
from pages import page_checks

from rtx_book.page.live import play

FIRST = ("base", "engine")  # in every page, before the parts that a test names


@pytest.fixture(scope="module")
def plain(browser):
    """The pages of a module that hold scripts and nothing else, by their parts, and where to open more."""
    with ExitStack() as stack:
        context = browser.new_context(viewport=page_checks.DESKTOP)
        stack.callback(context.close)
        yield {}, stack, context


@pytest.fixture
def live(plain, tmp_path):
    """`live("arithmetic", "recurrent")`: a page with these parts of book/rtx_book/page/live, after base and engine.

    It is one for all tests of a module. slips: {a part: (text, what to put in its place)}, mistakes that a test plants.
    At the end of the test nothing else may have gone wrong on these pages: no error, no request.
    """
    pages, all_tests, context = plain
    with ExitStack() as stack:
        visits = []

        def open_page(*parts, slips=None):
            if not slips and parts in pages:
                visits.append(pages[parts])
                return visits[-1].page
            scripts = []
            for part in dict.fromkeys([*FIRST, *parts]):
                text = (PARTS / f"{part}.js").read_text()
                if slips and part in slips:
                    old, new = slips[part]
                    assert text.count(old) == 1, f"{part}.js has {text.count(old)} times {old!r}"
                    text = text.replace(old, new)
                scripts.append(f"<script>{text}</script>")
            head = "<!doctype html><html lang=en><meta charset=utf-8><title>live</title><body>"
            path = tmp_path / f"page{len(visits)}.html"
            path.write_text(f"{head}{''.join(scripts)}<script>{IN_THE_PAGE}</script>")
            visits.append((stack if slips else all_tests).enter_context(page_checks.visit(context, path.as_uri())))
            if not slips:
                pages[parts] = visits[-1]
            return visits[-1].page

        yield open_page
        assert not [fault for one in visits for fault in one.faults if not re.search(r"/page\d+\.html", fault)]


@pytest.fixture
def widget(browser, tmp_path):
    """`widget("adder", first=7)`: a page with the figure of this kind, ready, with other options than `GIVEN` has.

    count: of figures on the page. context: of the browser. head: HTML. ready: whether to wait for the widget. expected:
    a pattern of the errors that the page may meet. At the end of the test nothing else may have gone wrong.
    """
    visits = []
    with ExitStack() as stack:

        def open_page(kind, *, count=1, context=None, head="", ready=True, expected="file://", **options):
            torch.manual_seed(0)
            still, axes = plt.subplots()
            axes.plot([0, 1])
            html = play(kind, still=still, alt="A line rises.", **GIVEN[kind]() | options)._repr_html_()
            head = f"<meta charset=utf-8><meta name=viewport content='width=device-width'><title>Page</title>{head}"
            path = tmp_path / f"page{len(visits)}.html"
            path.write_text(f"<!doctype html><html lang=en>{head}<body><main><h1>Page</h1>{html * count}</main>")
            made = browser.new_context(**({"viewport": page_checks.DESKTOP} | (context or {})))
            stack.callback(made.close)
            visits.append((stack.enter_context(page_checks.visit(made, path.as_uri())), expected))
            page = visits[-1][0].page
            if ready:
                started = "n => document.querySelectorAll('figure[data-state=ready]').length === n"
                page.wait_for_function(started, arg=count)
                page.locator(".live-more").evaluate_all("all => all.forEach(one => { one.open = true })")
            return page

        yield open_page
        assert not [fault for visit, expected in visits for fault in visit.faults if not re.search(expected, fault)]
