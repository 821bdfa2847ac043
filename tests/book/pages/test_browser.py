"""Every page in Chromium: in both themes and at phone width, by keyboard, without any request to elsewhere."""

import os
import re
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from pages import page_checks, teaching
from pages.page_checks import GITHUB, visit
from playwright.sync_api import Error, expect
from support import built
from support.helpers import ROOT

NAMES = [*(f"{page}.html" for page in built.toc()), "search.html", "404.html"]
CHAPTERS = [name for name in NAMES if name.startswith("notebooks/")]
FILMS = [name for name in CHAPTERS if "film(" in (ROOT / name).with_suffix(".ipynb").read_text(encoding="utf-8")]
SCREENSHOTS = ROOT / "_build" / "screenshots"
ALL_PICTURES = os.environ.get("RTX_SCREENSHOTS") == "1"  # else of pages with a fault: a picture takes seconds
WEEKLY = [pytest.param(look, marks=pytest.mark.weekly) for look in ("dark", "phone", "colours")]
LOOKS = ["light", *WEEKLY]  # "colours": in light, what axe-core says of them, which is most of the time of a page
COLOURED = {NAMES[0], CHAPTERS[0], "book/records.html", "book/api/plots.html"}  # in every push
# Pages of the reference are alike: two of them in every push.
OFTEN = [name for name in NAMES if not name.startswith("book/api/")] + ["book/api/models.html", "book/api/plots.html"]
SELDOM = [pytest.param(name, marks=pytest.mark.weekly) for name in NAMES if name not in OFTEN]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", OFTEN + SELDOM)
def test_page(contexts, address, axe_script, name, look):
    """No error, no request to elsewhere, no broken picture or formula, nothing too wide, nothing axe-core minds.

    What must be seen of a page just opened comes first, what changes its code last: to open a page takes seconds.
    """
    chapter = name in CHAPTERS
    alive = chapter and name != "notebooks/orders.html"  # its opener is the page's own
    with visit(contexts["light" if look == "colours" else look], address + name) as seen:
        page, picture = seen.page, f"{name.removesuffix('.html').replace('/', '-')}-{look}"
        if name != "404.html":
            theme = page.evaluate("document.documentElement.dataset.theme")
            assert theme == ("dark" if look == "dark" else "light")
        faults = page_checks.loaded_early(seen) if look == "light" else []
        if chapter and look == "light":
            page.set_viewport_size(teaching.SCREEN)
            faults += teaching.first_screen(page, live=alive)
            page.set_viewport_size(page_checks.DESKTOP)
            faults += teaching.forgotten_guesses(seen)
        if look == "phone" and name != "404.html":
            faults += teaching.small_texts(page) + teaching.cut_results(page) + teaching.unmarked_boxes(page)
        faults += page_checks.broken_pictures(page) + page_checks.maths_faults(page)
        if ALL_PICTURES:
            page_checks.screenshots(page, SCREENSHOTS, picture)
        if look == "light":
            faults += page_checks.invisible_focus(page, stops=25) + page_checks.wake(page)
            faults += page_checks.faults_on_paper(page)
        page_checks.unfold(page)
        faults += page_checks.wake(page) + page_checks.overflow(page) + page_checks.small_text(page)
        if look == "light":
            faults += page_checks.loaded_twice(seen) + page_checks.controls_without_focus(page)
            faults += teaching.silent_fields(page)
        if chapter and look in ("light", "phone"):
            faults += page_checks.dead_explorers(page)
        page.mouse.move(0, 0)  # a link below the mouse has another colour
        if look != "phone":  # the themes differ in colours only, and the phone in neither
            kinds = "colours" if look != "light" else "both" if name in COLOURED else "rest"
            faults += page_checks.axe(page, axe_script, kinds)
        if look == "light":  # a window as narrow as a phone; the phone itself is looked at weekly
            page.set_viewport_size(page_checks.PHONE)
            faults += page_checks.overflow(page)
            faults += teaching.first_screen(page) if alive else []
        faults += seen.faults
        if faults and not ALL_PICTURES:
            page_checks.screenshots(page, SCREENSHOTS, picture)
        assert not faults


@pytest.fixture
def place(address, views_address):
    """The address of a page, that of the tests among them."""
    return lambda name: views_address if name == "views" else address + name


@pytest.mark.parametrize("look", LOOKS[:3])
def test_page_of_the_tests(opened, views_address, axe_script, look):
    """The same for what no chapter shows yet: attention views, which draw other lines for another layer.

    Explorers and films move by keyboard: the text, the value for screen readers and the picture follow.
    """
    page = opened(views_address, look)
    frames = [frame.content_frame() for frame in page.query_selector_all("iframe.bertviz-frame")]
    assert len(frames) == 2
    for frame in frames:
        frame.wait_for_selector("svg line", state="attached")
    faults = page_checks.broken_pictures(page) + page_checks.overflow(page)
    if look != "dark":
        faults += page_checks.dead_explorers(page)
    if look != "phone":
        faults += page_checks.axe(page, axe_script)
    page_checks.screenshots(page, SCREENSHOTS, f"views-{look}")
    assert not faults
    lines = "[...document.querySelectorAll('svg line')].map(e => e.outerHTML).join('')"
    before = frames[0].evaluate(lines)
    frames[0].select_option("select#layer", index=1)
    frames[0].wait_for_function(f"before => {lines} !== before", arg=before)


@contextmanager
def visit_with_a_clock(browser, address, **settings):
    """A visit to a page whose clock, once it is loaded, stands still unless the test moves it."""
    context = browser.new_context(viewport=page_checks.DESKTOP, **settings)
    context.clock.install(time=0)
    with visit(context, address) as seen:
        seen.page.clock.pause_at(3600)
        yield seen
    context.close()


def test_film_plays_and_pauses(browser, views_address):
    with visit_with_a_clock(browser, views_address) as seen:
        page, film = seen.page, seen.page.locator(".book-film").first
        slider, button, output = film.locator("input"), film.locator("button"), film.locator("output")
        before = page_checks.state(film.element_handle())
        assert slider.input_value() == "29", "a film opens at its last frame, of which its title speaks"
        page.clock.run_for(3000)
        assert slider.input_value() == "29", "a film does not start by itself"
        button.focus()
        page.keyboard.press("Enter")
        expect(button).to_have_text("Pause")
        page.clock.run_for(2000)
        place = int(slider.input_value())
        assert 5 < place < 29
        assert output.inner_text() == slider.get_attribute("aria-valuetext") == f"shift {place}"
        assert page_checks.state(film.element_handle())[2] != before[2]
        page.keyboard.press("Enter")
        expect(button).to_have_text("Play")
        place = slider.input_value()
        page.clock.run_for(5000)
        assert slider.input_value() == place, "a paused film stands still"
        button.click()
        page.clock.run_for(20_000)
        expect(button).to_have_text("Play")
        assert slider.input_value() == "29", "a film ends at its last frame"
        assert not seen.faults


@pytest.mark.parametrize("name", [*FILMS, "views"])
def test_films_of_readers_who_ask_for_less_motion(browser, place, name):
    """No Play button, nothing moves by itself, and the slider still works."""
    with visit_with_a_clock(browser, place(name), reduced_motion="reduce") as seen:
        page = seen.page
        page_checks.unfold(page)
        for film in page.query_selector_all(".book-film"):
            assert not any(button.is_visible() for button in film.query_selector_all("button"))
            before = page_checks.state(film)
            page.clock.run_for(3000)
            assert page_checks.state(film) == before
            assert not page_checks.explorer_faults(page, film)
        assert not seen.faults


def test_theme_button_by_keyboard(browser, address):
    """The Tab key reaches the button; it goes through the themes; figures take the page's ink along."""
    context = browser.new_context(viewport=page_checks.DESKTOP, color_scheme="light")
    page = context.new_page()
    page.goto(address + CHAPTERS[0])
    there = "document.activeElement.classList.contains('theme-switch-button')"
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate(there):
            break
    else:
        raise AssertionError("the Tab key does not reach the theme button")
    ink = "getComputedStyle(document.querySelector('.book-fig svg')).color"
    found = {}
    for _ in range(3):
        mode = page.evaluate("document.documentElement.dataset.mode")
        page.keyboard.press("Enter")
        page.wait_for_function("mode => document.documentElement.dataset.mode !== mode", arg=mode)
        page.wait_for_function(there)
        found[page.evaluate("document.documentElement.dataset.theme")] = page.evaluate(ink)
    assert set(found) == {"light", "dark"} and found["light"] != found["dark"]
    context.close()


def test_the_dark_theme_prints_on_white(contexts, address):
    with visit(contexts["dark"], address + CHAPTERS[0]) as seen:
        theme = "document.documentElement.dataset.theme"
        assert seen.page.evaluate(theme) == "dark"
        assert seen.page.evaluate(f"(dispatchEvent(new Event('beforeprint')), {theme})") == "light"
        assert seen.page.evaluate(f"(dispatchEvent(new Event('afterprint')), {theme})") == "dark"
    with visit(contexts["dark"], address + "book/notation_sheet.html") as seen:
        assert len(re.findall(rb"/Type /Page\b", seen.page.pdf(format="A4"))) == 1


def test_focus_is_visible_on_the_page_of_the_tests(opened, views_address):
    """The first stops of the Tab key, and every control of the book itself."""
    page = opened(views_address)
    faults = page_checks.invisible_focus(page, stops=25)
    page_checks.unfold(page)
    assert not faults + page_checks.controls_without_focus(page)


@pytest.mark.parametrize("words", ["__proto__ constructor", "'\"<zqx>"])
def test_search_says_what_it_finds_whatever_the_word(opened, address, words):
    results = opened(f"{address}search.html?q={quote(words)}").locator("#search-results")
    expect(results).to_contain_text(re.compile("did not match any|finished, found"))
    assert not results.locator("a[href^=undefined]").count()


def test_search_opens_by_keyboard_and_says_when_it_finds_nothing(opened, address):
    page = opened(address + CHAPTERS[0])
    page.keyboard.press("Control+k")
    field = page.locator("#pst-search-dialog input[type=search]")
    expect(field).to_be_focused()
    field.fill("xylophonist")
    field.press("Enter")
    page.wait_for_url("**/search.html?q=xylophonist*")
    expect(page.locator("#search-results")).to_contain_text("did not match any")


def from_a_file(context, path):
    """What goes wrong when a page is opened by a double click: its own files are not requests to elsewhere."""
    with visit(context, path.as_uri()) as seen:
        faults = page_checks.wake(seen.page) + seen.faults
        return [fault for fault in faults if not fault.startswith("request to elsewhere: file:")]


@pytest.mark.parametrize("name", [NAMES[0], CHAPTERS[-1], "book/results.html"])
def test_a_page_opened_from_a_file_has_no_error(contexts, site, name):
    assert not from_a_file(contexts["light"], site.folder / name)


def test_an_error_of_pages_from_files_alone_is_seen(contexts, tmp_path):
    (page := tmp_path / "page.html").write_text("<script>if (location.protocol === 'file:') gone()</script>")
    assert from_a_file(contexts["light"], page) == ["error in a script: gone is not defined"]


@pytest.mark.parametrize("path", ["gone.html", "notebooks/deep/er/gone.html"])
def test_a_missing_address_shows_a_page_that_leads_back(contexts, address, path):
    """On GitHub Pages, where the book lies one folder down."""
    host = address.replace("127.0.0.1", GITHUB)
    with visit(contexts["dark"], host + path) as seen:
        page = seen.page
        expect(page.locator("h1")).to_have_count(1)
        assert not [fault for fault in seen.faults if path not in fault and "status of 404" not in fault]
        with page.expect_navigation(url=re.compile(built.toc()[0])):
            page.locator("a#home").click()
        expect(page.locator("h1").first).to_be_visible()


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("<script>throw new Error('planted')</script>", "error in a script: planted"),
        ("<script src='gone.js'></script>", "status 404"),
        ("<iframe srcdoc=\"<img src='https://example.org/a.png' alt='a'>\"></iframe>", "request to elsewhere"),
    ],
)
def test_a_planted_fault_is_seen(contexts, planted, body, fault):
    with visit(contexts["light"], planted(body)) as seen:
        seen.page.evaluate("fetch(location.href)")  # an answer later than everything the page asked for before
        assert any(fault in found for found in seen.faults), seen.faults


# A check, a page, and words of the fault that it finds there.
BUTTON, UNSEEN = "<button>Play</button>", "<style>:focus {outline: none !important}</style>"
WIDE = "<p style='width: 1600px'>wide</p>"
PALE = "<p style='color: #999; background: #fff'>pale</p>"
FRAME = "<iframe title='frame' srcdoc='<html lang=en><title>a</title><button></button>'></iframe>"
DEAD = (
    "<figure class='book-explorer'><input type='range' max='2' value='0' aria-valuetext='a = 0' oninput=\""
    "const f = this.closest('figure'), text = 'a = ' + this.value;f.querySelector('output').textContent = text;"
    "this.setAttribute('aria-valuetext', text)\"><output>a = 0</output><svg><text>0</text></svg></figure>"
)
LIVE = "<figure data-live='a' data-state='ready' style='margin-top:{}px'><svg></svg></figure>"
LOADS = "<script src='/_static/live/a.js'></script>"
STILL, BODY = "<div class='live-still'><svg height='9' width='9'></svg></div>", "<div class='live-body'>words</div>"
PLANTED = [
    (page_checks.overflow, f"<div style='overflow: hidden'>{WIDE}</div>", "stands out"),
    (page_checks.invisible_focus, UNSEEN + BUTTON, "no sign of the focus"),
    (page_checks.axe, FRAME, "button-name"),
    (page_checks.axe, PALE, "color-contrast"),
    (page_checks.dead_explorers, DEAD, "picture did not change"),
    (page_checks.loaded_early, LIVE.format(9000) + LOADS, "before the reader came near"),
    (page_checks.loaded_twice, LIVE.format(0) + LOADS + "<script>fetch('/_static/live/a.js')</script>", "loaded twice"),
    (page_checks.loaded_twice, LIVE.format(0), "nothing was loaded"),
    (page_checks.faults_on_paper, f"<figure data-live='a'>{STILL}{BODY}</figure>", "on paper"),
    (page_checks.faults_on_paper, "<div class='prev-next-area'>Next</div>", "a button on paper"),
    (page_checks.broken_pictures, "<img src='data:image/png;base64,AAAA' alt='a'>", "broken picture"),
    (page_checks.maths_faults, "<span class='math'>\\(a\\)</span>", "not set"),
    (page_checks.small_text, "<div class='live-body'><p style='font-size: 8px'>words</p></div>", "8.0 px: words"),
    (page_checks.wake, LIVE.replace("ready", "failed").format(0), "stayed a picture"),
    (page_checks.controls_without_focus, f"{UNSEEN}<div class='book-control'>{BUTTON}</div>", "no sign of the focus"),
    (teaching.silent_fields, "<div class='book-ask'><p role='status'>Right.</p></div>", "speaks first"),
    (teaching.first_screen, "<figure class='book-fig'>words</figure>", "does not live"),
    (teaching.small_texts, "<figure><svg><text y='9' style='font-size: 5px'>words</text></svg></figure>", "5.0 px"),
]
WHOLE = {page_checks.loaded_early, page_checks.loaded_twice}  # of a visit, not of its page alone
MORE = {page_checks.invisible_focus: {"stops": 1}, page_checks.axe: {"script": built.AXE}}


@pytest.mark.parametrize(("check", "body", "fault"), PLANTED)
def test_a_planted_mistake_is_seen(contexts, planted, axe_script, check, body, fault):
    with visit(contexts["light"], planted(f"<main><h1>Title</h1><article>{body}</article></main>")) as seen:
        found = check(seen if check in WHOLE else seen.page, **MORE.get(check, {}))
    assert fault in " ".join(found), found


def test_the_browser_reaches_nothing_but_this_machine(contexts):
    with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"), visit(contexts["light"], "http://example.org/"):
        pass
