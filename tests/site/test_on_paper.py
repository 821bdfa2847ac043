"""The book away from the screen: printed, and as an EPUB."""

import epub_check
import page_checks
import pytest
from support import built

CHAPTERS = [f"{page}.html" for page in built.toc() if page.startswith("notebooks/")]
PAPER = {"width": 680, "height": 1000}  # A4 between margins of 15 mm, in the pixels of a page that is printed


@pytest.fixture
def printed(browser, address):
    """A chapter as it is laid out for paper."""
    context = browser.new_context(viewport=PAPER)
    context.set_default_timeout(page_checks.PATIENCE)

    def lay_out(name):
        page = context.new_page()
        page.goto(address + name)
        page.emulate_media(media="print")
        return page

    yield lay_out
    context.close()


@pytest.mark.parametrize("name", CHAPTERS)
def test_no_line_of_code_and_no_table_is_cut(printed, name):
    page = printed(name)
    cut = page.evaluate("""() => {
      const over = e => e.scrollWidth > e.clientWidth + 2 || e.getBoundingClientRect().right > innerWidth + 2
      return [...document.querySelectorAll('main pre, main table, main figure')]
        .filter(e => e.checkVisibility() && over(e)).map(e => `${e.tagName}: ${e.textContent.slice(0, 60)}`)
    }""")
    assert not cut
    assert page.locator(".prev-next-area:visible, .copybtn:visible").count() == 0


def test_a_cut_line_is_seen(printed):
    page = printed(CHAPTERS[0])
    page.add_style_tag(content="@media print { .highlight pre { white-space: pre !important; font-size: 40px } }")
    assert page.evaluate("[...document.querySelectorAll('main pre')].some(e => e.scrollWidth > e.clientWidth + 2)")


def test_the_dark_theme_prints_on_white(contexts, address):
    with page_checks.visit(contexts["dark"], address + CHAPTERS[0]) as seen:
        theme = "document.documentElement.dataset.theme"
        assert seen.page.evaluate(theme) == "dark"
        assert seen.page.evaluate(f"(dispatchEvent(new Event('beforeprint')), {theme})") == "light"
        assert seen.page.evaluate(f"(dispatchEvent(new Event('afterprint')), {theme})") == "dark"


@pytest.mark.slow
def test_the_whole_book_is_an_epub_without_a_fault(site):
    """The command that `make epub` calls, on the notebooks that this run has executed."""
    run = built.build("epub", "--profile", "smoke", folder=built.BUILD)
    assert run.returncode == 0, run.stdout + run.stderr
    book = built.BUILD / "book.epub"
    assert not epub_check.faults(book)
    assert 200_000 < book.stat().st_size < 8_000_000
