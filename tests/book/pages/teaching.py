"""What a chapter's page must do for a reader. Each check takes a page and returns its faults, one text each."""

import re
from pathlib import Path

from pages.html_checks import Page as Html
from pages.page_checks import PATIENCE, PHONE, Visit
from playwright.sync_api import Page, expect

SCREEN = {"width": 1280, "height": 800}
LEAST_TEXT = 10  # px of a figure's text on a phone
FEWEST_GUESSES, ANSWERS = 2, (2, 4)
GRADE = re.compile(r"^(Easy|Medium|Hard|An experiment)\b.*\.$")
EXPERIMENT, ON_THE_PAGE = re.compile("an experiment: predict first", re.I), "no Python needed"

# The first figure of the article, whatever draws it; what a live one draws, of which the largest counts.
_FIGURE = ".book-fig, .book-live"
_DRAWN = """svg:not(.live-swatch), canvas, .live-gates table, .live-digit, .live-write-text, [class$=-strip],
  .words-written, .story-reads"""

_FIRST_SCREEN = Path(__file__).with_name("teaching-first-screen.js").read_text()

# The size on the screen of every text of a figure that is seen, by its largest part: exponents are smaller.
_TEXTS = Path(__file__).with_name("teaching-texts.js").read_text()


def first_screen(page: Page, live: bool = True) -> list[str]:
    """On 1280 x 800: title, finding, no code before, and the first figure: alive, its drawing whole."""
    if live and page.locator(_FIGURE).first.get_attribute("data-live") is None:
        return ["the first figure does not live"]
    if live:
        expect(page.locator(_FIGURE).first).to_have_attribute("data-state", "ready", timeout=PATIENCE)
    seen = page.evaluate(_FIRST_SCREEN, [_FIGURE, _DRAWN])
    if page.viewport_size == PHONE:  # a finger's width of the drawing
        begins = seen["begins"] or PHONE["height"]
        return [] if begins + 44 <= PHONE["height"] else [f"on a phone the first figure draws from {begins:.0f} px on"]
    if seen["figure"] is None:
        return ["no figure"]
    faults = [f"{seen['folds']} pieces of code before the first figure"] if seen["folds"] else []
    if not seen["title"]:
        faults.append("the first figure has no title")
    elif len(seen["said"].split()) < 4:
        faults.append(f"the title of the first figure is no finding: {seen['said']!r}")
    if live and (seen["blank"] or seen["drawing"] is None):
        faults.append("the first figure shows nothing before it is touched")
    for name in ("h1", "title", "drawing" if live else "figure"):
        if (seen[name] or 0) > SCREEN["height"]:
            faults.append(f"the {name} ends at {seen[name]:.0f} px, the screen at {SCREEN['height']}")
    return faults


def small_texts(page: Page) -> list[str]:
    """Figures whose text is too small, each with its smallest text."""
    least: dict[str, tuple[float, str]] = {}
    for figure, text, size in page.evaluate(_TEXTS):
        least[figure] = min(least.get(figure, (size, text)), (size, text))
    small = [(figure, size, text) for figure, (size, text) in least.items() if size < LEAST_TEXT - 0.05]
    return [f"{size:.1f} px, at least {LEAST_TEXT}: {text!r} in {figure!r}" for figure, size, text in small]


def cut_results(page: Page) -> list[str]:
    """Printed results that a phone does not show whole."""
    script = """() => [...document.querySelectorAll('article .cell_output pre')]
      .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)
      .map(e => e.textContent.trim().slice(0, 60))"""
    return [f"a printed result is cut: {text!r}" for text in page.evaluate(script)]


def unmarked_boxes(page: Page) -> list[str]:
    """What scrolls sideways and does not say so: no background that changes as it is scrolled. Code is code."""
    script = """() => [...document.querySelectorAll('article *')].filter(e => {
      const look = getComputedStyle(e)
      return e.checkVisibility() && ['auto', 'scroll'].includes(look.overflowX) && e.scrollWidth > e.clientWidth + 4
        && !e.closest('pre, .math, mjx-container') && !look.backgroundAttachment.includes('local')
    }).map(e => `${e.tagName}.${e.className}`.slice(0, 80))"""
    return [f"scrolls sideways without a cue: {text}" for text in page.evaluate(script)]


def forgotten_guesses(seen: Visit) -> list[str]:
    """By keyboard; the first click is the guess, said where it is settled; stored nowhere, and gone on reload."""
    page, faults = seen.page, list[str]()
    kept = page.evaluate("JSON.stringify({...localStorage})")
    for guess in page.locator(".guess").all():
        summaries = guess.locator("summary")
        name = guess.locator("details").first.get_attribute("name")
        summaries.nth(1).focus()
        page.keyboard.press("Enter")
        summaries.nth(0).click()
        if guess.locator("details[open]").count() != 1:
            faults.append(f"{name}: another answer does not close the first")
        settled = "".join(page.locator(f'.guess-said[data-guess="{name}"]').all_inner_texts()[:1])
        if summaries.nth(1).inner_text().strip() not in settled:
            faults.append(f"{name}: what was clicked first is not said where it is settled")
        if guess.locator("details.guessed").count() != 1:
            faults.append(f"{name}: the guess is not marked")
    if page.evaluate("JSON.stringify({...localStorage})") != kept:
        faults.append("a guess was stored")
    seen.requests.clear()
    page.reload()
    if page.locator("details.guessed").count() or "".join(page.locator(".guess-said").all_text_contents()):
        faults.append("a guess outlives the page")
    return faults


def silent_fields(page: Page) -> list[str]:
    """Whatever is written in the field of an exercise, something is said; nothing is said before."""
    faults = []
    for box in page.locator(".book-ask").all():
        status = box.get_by_role("status")
        if not box.is_visible() or status.inner_text():
            faults.append("a field that is out of sight, or speaks first")
            continue
        for field in box.locator("input[type=text]").all():
            field.fill("12345")
        if box.locator("input[type=radio]").count():
            box.locator("input[type=radio]").first.check()
        box.get_by_role("button", name="Check").click()
        try:
            expect(status).not_to_be_empty(timeout=PATIENCE)
        except AssertionError:
            faults.append("a field that says nothing to an answer")
    return faults


def guess_faults(page: Html) -> list[str]:
    """Two guesses or more; each with a few answers, a name of its own, and a place further down that settles it."""
    guesses = page.article.select(".guess")
    faults = [] if len(guesses) >= FEWEST_GUESSES else [f"{len(guesses)} guesses, at least {FEWEST_GUESSES}"]
    names = []
    for guess in guesses:
        answers = guess.find_all("details")
        own = {answer.get("name", "") for answer in answers}
        if len(own) != 1 or not (name := own.pop()):
            faults.append(f"a guess whose answers do not have one name: {guess.get_text(' ', strip=True)[:60]!r}")
            continue
        names.append(name)
        if not ANSWERS[0] <= len(answers) <= ANSWERS[1]:
            faults.append(f"{name} has {len(answers)} answers")
        for answer in answers:
            summary = answer.find("summary")
            said = answer.get_text(" ", strip=True).removeprefix(summary.get_text(" ", strip=True) if summary else "")
            if not summary or not said.strip():
                faults.append(f"{name}: an answer that says nothing: {answer.get_text(' ', strip=True)[:60]!r}")
            if answer.has_attr("open"):
                faults.append(f"{name}: an answer that is open")
        places = page.article.select(f'.guess-said[data-guess="{name}"]')
        if not places:
            faults.append(f"{name} is settled nowhere")
        for place in places:
            if place.get_text() or place.find_parent(class_="guess"):
                faults.append(f"{name}: what was guessed is said by the script, and not in the guess itself")
            if place not in answers[-1].find_all_next(class_="guess-said"):
                faults.append(f"{name} is settled before it is asked")
    faults += [f"{names.count(name)} guesses are called {name}" for name in sorted(set(names)) if names.count(name) > 1]
    stray = {place.get("data-guess") for place in page.article.select(".guess-said")} - set(names)
    return faults + [f"{name} is settled and was never asked" for name in sorted(map(str, stray))]


def exercise_faults(page: Html) -> list[str]:
    """Each has a difficulty; those without Python a field; one is an experiment; solutions are called so."""
    found = [
        section
        for section in page.article.find_all("section")
        if (head := section.find(["h2", "h3"], recursive=False)) and re.match(r"(\S+ )?Exercise \d", head.get_text())
    ]
    faults = [] if found else ["no exercises"]
    experiments = 0
    for section in found:
        name = section.find(["h2", "h3"]).get_text(" ", strip=True)[:50]
        graded = [line for em in section.find_all("em") if GRADE.match(line := em.get_text(" ", strip=True))]
        if not graded:
            faults.append(f"{name!r} has no difficulty")
        experiments += any(EXPERIMENT.search(line) for line in graded)
        if any(ON_THE_PAGE in line for line in graded) and not section.select(".book-ask"):
            faults.append(f"{name!r} needs no Python and cannot be answered on the page")
    if found and experiments != 1:
        faults.append(f"{experiments} experiments, must be one")
    for cell in page.article.select(".cell.tag_hide-cell"):
        summary = cell.find("summary")
        if not summary or summary.get_text(strip=True) != "Solution":
            faults.append(f"a solution is called {summary.get_text(strip=True) if summary else None!r}")
    for output in page.article.select(".tag_exercise .cell_output"):
        if "not answered yet" in output.get_text().lower():
            faults.append("an exercise says that it is not answered yet")
    return faults
