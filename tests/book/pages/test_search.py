"""The search page in Chromium: who looks for a word finds the place that explains it, said in a sentence."""

import re
from urllib.parse import quote

import pytest
from pages import page_checks
from playwright.sync_api import expect
from support import built

CHAPTERS = [f"{page}.html" for page in built.toc() if page.startswith("notebooks/")]


@pytest.fixture
def found(opened, address):
    """The addresses of the results for some words, best first, their titles and what is said of them."""

    def search(words):
        page = opened(f"{address}search.html?q={quote(words)}")
        expect(page.locator(".search-summary")).to_contain_text("found")
        parts = "[e.firstChild.getAttribute('href'), e.firstChild.textContent, e.lastChild.textContent]"
        results = page.locator("#search-results li").evaluate_all(f"all => all.map(e => {parts})")
        page.close()
        return [(link.split("#")[0], title, said) for link, title, said in results]

    return search


WANTED = {  # what a reader types, and the chapter that is meant
    "attention": ["beam search", "image captions"],
    "gates": ["forget gate", "forget bias", "copy memory"],
    "hybrids": ["induction head"],
    "language_models": ["perplexity", "byte pair encoding", "nucleus sampling"],
    "orders": ["XLNet"],
    "parallel": ["QRNN"],
    "positions": ["rotary", "ALiBi", "relative position"],
    "pretraining": ["LoRA", "word2vec", "masked language model"],
    "reading": ["ByteNet"],
    "recurrence": ["teacher forcing", "truncated backpropagation"],
    "recurrence_returns": ["the delta rule"],
    "state_space": ["\u0394", "selective scan"],
    "time_series": ["MASE"],
    "transformer": ["padding mask", "label smoothing", "speculative decoding"],
    "transformer_xl": ["RECL"],
    "vanishing_gradients": ["exploding gradients", "gradient clipping"],
}


@pytest.mark.parametrize("chapter", WANTED)
def test_words_lead_to_the_chapter_that_is_meant(found, chapter):
    for words in WANTED[chapter]:
        results = found(words)
        pages = [page for page, _, _ in results]
        assert pages[0] == f"notebooks/{chapter}.html", f"{words}: {pages[:4]}"
        assert re.search(r"[.!?:][\u201d\")]?$", results[0][2]) and "\\" not in results[0][2], results[0]
        api = [place for place, page in enumerate(pages) if page.startswith("book/api")]
        assert not api or max(place for place, page in enumerate(pages) if page in CHAPTERS) < min(api), words


def test_a_term_is_explained_in_second_place(found):
    assert found("perplexity")[1][:2] == ("book/glossary.html", "Glossary > Perplexity")


def test_a_function_is_found_by_its_name(found):
    assert any(title.startswith("rtx_lib.training") for _, title, _ in found("warmup_cosine")[:2])


def test_the_search_works_where_pages_come_from_files(contexts, site):
    with page_checks.visit(contexts["light"], f"{(site.folder / 'search.html').as_uri()}?q=a+Model+of") as seen:
        expect(seen.page.locator("#search-results p.context").first).to_contain_text(re.compile("model", re.I))
        expect(seen.page.locator(".search-summary")).to_contain_text("found the best 40 of ")
        assert seen.page.evaluate("localStorage.sphinx_highlight_terms") == "model", "on the next page"
