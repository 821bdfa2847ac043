"""The search page in Chromium: a reader who looks for a word finds the chapter before the function."""

import re

import pytest
from pages import page_checks
from playwright.sync_api import expect
from support import built

CHAPTERS = [f"{page}.html" for page in built.toc() if page.startswith("notebooks/")]


@pytest.fixture
def found(opened, address):
    """The addresses of the results for some words, best first, and their texts."""

    def search(words):
        page = opened(f"{address}search.html?q={words}")
        page.wait_for_selector("#search-results li > a")
        page.wait_for_function("document.querySelector('.search-summary')?.textContent.includes('found')")
        links = page.query_selector_all("#search-results li > a")
        return [(link.get_attribute("href").split("?")[0].split("#")[0], link.inner_text()) for link in links]

    return search


# Of some words a certain chapter, of the others any.
LEADS = {"forget bias": "gates", "copy memory": "gates", "gradient clipping": "vanishing_gradients"}


@pytest.mark.parametrize("words", [*LEADS, "perplexity", "relative positions", "truncated backpropagation"])
def test_words_of_the_book_lead_to_a_chapter_first(found, words):
    results = [page for page, _ in found(words)]
    assert results[0] in ([f"notebooks/{LEADS[words]}.html"] if words in LEADS else CHAPTERS), results[:4]
    api = [place for place, page in enumerate(results) if page.startswith("book/api")]
    rest = [place for place, page in enumerate(results) if page in CHAPTERS]
    assert not api or max(rest) < min(api), results


def test_a_term_is_explained_in_second_place(found):
    assert found("perplexity")[1] == ("book/glossary.html", "Glossary > Perplexity")


def test_a_function_is_found_by_its_name(found):
    assert found("warmup_cosine")[0][0].startswith(("book/api/training", "notebooks/"))
    assert any("rtx_lib.training" in name for _, name in found("warmup_cosine"))


def test_results_say_what_the_pages_show_where_pages_come_from_files(contexts, site):
    with page_checks.visit(contexts["light"], f"{(site.folder / 'search.html').as_uri()}?q=recurrence") as seen:
        chapter = seen.page.locator("#search-results li", has=seen.page.locator("a[href^='notebooks/vanishing']")).first
        expect(chapter.locator("p")).to_have_text(re.compile("film of the gradient"))
