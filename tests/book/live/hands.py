"""A live figure on a page of its own, as a reader meets it, for widgets that are played by hand."""

from contextlib import contextmanager

import matplotlib.pyplot as plt
from pages import page_checks
from support import built
from support.helpers import ROOT

from rtx_book.build import website as build
from rtx_book.page.live import play


@contextmanager
def figure(browser, folder, kind, viewport=page_checks.DESKTOP, **options):
    """The page with one figure of this kind, ready; nothing may go wrong on it."""
    still, axes = plt.subplots()
    axes.plot([0, 1])
    html = play(kind, still=still, alt="a line", **options)._repr_html_()
    head = "<title>Page</title><meta name=viewport content='width=device-width'>"
    path = folder / "page.html"
    path.write_text(f"<!doctype html><html lang=en><meta charset=utf-8>{head}<body><h1>Page</h1>{html}")
    context = browser.new_context(viewport=viewport)
    try:
        with page_checks.visit(context, path.as_uri()) as visit:
            visit.page.wait_for_selector("figure[data-state=ready]")
            yield visit.page
            assert not [fault for fault in visit.faults if "file://" not in fault], visit.faults
    finally:
        context.close()


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def status(page):
    return page.locator("[role=status]").inner_text()


def faults(page):
    """What axe-core finds serious, and what stands out of the page."""
    build.libraries(ROOT, built.BUILD)
    assert built.AXE.is_file(), "axe-core is missing: npm installs it from book/package.json"
    return [*page_checks.overflow(page), *page_checks.axe(page, built.AXE)]
