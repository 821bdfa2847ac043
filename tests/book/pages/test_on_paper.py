"""The book printed."""

from pages import page_checks
from support import built

CHAPTERS = [f"{page}.html" for page in built.toc() if page.startswith("notebooks/")]


def test_the_dark_theme_prints_on_white(contexts, address):
    with page_checks.visit(contexts["dark"], address + CHAPTERS[0]) as seen:
        theme = "document.documentElement.dataset.theme"
        assert seen.page.evaluate(theme) == "dark"
        assert seen.page.evaluate(f"(dispatchEvent(new Event('beforeprint')), {theme})") == "light"
        assert seen.page.evaluate(f"(dispatchEvent(new Event('afterprint')), {theme})") == "dark"
