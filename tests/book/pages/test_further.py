"""Sections marked Further: folded, and opened by all that leads into them."""

import pytest
from pages.page_checks import visit
from support.helpers import ROOT
from support.sphinx_page import build_page

TEXT = """Short.

## Further: beams

Here are many words.

### Deeper

<p id="inside">An anchor.</p>

## Further along

Not marked.
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    said, html = build_page(tmp_path_factory.mktemp("further"), "page", "further", TEXT)
    assert not said
    return html


@pytest.fixture
def address(page, planted):
    assets = ROOT / "book" / "assets"
    style, more, script = ((assets / name).read_text() for name in ("book.css", "site.css", "site.js"))
    body = page[page.index('<div class="body"') : page.index('<div class="sphinxsidebar"')]
    code = '<details class="code-fold told" open><summary>Code</summary></details>' * 2
    body += f'<p class="reading-time"></p><div class="cell_input">{code}</div>'
    return planted(f"<main class='bd-article'>{body}</main>", f"<style>{style}{more}</style><script>{script}</script>")


def test_the_fold_holds_the_section_and_nothing_else(page):
    start, end = page.index("<details"), page.index("</details>")
    assert page.index("<h2>Further: beams") < start < page.index("<h3>Deeper") < page.index('id="inside"') < end
    assert page.count("<details") == 1 and end < page.index("Not marked")
    assert "about 10 words" in page[start:end]
    assert page.count('href="#further-beams"') == 2  # its own link and the contents


def test_it_opens_by_keyboard_by_a_link_and_on_paper(contexts, address):
    with visit(contexts["light"], address) as seen:
        words = seen.page.get_by_text("Here are many words")
        assert not words.is_visible() and seen.page.get_by_text("Not marked").is_visible()
        seen.page.locator("summary").first.focus()
        seen.page.keyboard.press("Enter")
        assert words.is_visible()
        seen.page.keyboard.press("Enter")
        assert not words.is_visible()
        seen.page.locator("select").select_option("none")
        seen.page.locator("summary").last.click()
        opened = "[...document.querySelectorAll('details')].map(one => one.open)"
        assert seen.page.evaluate(f"(dispatchEvent(new Event('beforeprint')), {opened})") == [True] * 3
        assert seen.page.evaluate(f"(dispatchEvent(new Event('afterprint')), {opened})") == [False, False, True]


@pytest.mark.parametrize("anchor", ["inside", "further-beams", "deeper"])
def test_a_link_into_it_opens_it(contexts, address, anchor):
    with visit(contexts["phone"], f"{address}#{anchor}") as seen:
        seen.page.get_by_text("Here are many words").wait_for(state="visible", timeout=5000)
    with visit(contexts["light"], address) as seen:
        seen.page.evaluate(f"location.hash = '{anchor}'")
        seen.page.get_by_text("Here are many words").wait_for(state="visible", timeout=5000)


def test_another_link_opens_nothing_and_what_the_search_marks_is_open(contexts, address):
    with visit(contexts["light"], f"{address}#further-along") as seen:
        assert not seen.page.get_by_text("Here are many words").is_visible()
        mark = "document.querySelector('details p').innerHTML = '<span class=highlighted>words</span>'"
        seen.page.evaluate(f"{mark}; dispatchEvent(new Event('load'))")
        assert seen.page.evaluate("document.querySelector('details.further').open")


def test_it_is_open_without_script(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.get_by_text("Here are many words").is_visible()
    context.close()
