"""Live figures on the built site: what a page loads and when, how much it is, what paper gets."""

import json
import re

from support import built

NAMES = [f"{page}.html" for page in built.toc()]
CHAPTERS = [name for name in NAMES if name.startswith("notebooks/")]
LARGEST_WEIGHTS = 1_000_000  # bytes of a page
LOADER = "live-loader.js"


def figures(page):
    return page.soup.select("figure[data-live]")


def weights(page):
    """Files of the weights that a page's figures name."""
    named = {digest for figure in figures(page) for digest in json.loads(figure["data-weights"]).values()}
    return [page.site / "_static" / "live" / f"weights-{digest}.js" for digest in sorted(named)]


def test_the_first_page_and_the_chapters_have_something_to_play_with(pages):
    without = [name for name in (NAMES[0], *CHAPTERS) if not figures(pages[name])]
    assert not without


def test_a_page_carries_its_figures_and_nothing_of_what_makes_them_live(pages):
    for name in NAMES:
        text = (pages[name].site / name).read_text(encoding="utf-8")
        assert "data-part=" not in text and "RTX.part(" not in text, name
        assert (LOADER in text) == bool(figures(pages[name])), f"{name} loads the scripts of live figures"
        assert not re.search(r"<(?:script|link)[^>]*_static/live/", text), name


def test_weights_are_there_once_and_not_too_many(pages):
    there = {path for path in (pages[NAMES[0]].site / "_static" / "live").glob("weights-*.js")}
    named = {path for name in NAMES for path in weights(pages[name])}
    assert there == named
    for name in NAMES:
        size = sum(path.stat().st_size for path in weights(pages[name]))
        assert size <= LARGEST_WEIGHTS, f"{name}: {size / 1000:.0f} kB of weights"


def test_scripts_of_the_figures_are_those_of_the_library(pages):
    from rtx_book.page import live

    folder = pages[NAMES[0]].site / "_static" / "live"
    for page in pages.values():
        for figure in figures(page):
            for part in figure["data-parts"].split():
                assert (folder / f"{part}.js").read_text() == (live.folder() / f"{part}.js").read_text()
