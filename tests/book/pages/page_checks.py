"""What a page must be like in a browser. `visit` opens one and collects what goes wrong; the checks return faults."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ElementHandle, Page, Playwright
from support import browser, needs

DESKTOP, PHONE = {"width": 1280, "height": 1000}, {"width": 390, "height": 844}
GITHUB = "reader.github.io"  # answered by the test's own host
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-proxy-server", "--disable-sync"]
ARGUMENTS += ["--disable-background-networking", "--disable-component-update"]
ARGUMENTS += [f"--host-resolver-rules=MAP {GITHUB} 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
PAPER = {"width": 680, "height": 1000}  # A4 between margins of 15 mm, in the pixels of a page that is printed
FAR = 600 + 200  # px below the screen: where no live figure may have asked for anything
TALLEST = 15_000  # px of a picture; beyond 16,384 Chromium repeats the top of the page
COLOURS = ["color-contrast", "link-in-text-block"]  # axe-core's rules whose outcome a theme may change
PATIENCE = 120_000  # milliseconds: a limit for what should take a moment, on a machine that is very busy


def launch(playwright: Playwright) -> Browser:
    """Chromium; the test is left out where there is none."""
    path = browser.find()  # without one Playwright takes the shell that it has beside its browser
    if path is None and not browser.of_playwright(playwright.chromium.executable_path):
        needs.lack("a browser")
    return playwright.chromium.launch(executable_path=path, args=ARGUMENTS, timeout=PATIENCE)


@dataclass
class Visit:
    """A page in the browser, and what it asked for and everything that went wrong since it was opened."""

    page: Page
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def visit(context: BrowserContext, address: str) -> Iterator[Visit]:
    """Open a page; errors in the console, failed requests and requests to elsewhere are its faults."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    seen = Visit(page)

    def request(url: str) -> None:
        seen.requests.append(url)
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob", "about") and parts.hostname not in ("127.0.0.1", GITHUB):
            seen.faults.append(f"request to elsewhere: {url}")

    def failed(url: str, why: str | None) -> None:
        # A page that is left gives up what it still loads, and Chromium now and then says so of a worker's script that
        # it has run. What really fails has another reason, or a figure that is silent.
        if why != "net::ERR_ABORTED":
            seen.faults.append(f"failed: {url} {why}")

    page.on("request", lambda it: request(it.url))
    page.on("console", lambda it: seen.faults.append(f"console: {it.text}") if it.type == "error" else None)
    page.on("pageerror", lambda it: seen.faults.append(f"error in a script: {it}"))
    page.on("requestfailed", lambda it: failed(it.url, it.failure))
    page.on("response", lambda it: seen.faults.append(f"status {it.status}: {it.url}") if it.status >= 400 else None)
    try:
        page.goto(address, wait_until="load")
        yield seen
    finally:
        page.close()


def _script(name: str) -> str:
    return Path(__file__).with_name(f"page-checks-{name}.js").read_text()


# What the picture of an explorer or film looks like now, without the ids that differ from frame to frame.
_PICTURE = """figure => [...figure.querySelectorAll('svg')].filter(e => e.checkVisibility())
  .map(e => e.outerHTML.replace(/(id|clip-path|href)="(?!data:)[^"]*"/g, '')
    .replace(/aria-label="[^"]*"/, '')).join('')"""


def unfold(page: Page) -> None:
    """Open what is folded away: hidden solutions and hidden code."""
    page.evaluate("document.querySelectorAll('details').forEach(e => e.open = true)")


def wake(page: Page) -> list[str]:
    """Come near every live figure that is not folded and wait for its widget; those that stayed pictures."""
    faults = []
    for figure in page.query_selector_all("figure[data-live]:visible"):
        figure.scroll_into_view_if_needed()
        page.wait_for_function("e => ['ready', 'failed'].includes(e.dataset.state)", arg=figure)
        if figure.get_attribute("data-state") != "ready":
            faults.append(f"the live figure {figure.get_attribute('data-live')} stayed a picture")
    return faults


def small_text(page: Page) -> list[str]:
    """Words in live figures that are smaller than 10 px on this screen."""
    return page.evaluate(_script("small"))


def broken_pictures(page: Page) -> list[str]:
    return page.evaluate(_script("pictures"))


def maths_faults(page: Page) -> list[str]:
    """Formulas that are still source text, or that MathJax could not set when the site was built."""
    return page.evaluate(_script("maths"))


def overflow(page: Page) -> list[str]:
    """The page must not scroll sideways, and nothing of the article may stand outside it where nobody can scroll to."""
    return page.evaluate(Path(__file__).with_name("overflow.js").read_text())


def axe(page: Page, script: Path, kinds: str = "both") -> list[str]:
    """Findings of axe-core that are serious or critical, in the page and in its frames. It changes the page's code.

    `kinds` are the rules: of "colours", which take most of the time, the "rest", or "both".
    """
    for frame in page.frames:
        frame.add_script_tag(path=script)
    return page.evaluate(_script("axe"), [COLOURS, kinds])


def invisible_focus(page: Page, stops: int) -> list[str]:
    """Elements among the first `stops` of the Tab key that look the same with the focus and without it."""
    page.add_style_tag(content="*, *::before, *::after { transition: none !important }")
    faults, seen = [], 0
    for _ in range(stops):
        page.keyboard.press("Tab")
        if state := page.evaluate(_script("focus")):
            seen += 1
            if not state["visible"]:
                faults.append(f"no sign of the focus: {state['name']}")
    return faults if seen else ["the Tab key leads nowhere"]


def state(figure: ElementHandle) -> tuple[str, str, str]:
    """What an explorer or film says and shows: its output, the text for screen readers, the picture."""
    slider, output = figure.query_selector("input[type=range]"), figure.query_selector("output")
    assert slider and output, "an explorer has a slider and says where it stands"
    return output.inner_text(), slider.get_attribute("aria-valuetext") or "", figure.evaluate(_PICTURE)


def explorer_faults(page: Page, figure: ElementHandle) -> list[str]:
    """Move the slider by keyboard, one step: its text, its value for screen readers and the picture must follow."""
    slider = figure.query_selector("input[type=range]")
    if slider is None:
        return ["no slider"]
    before, value = state(figure), slider.input_value()
    last = value == slider.get_attribute("max")
    slider.focus()
    page.keyboard.press("ArrowLeft" if last else "ArrowRight")
    page.wait_for_function("([slider, value]) => slider.value !== value", arg=[slider, value])
    after, names = state(figure), ("text", "aria-valuetext", "picture")
    faults = [f"{name} did not change" for name, a, b in zip(names, before, after, strict=True) if a == b]
    return faults + ([f"says {after[0]!r} and {after[1]!r}"] if after[0] != after[1] else [])


def dead_explorers(page: Page) -> list[str]:
    """What the page's explorers and films do not do; it must have one, or a live figure."""
    figures = page.query_selector_all(".book-explorer, .book-film")
    faults = [fault for figure in figures for fault in explorer_faults(page, figure)]
    lives = figures or page.query_selector("figure[data-live]")
    return faults if lives else ["no explorer, no film and no live figure"]


def controls_without_focus(page: Page) -> list[str]:
    """Controls of the book itself that look the same with the focus of the keyboard."""
    faults = []
    boxes = ".book-scroll:not(.live-still *)"  # a still is out of sight once its figure has started
    for control in page.query_selector_all(f".book-control input, .book-control button, {boxes}"):
        if control.get_attribute("type") == "radio":
            control.check()  # of a group the Tab key reaches this one alone
        control.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        look = "e => e === document.activeElement && getComputedStyle(e).outlineStyle"
        if control.evaluate(look) in (False, "none"):
            faults.append(f"no sign of the focus: {control.evaluate('e => e.outerHTML')[:120]}")
    return faults


def _of_live_figures(seen: Visit) -> list[str]:
    return [url.partition("?")[0] for url in seen.requests if "/_static/live/" in url]


def loaded_early(seen: Visit) -> list[str]:
    """Files of live figures that were asked for when all of these are far below the screen."""
    figures = "[...document.querySelectorAll('figure[data-live]')]"
    tops = seen.page.evaluate(f"{figures}.map(e => e.getBoundingClientRect().top)")
    if min(tops, default=0) <= DESKTOP["height"] + FAR:
        return []
    seen.page.wait_for_timeout(300)
    return [f"{url} was loaded before the reader came near" for url in _of_live_figures(seen)]


def loaded_twice(seen: Visit) -> list[str]:
    """Once its live figures are awake, a page has loaded something for them, and each file once."""
    loaded, figures = _of_live_figures(seen), seen.page.query_selector("figure[data-live]")
    if bool(loaded) != bool(figures):
        return ["nothing was loaded for live figures" if figures else f"no live figure, and files of them: {loaded}"]
    return [f"{url} was loaded twice" for url in sorted({url for url in loaded if loaded.count(url) > 1})]


def faults_on_paper(page: Page) -> list[str]:
    """Live figures that do not print as pictures; lines, tables and figures that paper cuts; buttons on it."""
    page.emulate_media(media="print")
    faults = page.evaluate(_script("still"))
    page.set_viewport_size(PAPER)
    faults += page.evaluate(_script("cut"))
    if page.locator(".prev-next-area:visible, .copybtn:visible").count():
        faults.append("a button on paper")
    page.set_viewport_size(DESKTOP)
    page.emulate_media(media="screen")
    return faults


def screenshots(page: Page, folder: Path, name: str) -> None:
    """The whole page in `folder`, as few pictures as the browser can take: each costs a drawing of the whole page."""
    folder.mkdir(parents=True, exist_ok=True)
    height = page.evaluate("document.documentElement.scrollHeight")
    width = page.viewport_size["width"]
    for part, top in enumerate(range(0, height, TALLEST), start=1):
        clip = {"x": 0, "y": top, "width": width, "height": min(TALLEST, height - top)}
        page.screenshot(path=folder / f"{name}-{part}.png", full_page=True, clip=clip, animations="disabled")
