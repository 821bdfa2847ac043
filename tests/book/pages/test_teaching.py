"""What a chapter does for its reader: the first screen, guesses that are clicked, exercises, what a phone shows."""

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from pages import teaching
from pages.html_checks import Page
from pages.page_checks import visit
from support import built
from support.helpers import ROOT

from rtx_book.sphinx import chapters

CHAPTERS = [f"{page}.html" for page in built.toc() if page.startswith("notebooks/")]
ASSETS = ROOT / "book" / "assets"


@pytest.mark.parametrize("name", CHAPTERS)
def test_guesses(pages, name):
    assert not teaching.guess_faults(pages[name])


@pytest.mark.parametrize("name", CHAPTERS)
def test_exercises(pages, name):
    assert not teaching.exercise_faults(pages[name])


@pytest.mark.parametrize("name", CHAPTERS)
def test_folds_say_what_they_hold(pages, name):
    """The name that a screen reader gives a fold is what is written on it, and no picture waits behind its code."""
    article = pages[name].article
    for fold in article.select("details.hide"):
        summary = fold.find("summary")
        assert not summary.has_attr("aria-label") and summary.get_text(strip=True)
    for cell in article.select(".cell.tag_hide-input"):
        parts = [child.name for child in cell.find_all(["div", "details"], recursive=False)]
        assert parts in (["div", "details"], ["details"], ["div"]), parts


GUESS = (
    '<div class="guess"><p>Which?</p><details name="g-1"><summary>One</summary><p>No.</p></details>'
    '<details name="g-1"><summary>Two</summary><p>Yes.</p></details></div>'
)
SETTLED = '<p><strong>Guess 1 settled.</strong><span class="guess-said" data-guess="g-1"></span> It is two.</p>'
OTHER = GUESS.replace("g-1", "g-2") + SETTLED.replace("g-1", "g-2")


def page_of(tmp_path, body):
    (tmp_path / "page.html").write_text(f"<html><body><article>{body}</article></body></html>")
    return Page(tmp_path, "page.html")


def test_guesses_as_agreed_and_one_that_is_settled_nowhere(tmp_path):
    assert not teaching.guess_faults(page_of(tmp_path, GUESS + SETTLED + OTHER))
    assert teaching.guess_faults(page_of(tmp_path, GUESS + OTHER)) == ["g-1 is settled nowhere"]


def test_results_wrap_and_boxes_show_that_they_scroll(contexts, planted):
    """With the book's style sheet, and not without it."""
    line = "perplexity " * 12
    body = (
        f'<article class="bd-article"><div class="cell_output"><pre><span class="line">{line}</span></pre></div>'
        f'<div class="book-scroll"><table><tr><td style="white-space:nowrap">{line}</td></tr></table></div></article>'
    )
    style = (ASSETS / "book.css").read_text()
    bare = "<style>.book-scroll,pre{overflow-x:auto;width:340px}</style>"
    head = '<meta name="viewport" content="width=device-width">'
    faults = []
    for sheet in (bare, f"<style>{style}</style>{bare}"):
        with visit(contexts["phone"], planted(body, head + sheet)) as seen:
            faults.append((len(teaching.cut_results(seen.page)), len(teaching.unmarked_boxes(seen.page))))
    assert faults == [(1, 1), (0, 0)]


def test_guesses_on_paper(contexts, planted):
    """A printed guess shows its question and all answers, and gives nothing away."""
    style, script = ((ASSETS / name).read_text() for name in ("book.css", "site.js"))
    made = planted(f"{GUESS}{SETTLED}<script>{script}</script>", f"<style>{style}</style>")
    with visit(contexts["light"], made) as seen:
        page = seen.page
        page.locator("summary").nth(1).click()
        assert page.locator(".guess-said").inner_text().strip() == "You said: “Two”."
        assert page.get_by_text("Yes.").is_visible()
        assert page.locator("summary").nth(0).bounding_box()["height"] >= 44
        page.emulate_media(media="print")
        assert not page.get_by_text("Yes.").is_visible()
        assert all(summary.is_visible() for summary in page.locator("summary").all())


def cell(*tags, code="x = 1", output=None, text=None):
    """A code cell as myst-nb makes it."""
    made = nodes.container(nb_element="cell_code", classes=["cell", *(f"tag_{tag}" for tag in tags)])
    mode = {"hide-input": "input", "hide-cell": "all"}
    if hidden := [mode[tag] for tag in tags if tag in mode]:
        made.update_basic_atts({})
        made["hide_mode"], made["prompt_show"], made["prompt_hide"] = hidden[0], "Show", "Hide"
    source = nodes.container(nb_element="cell_code_source", classes=["cell_input"])
    source += nodes.literal_block(code, code)
    made += source
    if output or text:
        box = nodes.container(nb_element="cell_code_output", classes=["cell_output"])
        if output:
            box += nodes.raw("", output, format="html")
        if text:
            box += nodes.literal_block(text, text, classes=["output", "stream"])
        made += box
    return made


def page_with(*cells):
    document = new_document("page", get_default_settings())
    section = nodes.section()
    section += nodes.paragraph("", "The hook.")
    section.extend(cells)
    document += section
    return section


PICTURE = '<figure class="book-fig"><svg></svg></figure>'


def test_the_first_figure_comes_before_the_code():
    setup, hero = cell("hide-input", code="import x", output="<p>computed</p>"), cell("hide-input", output=PICTURE)
    after = cell(output=PICTURE)
    section = page_with(setup, hero, nodes.paragraph("", "After."), after)
    chapters.figure_first([setup, hero, after])
    chapters.fold(hero, chapters.CODE)
    assert [type(child) for child in section.children[1:3]] == [nodes.container, nodes.paragraph]
    assert [part.tagname for part in hero.children] == ["container", "HideCodeCellNode"]
    assert chapters.raw_html(hero) == PICTURE + "<p>computed</p>"
    assert hero.astext().index("import x") < hero.astext().index("x = 1")
    assert section.children[-1] is after


def test_open_code_before_the_first_figure_stays_open_behind_it():
    opened, hero = cell(code="y = 2"), cell("hide-input", output=PICTURE)
    section = page_with(opened, hero)
    chapters.figure_first([opened, hero])
    assert section.children[1:] == [hero, opened]


def test_a_copy_of_a_panel_opens_the_page_with_ids_of_its_own():
    hero, later = cell("hide-input", output=PICTURE), cell("opens", output='<svg id="f1"></svg>')
    section = page_with(hero, later)
    chapters.panel_first([hero, later])
    shown = [chapters.raw_html(node) for node in section.children[1:]]
    assert shown == ['<svg id="opens-f1"></svg>', PICTURE, '<svg id="f1"></svg>']


@pytest.mark.parametrize(
    ("text", "left"), [("not answered yet\n", None), ("a statement\nNot answered yet.\n", "a statement")]
)
def test_the_unanswered_says_nothing(text, left):
    asked = cell("exercise", text=text)
    chapters.forget_the_unanswered(asked)
    output = chapters.part(asked, "output")
    assert (output.astext() if output is not None else None) == left


def test_the_attention_view_by_keyboard(opened, views_address):
    """One Tab stop a side; an arrow goes to the next word and shows its lines alone."""
    page = opened(views_address)
    frame = page.query_selector("iframe.bertviz-frame").content_frame()
    frame.wait_for_selector("svg line", state="attached")
    assert frame.locator("#left [tabindex='0'], #right [tabindex='0']").count() == 2
    frame.locator("#left [tabindex='0']").focus()
    shown = "[...document.querySelectorAll('line[visibility=visible]')].map(e => e.outerHTML).join('')"
    first = frame.evaluate(shown)
    page.keyboard.press("ArrowDown")
    assert frame.evaluate("document.activeElement.getAttribute('aria-label')") == "sequence"
    assert first and frame.evaluate(shown) not in ("", first)
    page.keyboard.press("Tab")
    assert frame.evaluate("document.activeElement.closest('#right') !== null")
