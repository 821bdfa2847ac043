"""The explorer of the race and the table that sorts, in the browser: every control, by mouse and by keyboard."""

import itertools
import json
from types import SimpleNamespace

import numpy as np
import pytest
from pages import page_checks
from support.helpers import ROOT

from rtx_book.page.tables import sortable_table
from rtx_book.pictures.race_explorer import race_explorer

BOX = (42, 24, 362, 288)  # left, top, right and bottom of the plot, in the chart's units
STYLE = (ROOT / "book" / "assets" / "book.css").read_text(encoding="utf-8")
HEAD = f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
LANES = {"rnn": "RNN", "gru": "GRU", "tcn": "TCN", "transformer-none": "Transformer without positions"}
TASKS = {
    "adding": {"name": "Adding", "metric": "mse", "line": 0.01, "label": "mse", "baselines": {"predict 1": 1 / 6}},
    "digits": {"name": "Digits", "metric": "accuracy", "line": 0.9, "label": "accuracy", "baselines": {}},
    "text": {"name": "Characters <1>", "metric": "loss", "line": None, "label": "loss", "baselines": {}},
}
STEPS = list(range(50, 1501, 50))
YOURS = [{"task": "digits", "name": "mine", "steps": [50, 100], "values": [0.4, 0.8], "seconds_per_step": 1.0}]
CHART = "e => e.querySelector('[data-part=chart]').outerHTML"
# Where each chosen lane's curve stands now.
LINES = """e => Object.fromEntries([...e.querySelectorAll('g[data-lane]')].map(
  g => [g.dataset.lane, g.querySelector('.line').getAttribute('d')]))"""


def explorer(**options):
    rng = np.random.default_rng(0)
    runs, costs = {task: [] for task in TASKS}, {}
    for task, (i, (lane, name)) in itertools.product(TASKS, enumerate(LANES.items())):
        if (task, lane) != ("text", "tcn"):
            costs[task, lane] = {"seconds_per_step": 0.01 * (i + 1), "flops_per_step": 1e9 * (4 - i)}
        for seed in range(3):
            values = np.linspace(0.9, 0.1 * i + 0.1, 30)[:: -1 if task == "digits" else 1] * rng.uniform(0.9, 1.1, 30)
            own = {"lane": lane, "name": name, "seed": seed}
            runs[task].append({**own, "steps": STEPS, "values": values.tolist()})
    return race_explorer(runs, TASKS, costs, **options).data


def article(*parts):
    return f"<main><h1>Race</h1><article>{''.join(parts)}</article></main>"


@pytest.fixture
def opened(opened, planted):
    """The figures on one page, in the browser."""
    return lambda *parts, look="light": opened(planted(article(*parts), HEAD), look)


def race(page):
    """The first explorer of the page and its parts, which are looked up anew at each use."""
    figure = page.locator(".book-race").first
    names = {"slider": "input[type=range]", "output": "output", "about": ".about", "log": "[data-part=log]"}
    names |= {part: f"[data-part={part}]" for part in ("chart", "unit", "cursor")}
    parts = {name: figure.locator(selector) for name, selector in names.items()}
    task, axis = figure.locator("select").all()
    boxes, buttons = figure.locator(".book-lanes input").all(), figure.locator("button").all()
    return SimpleNamespace(figure=figure, task=task, axis=axis, boxes=boxes, buttons=buttons, **parts)


SOLVED = [["LSTM 10", 0.2, (5, "5/5")], ["LSTM 9", None, (0, "0/5")], ["GRU", 0.03, (5, "5/5")]]
TABLE = sortable_table(["model", "MSE", "solved"], [*SOLVED, ["RNN", 1.5e-05, (2, "2/5")]], "The race on adding").data
HEADS = ["model", "task", "median", "steps to the line"]
ROWS = [["LSTM", "Adding", 0.2, 1050], ["GRU", "Adding", 0.03, None], [LANES["transformer-none"], "Copy", 1.0, 350]]
ROWS += [["GRU", "Copy", 0.9, 150], ["RNN", "Adding", 0.1, 900]]
CHOICE = sortable_table(HEADS, ROWS, "Two tasks", choose="task", note="a note").data


def digits(runs, **changes):
    """An explorer of one task."""
    return race_explorer({"digits": runs}, {"digits": TASKS["digits"] | changes}, {}).data


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_an_explorer_a_copy_and_a_table_on_one_page(opened, axe_script, look):
    page = opened(explorer(), explorer(yours=YOURS), TABLE, CHOICE, look=look)
    figures = page.query_selector_all(".book-race")
    faults = [fault for figure in figures for fault in page_checks.explorer_faults(page, figure)]
    assert not faults + page_checks.overflow(page) + page_checks.broken_pictures(page)
    before = figures[1].evaluate(CHART)
    figures[0].query_selector("select").select_option("2")
    assert figures[1].evaluate(CHART) == before, "a control moves its own figure alone"
    stops = len(page.query_selector_all("select, input, button, .book-scroll"))
    if look != "phone":
        assert not page_checks.invisible_focus(page, stops) + page_checks.axe(page, axe_script)


def test_the_chart_is_what_the_numbers_say(opened):
    """A line, its name, the finish line and a baseline; what looks like HTML is text."""
    sly = '<img src=x onerror="a()">'
    runs = [{"lane": "gru", "name": sly, "seed": 0, "steps": [50, 100], "values": [0.1, 0.9]}]
    it = race(opened(digits(runs, name=sly, baselines={sly: 0.1}, label=sly)))
    (low, high), (left, top, right, bottom) = json.loads(it.figure.get_attribute("data-race"))["tasks"][0]["y"], BOX
    at = [bottom - (bottom - top) * (value - low) / (high - low) for value in (0.1, 0.9)]
    pairs = it.figure.evaluate(LINES)["0"].removeprefix("M").split("L")
    given = [(left + right) / 2, at[0], right, at[1]]
    assert [float(v) for pair in pairs for v in pair.split()] == pytest.approx(given, abs=0.1)
    names = it.figure.locator("svg .name").all_text_contents()
    assert (names, it.output.inner_text()) == (["finish line 0.9", sly], f"at 100 steps: {sly} 0.9")
    alt = it.chart.get_attribute("aria-label")
    assert alt == f"{sly} (higher is better) of 1 models on {sly}, over steps; at 100 steps: {sly} 0.9"
    assert it.figure.locator("img").count() == 0


def test_axes_stretch_the_curves_by_their_cost(opened):
    """Over seconds the lane of the slowest step is as long as the axis, and the others as short as they are fast."""
    it = race(opened(explorer()))

    def lengths():
        ends = {k: float(d.split("L")[-1].split()[0]) for k, d in it.figure.evaluate(LINES).items() if d}
        return {k: (end - BOX[0]) / (BOX[2] - BOX[0]) for k, end in ends.items()}

    assert lengths() == pytest.approx({"0": 1, "1": 1, "2": 1, "3": 1})
    it.axis.select_option("1")
    assert lengths() == pytest.approx({"0": 0.25, "1": 0.5, "2": 0.75, "3": 1}, abs=1e-3)
    assert "seconds" in it.unit.text_content()
    it.axis.select_option("2")
    assert lengths() == pytest.approx({"0": 1, "1": 0.75, "2": 0.5, "3": 0.25}, abs=1e-3)
    assert it.unit.text_content() == "TFLOPs"
    it.log.check()
    assert lengths()["3"] > 0.5
    it.task.select_option("2")
    assert set(lengths()) == {"0", "1", "3"}, "a lane of unknown cost is left out"


def test_lanes_by_keyboard(opened):
    page = opened(explorer())
    it = race(page)

    def strong():
        return {g.get_attribute("data-lane") for g in it.figure.locator("g.strong").all()}

    assert strong() == {"0", "2", "3"}, "the best of each family"
    it.boxes[0].focus()
    assert "RNN on Adding: ends at" in it.about.inner_text() and "3 runs" in it.about.inner_text()
    page.keyboard.press("Tab")
    assert "GRU on Adding" in it.about.inner_text()
    page.keyboard.press("Space")
    assert it.boxes[1].is_checked() and strong() == {"0", "1", "2", "3"}
    it.task.select_option("1")
    assert strong() == {"0", "1", "2", "3"}, "the reader's choice outlives a change of task"
    it.buttons[2].focus()
    page.keyboard.press("Enter")
    assert not any(box.is_checked() for box in it.boxes) and strong() == {"1"}, "the lane looked at stays"
    it.buttons[1].click()
    assert all(box.is_checked() for box in it.boxes)
    it.buttons[0].click()
    assert [box.is_checked() for box in it.boxes] == [False, True, True, True]


def test_pointing_at_a_line_says_its_numbers(opened):
    page = opened(explorer(yours=YOURS))
    it = race(page)
    for name in ("RNN", "your run: mine"):
        lane = it.figure.locator(f".book-lanes label:has-text('{name}')").get_attribute("data-lane")
        x, y = it.figure.locator(f"g[data-lane='{lane}'] .hit").evaluate(
            "e => {const p = e.getPointAtLength(e.getTotalLength() / 2).matrixTransform(e.getScreenCTM());"
            "return [p.x, p.y]}"
        )
        page.mouse.move(x, y)
        page.mouse.move(x + 0.5, y)
        assert it.figure.locator("g.focus").get_attribute("data-lane") in ("0", "1", "2", "3", lane)
    assert "your run: mine on Digits: ends at 0.8" in it.about.inner_text()


def test_the_budget_is_cut_by_keyboard(opened):
    page = opened(explorer())
    it = race(page)
    assert it.output.inner_text().startswith("best three at 1,500 steps: ")
    page.get_by_role("button", name="None").click()
    assert it.output.inner_text().startswith("best three at 1,500 steps: "), "of all, not of the chosen lanes"
    it.slider.focus()
    page.keyboard.press("Home")
    assert it.output.inner_text() == "at 0 steps: no value yet"
    page.keyboard.press("ArrowRight")
    said = it.output.inner_text()
    assert said.startswith("best three at 50 steps: ") and said == it.slider.get_attribute("aria-valuetext")
    assert said in it.chart.get_attribute("aria-label")
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert it.output.inner_text().startswith("best three at 1,050 steps: ")


def test_another_axis_stops_where_the_cheapest_lane_has_ended(opened):
    """A budget that is dear to others shows who leads; steps are all lanes' own again."""
    it = race(opened(explorer(), explorer(yours=YOURS)))

    def says():
        return it.slider.input_value(), it.output.inner_text().partition(": ")[0]

    it.axis.select_option("1")  # the cheapest of four steps takes a quarter of the dearest: 15 of 60 seconds
    assert says() == ("8", "best three at 16 seconds")
    it.axis.select_option("2")
    assert says() == ("8", "best three at 1.6 TFLOPs")
    it.task.select_option("1")
    assert says() == ("8", "best three at 1.6 TFLOPs"), "another task leaves the slider alone"
    it.slider.fill("3")
    it.log.check()
    assert it.slider.input_value() == "3", "so does the scale"
    it.axis.select_option("1")
    end = it.figure.evaluate(LINES)["0"].split("L")[-1].split()[0]
    cut = it.cursor.get_attribute("d").split()[0].removeprefix("M")
    assert 0 <= float(cut) - float(end) <= (BOX[2] - BOX[0]) / 30 + 0.2, "on logarithms too"
    it.axis.select_option("0")
    assert says() == ("30", "best three at 1,500 steps")


def test_runs_that_ended_early_are_counted(opened):
    """The third lane has lost all of its runs, the second most, the first one."""
    steps, values = [100, 200, 300], [0.3, 0.5, 0.7]
    lasts = {"rnn": (3, 3, 1), "gru": (1, 2, 3), "tcn": (1, 1, 1), "transformer-none": (0,)}
    runs = [
        {"lane": lane, "name": LANES[lane], "seed": seed, "steps": steps[:n], "values": values[:n]}
        for lane, own in lasts.items()
        for seed, n in enumerate(own)
    ]
    it, told = race(opened(digits(runs))), []
    for box in it.boxes:
        box.focus()
        told.append(it.about.inner_text().removesuffix(" Never reaches the finish line, 0.9."))
    assert told == [
        "RNN on Digits: ends at 0.7 (0.7 to 0.7, 3 runs, 1 ended early).",
        "GRU on Digits: 2 of 3 runs ended early, the others end at 0.7 to 0.7.",
        "TCN on Digits: 3 of 3 runs ended early.",
        "Transformer without positions on Digits: 1 of 1 run ended early.",
    ]
    assert it.output.inner_text() == "at 300 steps: RNN 0.7", "no other has a median there"


def shown(page):
    """The first cells of the rows that can be seen, and the heads that can be."""
    rows = [cell.inner_text() for cell in page.query_selector_all("tbody th") if cell.is_visible()]
    return rows, [head.inner_text() for head in page.query_selector_all("thead th") if head.is_visible()]


def test_a_table_sorts_by_mouse_and_keyboard(opened):
    page = opened(TABLE)
    says = page.locator("[role=status]")
    name, error, solved = page.query_selector_all("thead button")

    def order():
        return shown(page)[0], [head.get_attribute("aria-sort") for head in page.query_selector_all("thead th")]

    assert order() == (["LSTM 10", "LSTM 9", "GRU", "RNN"], ["none"] * 3)
    error.click()
    assert order() == (["RNN", "GRU", "LSTM 10", "LSTM 9"], ["none", "ascending", "none"])
    assert says.inner_text() == "Sorted by MSE, smallest first."
    error.focus()
    page.keyboard.press("Enter")
    last = ["LSTM 10", "GRU", "RNN", "LSTM 9"]
    assert order() == (last, ["none", "descending", "none"]), "what is missing stays last"
    assert "greatest first" in says.inner_text()
    name.focus()
    page.keyboard.press("Space")
    assert order()[0] == ["GRU", "LSTM 9", "LSTM 10", "RNN"], "numbers in names count as numbers"
    solved.click()
    solved.click()
    assert order()[0] == ["GRU", "LSTM 10", "RNN", "LSTM 9"], "ties keep their order"


def test_the_rows_are_chosen_by_keyboard_and_still_sort(opened):
    some, page = [HEADS[0], *HEADS[2:]], opened(CHOICE)
    says, choice = page.locator("[role=status]"), page.get_by_role("combobox", name="Task")
    assert shown(page) == (["LSTM", "GRU", "RNN"], some), "the first task alone, without its column"
    assert says.inner_text().strip() == "3 of 5 rows."
    page.get_by_role("button", name="median").click()
    assert shown(page) == (["GRU", "RNN", "LSTM"], some)
    assert says.inner_text() == "3 of 5 rows. Sorted by median, smallest first."
    choice.focus()
    page.keyboard.press("ArrowDown")
    assert shown(page) == (["GRU", "Transformer without positions"], some), "sorted before it was chosen"
    assert says.inner_text() == "2 of 5 rows. Sorted by median, smallest first."
    page.keyboard.press("ArrowDown")
    assert choice.input_value() == ""
    names = ["GRU", "RNN", "LSTM", "GRU", "Transformer without positions"]
    assert shown(page) == (names, HEADS), "everything, with its column"
    assert says.inner_text().startswith("5 of 5 rows.")


def test_without_scripts_and_on_paper_there_is_everything_and_no_dead_control(browser, opened, planted):
    context = browser.new_context(java_script_enabled=False, viewport=page_checks.DESKTOP)
    page = context.new_page()
    page.goto(planted(article(explorer(), CHOICE), HEAD))
    assert page.locator("noscript").first.inner_text() == "The controls need JavaScript."
    assert page.get_by_role("img", name="over steps; first:").is_visible()
    assert page.locator(".book-race select, .book-race input").count() == 0
    paper = opened(CHOICE)
    assert [len(part) for part in shown(paper)] == [3, 3]
    paper.emulate_media(media="print")
    for one in (page, paper):
        assert [len(part) for part in shown(one)] == [5, 4]
        assert not one.locator("select").is_visible() and not one.locator("[role=status]").is_visible()
    context.close()
