"""The explorer of ranks in the browser: every choice, by mouse and by keyboard, in light, dark and on a phone."""

import pytest
from pages import page_checks
from pages.test_race_explorer import HEAD, article

from rtx_book.pictures.race_explorer import rank_explorer

LANES = {"gru": "GRU", "tcn": "TCN", "transformer-none": "Transformer without positions"}
SLY = '<img src=x onerror="a()">'


def frame(amount, *order):
    """A frame whose lanes are in this order, one group each but for the first two."""
    ranks = {
        lane: {"place": n, "low": max(1, n - 1), "high": min(len(order), n + 0.5), "group": max(1, n - 1)}
        for n, lane in enumerate(order, start=1)
    }
    return {"amount": amount, "said": f"{LANES[order[0]]} after {amount}", "split": "validation", "ranks": ranks}


STEPS = [frame(f"{n} steps", *order) for n, order in ((50, ("gru", "tcn")), (100, ("tcn", "gru", "transformer-none")))]
SECONDS = [frame("1 second", "gru", "tcn"), frame("2 seconds", "gru", "tcn")]
FRAMES = {"Digits": {"steps": STEPS, "seconds": SECONDS}, SLY: {"steps": STEPS[::-1]}}


@pytest.fixture
def opened(opened, planted):
    """Figures on one page, in the browser."""
    return lambda *parts, look="light": opened(planted(article(*parts), HEAD), look)


def shown(figure):
    """The names from the upper to the lower row, where their marks stand, and whether these are filled."""
    return figure.evaluate("""e => [...e.querySelectorAll('g[data-lane]')].map(g => [
      g.querySelector('text').textContent,
      parseFloat(g.querySelector('.mark').getAttribute('transform').match(/[0-9.]+/)[0]),
      getComputedStyle(g.querySelector('.mark')).fill === getComputedStyle(g.querySelector('.mark')).stroke])""")


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_it_moves_by_keyboard_fits_and_can_be_read(opened, axe_script, look):
    page = opened(rank_explorer(FRAMES, LANES).data, look=look)
    figure = page.query_selector(".book-ranks")
    assert not page_checks.explorer_faults(page, figure) + page_checks.overflow(page)
    assert not page_checks.invisible_focus(page, len(page.query_selector_all("select, input")))
    assert look == "phone" or not page_checks.axe(page, axe_script)


def test_the_chart_is_what_the_numbers_say(opened):
    page = opened(rank_explorer(FRAMES, LANES).data)
    figure = page.query_selector(".book-ranks")
    names, (best, second, third), filled = zip(*shown(figure), strict=True)
    assert names == ("TCN", "GRU", "Transformer without positions") and filled == (True, True, False)
    assert best > second > third and best - second == pytest.approx(second - third, abs=0.2), "better is to the right"
    title = figure.query_selector(".fig-title")
    assert title.inner_text() == figure.get_attribute("aria-label") == "TCN after 100 steps"
    chart = figure.query_selector("[data-part=chart]")
    told = "TCN 1 (1 to 1.5), GRU 2 (1 to 2.5), Transformer without positions 3 (2 to 3)"
    assert chart.get_attribute("aria-label") == f"TCN after 100 steps. Rank and interval: {told}"
    assert "rank on the validation split after 100 steps, better" in chart.text_content()


def test_a_choice_keeps_what_is_equal_where_the_task_has_it(opened):
    page = opened(rank_explorer(FRAMES, LANES).data)
    figure = page.query_selector(".book-ranks")
    (task, kind), slider = figure.query_selector_all("select"), figure.query_selector("input[type=range]")
    first = shown(figure)
    kind.select_option("1")
    assert figure.query_selector(".fig-title").inner_text() == "GRU after 2 seconds"
    slider.fill("0")
    assert figure.query_selector("output").inner_text() == "1 second"
    task.select_option("1")
    assert kind.inner_text().strip() == "steps" and figure.query_selector("output").inner_text() == "50 steps"
    assert page.query_selector("img") is None, "what looks like HTML is text"
    task.select_option("0")
    assert shown(figure) == first, "there and back"
    kind.select_option("1")
    task.select_option("0")
    assert figure.query_selector("output").inner_text() == "2 seconds"
