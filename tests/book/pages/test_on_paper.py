"""The book printed."""

from pages import page_checks
from support import built

CHAPTERS = [f"{page}.html" for page in built.toc() if page.startswith("notebooks/")]


def test_a_cut_line_is_seen(contexts, address):
    with page_checks.visit(contexts["light"], address + CHAPTERS[0]) as seen:
        style = "@media print { .highlight pre { white-space: pre !important; font-size: 40px } }"
        seen.page.add_style_tag(content=style)
        assert any("is cut on paper: PRE" in fault for fault in page_checks.faults_on_paper(seen.page))


def test_the_dark_theme_prints_on_white(contexts, address):
    with page_checks.visit(contexts["dark"], address + CHAPTERS[0]) as seen:
        theme = "document.documentElement.dataset.theme"
        assert seen.page.evaluate(theme) == "dark"
        assert seen.page.evaluate(f"(dispatchEvent(new Event('beforeprint')), {theme})") == "light"
        assert seen.page.evaluate(f"(dispatchEvent(new Event('afterprint')), {theme})") == "dark"
