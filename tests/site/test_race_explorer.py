"""The explorer of the race and the table that sorts, in the browser: every control, by mouse and by keyboard."""

import json

import numpy as np
import page_checks
import pytest
from page_checks import visit
from support.helpers import ROOT

from rtx_lib.plots import race_explorer, sortable_table

BOX = (42, 24, 362, 288)  # left, top, right and bottom of the plot, in the chart's units
HEAD = (
    '<meta name="viewport" content="width=device-width">'
    f"<style>{(ROOT / 'book' / 'assets' / 'book.css').read_text(encoding='utf-8')}</style>"
)
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
    runs = {
        task: [
            {
                "lane": lane,
                "name": name,
                "seed": seed,
                "steps": STEPS,
                "values": (
                    np.linspace(0.9, 0.1 * i + 0.1, 30)[:: -1 if task == "digits" else 1] * rng.uniform(0.9, 1.1, 30)
                ).tolist(),
            }
            for i, (lane, name) in enumerate(LANES.items())
            for seed in range(3)
        ]
        for task in TASKS
    }
    costs = {
        (task, lane): {"seconds_per_step": 0.01 * (i + 1), "flops_per_step": 1e9 * (4 - i)}
        for task in TASKS
        for i, lane in enumerate(LANES)
        if (task, lane) != ("text", "tcn")
    }
    return race_explorer(runs, TASKS, costs, **options).data


def article(*parts):
    return f"<main><h1>Race</h1><article>{''.join(parts)}</article></main>"


TABLE = sortable_table(
    ["model", "MSE", "solved"],
    [
        ["LSTM 10", 0.2, (5, "5/5")],
        ["LSTM 9", None, (0, "0/5")],
        ["GRU", 0.03, (5, "5/5")],
        ["RNN", 1.5e-05, (2, "2/5")],
    ],
    "The race on adding",
).data
CHOICE = sortable_table(
    ["model", "task", "median", "steps to the line"],
    [
        ["LSTM", "Adding", 0.2, 1050],
        ["GRU", "Adding", 0.03, None],
        ["Transformer without positions", "Copy", 1.0, 350],
        ["GRU", "Copy", 0.9, 150],
        ["RNN", "Adding", 0.1, 900],
    ],
    "Two tasks",
    choose="task",
    note="a note",
).data


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_an_explorer_a_copy_and_a_table_on_one_page(contexts, planted, look):
    with visit(contexts[look], planted(article(explorer(), explorer(yours=YOURS), TABLE, CHOICE), HEAD)) as seen:
        figures = seen.page.query_selector_all(".book-race")
        faults = [fault for figure in figures for fault in page_checks.explorer_faults(seen.page, figure)]
        assert not faults + page_checks.overflow(seen.page) + page_checks.broken_pictures(seen.page) + seen.faults
        before = figures[1].evaluate(CHART)
        figures[0].query_selector("select").select_option("2")
        assert figures[1].evaluate(CHART) == before, "a control moves its own figure alone"


@pytest.mark.parametrize("look", ["light", "dark"])
def test_axe_minds_nothing(contexts, planted, look, axe_script):
    with visit(contexts[look], planted(article(explorer(yours=YOURS), TABLE, CHOICE), HEAD)) as seen:
        assert not page_checks.axe(seen.page, axe_script) + seen.faults


def test_there_and_back_is_the_picture_drawn_at_first(contexts, planted):
    with visit(contexts["light"], planted(article(explorer(), explorer(yours=YOURS)), HEAD)) as seen:
        for figure, opens in zip(seen.page.query_selector_all(".book-race"), "01", strict=True):
            task, axis = figure.query_selector_all("select")
            start, first = task.input_value(), figure.evaluate(CHART)
            assert start == opens, "an explorer opens on the reader's task"
            for other in {"0", "1", "2"} - {start}:
                task.select_option(other)
                axis.select_option("2")
                assert figure.evaluate(CHART) != first
            axis.select_option("0")
            task.select_option(start)
            assert figure.evaluate(CHART) == first
        assert not seen.faults


def test_the_chart_is_what_the_numbers_say(contexts, planted):
    """A line, its name, the finish line and a baseline; what looks like HTML is text."""
    sly = '<img src=x onerror="a()">'
    runs = {"digits": [{"lane": "gru", "name": sly, "seed": 0, "steps": [50, 100], "values": [0.1, 0.9]}]}
    tasks = {"digits": {"name": sly, "metric": "accuracy", "line": 0.9, "baselines": {sly: 0.1}, "label": sly}}
    with visit(contexts["light"], planted(article(race_explorer(runs, tasks, {}).data), HEAD)) as seen:
        figure = seen.page.query_selector(".book-race")
        (low, high), (left, top, right, bottom) = json.loads(figure.get_attribute("data-race"))["tasks"][0]["y"], BOX
        at = [bottom - (bottom - top) * (value - low) / (high - low) for value in (0.1, 0.9)]
        pairs = figure.evaluate(LINES)["0"].removeprefix("M").split("L")
        given = [(left + right) / 2, at[0], right, at[1]]
        assert [float(v) for pair in pairs for v in pair.split()] == pytest.approx(given, abs=0.1)
        drawn = {kind: figure.query_selector(f".grid .{kind}").get_attribute("d") for kind in ("dashed", "dotted")}
        assert [float(d.split()[1].split("H")[0]) for d in drawn.values()] == pytest.approx(at[::-1], abs=0.1)
        names = [name.text_content() for name in figure.query_selector_all("svg .name")]
        assert (
            names == ["finish line 0.9", sly]
            and figure.query_selector("output").inner_text() == f"at 100 steps: {sly} 0.9"
        )
        alt = figure.query_selector("[data-part=chart]").get_attribute("aria-label")
        assert alt == f"{sly} (higher is better) of 1 models on {sly}, over steps; at 100 steps: {sly} 0.9"
        assert not figure.query_selector("img") and not seen.faults


@pytest.mark.parametrize(
    ("steps", "log", "marks"),
    [
        ((10, 1500), False, ["0", "500", "1,000", "1,500"]),
        ((10, 1000), False, ["0", "250", "500", "750", "1,000"]),
        ((1, 50), True, ["1", "2", "5", "10", "20", "50"]),
        ((3, 60_000), True, ["10", "100", "1,000", "10,000"]),
    ],
)
def test_marks_of_an_axis_are_round(contexts, planted, steps, log, marks):
    runs = {"digits": [{"lane": "gru", "name": "GRU", "seed": 0, "steps": steps, "values": [0.1, 0.9]}]}
    given = race_explorer(runs, {"digits": TASKS["digits"]}, {}).data
    with visit(contexts["light"], planted(article(given), HEAD)) as seen:
        figure = seen.page.query_selector(".book-race")
        figure.query_selector("input[type=checkbox]").set_checked(log)
        assert [mark.text_content() for mark in figure.query_selector_all(".grid [text-anchor=middle]")] == marks


def test_axes_stretch_the_curves_by_their_cost(contexts, planted):
    """Over seconds the lane of the slowest step is as long as the axis, and the others as short as they are fast."""
    with visit(contexts["light"], planted(article(explorer()), HEAD)) as seen:
        figure = seen.page.query_selector(".book-race")
        task, axis = figure.query_selector_all("select")

        def lengths():
            ends = {k: float(d.split("L")[-1].split()[0]) for k, d in figure.evaluate(LINES).items() if d}
            return {k: (end - BOX[0]) / (BOX[2] - BOX[0]) for k, end in ends.items()}

        assert lengths() == pytest.approx({"0": 1, "1": 1, "2": 1, "3": 1})
        axis.select_option("1")
        assert lengths() == pytest.approx({"0": 0.25, "1": 0.5, "2": 0.75, "3": 1}, abs=1e-3)
        assert "seconds" in figure.query_selector("[data-part=unit]").text_content()
        axis.select_option("2")
        assert lengths() == pytest.approx({"0": 1, "1": 0.75, "2": 0.5, "3": 0.25}, abs=1e-3)
        assert figure.query_selector("[data-part=unit]").text_content() == "TFLOPs"
        figure.query_selector("[data-part=log]").check()
        assert lengths()["3"] > 0.5
        task.select_option("2")
        assert set(lengths()) == {"0", "1", "3"}, "a lane of unknown cost is left out"
        assert not seen.faults


def test_lanes_by_keyboard(contexts, planted):
    with visit(contexts["light"], planted(article(explorer()), HEAD)) as seen:
        page, figure = seen.page, seen.page.query_selector(".book-race")
        boxes = figure.query_selector_all(".book-lanes input")

        def strong():
            return {g.get_attribute("data-lane") for g in figure.query_selector_all("g.strong")}

        assert strong() == {"0", "2", "3"}, "the best of each family"
        boxes[0].focus()
        assert "RNN on Adding: ends at" in figure.query_selector(".about").inner_text()
        assert "3 runs" in figure.query_selector(".about").inner_text()
        page.keyboard.press("Tab")
        assert "GRU on Adding" in figure.query_selector(".about").inner_text()
        page.keyboard.press("Space")
        assert boxes[1].is_checked() and strong() == {"0", "1", "2", "3"}
        figure.query_selector_all("select")[0].select_option("1")
        assert strong() == {"0", "1", "2", "3"}, "the reader's choice outlives a change of task"
        buttons = figure.query_selector_all("button")
        buttons[2].focus()
        page.keyboard.press("Enter")
        assert not any(box.is_checked() for box in boxes) and strong() == {"1"}, "the lane looked at stays"
        buttons[1].click()
        assert all(box.is_checked() for box in boxes)
        buttons[0].click()
        assert [box.is_checked() for box in boxes] == [False, True, True, True]
        assert not seen.faults


def test_pointing_at_a_line_says_its_numbers(contexts, planted):
    with visit(contexts["light"], planted(article(explorer(yours=YOURS)), HEAD)) as seen:
        figure = seen.page.query_selector(".book-race")
        about = figure.query_selector(".about")
        for name in ("RNN", "your run: mine"):
            lane = figure.query_selector(f".book-lanes label:has-text('{name}')").get_attribute("data-lane")
            line = figure.query_selector(f"g[data-lane='{lane}'] .hit")
            point = line.evaluate(
                "e => {const p = e.getPointAtLength(e.getTotalLength() / 2).matrixTransform("
                "e.getScreenCTM()); return [p.x, p.y]}"
            )
            seen.page.mouse.move(*point)
            seen.page.mouse.move(point[0] + 0.5, point[1])
            assert figure.query_selector("g.focus").get_attribute("data-lane") in ("0", "1", "2", "3", lane)
        assert "your run: mine on Digits: ends at 0.8" in about.inner_text()
        assert not seen.faults


def test_the_budget_is_cut_by_keyboard(contexts, planted):
    with visit(contexts["light"], planted(article(explorer()), HEAD)) as seen:
        figure = seen.page.query_selector(".book-race")
        slider, output = figure.query_selector("input[type=range]"), figure.query_selector("output")
        assert output.inner_text().startswith("best three at 1,500 steps: ")
        seen.page.get_by_role("button", name="None").click()
        assert output.inner_text().startswith("best three at 1,500 steps: "), "of all, not of the chosen lanes"
        slider.focus()
        seen.page.keyboard.press("Home")
        assert output.inner_text() == "at 0 steps: no value yet"
        seen.page.keyboard.press("ArrowRight")
        assert output.inner_text().startswith("best three at 50 steps: ")
        assert output.inner_text() == slider.get_attribute("aria-valuetext")
        assert output.inner_text() in figure.query_selector("[data-part=chart]").get_attribute("aria-label")
        for _ in range(20):
            seen.page.keyboard.press("ArrowRight")
        assert output.inner_text().startswith("best three at 1,050 steps: ")
        assert not seen.faults


def test_another_axis_stops_where_the_cheapest_lane_has_ended(contexts, planted):
    """A budget that is dear to others shows who leads; steps are all lanes' own again."""
    with visit(contexts["light"], planted(article(explorer(), explorer(yours=YOURS)), HEAD)) as seen:
        figure = seen.page.query_selector(".book-race")
        task, axis = figure.query_selector_all("select")
        slider, output = figure.query_selector("input[type=range]"), figure.query_selector("output")

        def says():
            return slider.input_value(), output.inner_text().partition(": ")[0]

        axis.select_option("1")  # the cheapest of four steps takes a quarter of the dearest: 15 of 60 seconds
        assert says() == ("8", "best three at 16 seconds")
        axis.select_option("2")
        assert says() == ("8", "best three at 1.6 TFLOPs")
        task.select_option("1")
        assert says() == ("8", "best three at 1.6 TFLOPs"), "another task leaves the slider alone"
        slider.fill("3")
        figure.query_selector("[data-part=log]").check()
        assert slider.input_value() == "3", "so does the scale"
        axis.select_option("1")
        end = figure.query_selector("g[data-lane='0'] .line").get_attribute("d").split("L")[-1].split()[0]
        cut = figure.query_selector("[data-part=cursor]").get_attribute("d").split()[0].removeprefix("M")
        assert 0 <= float(cut) - float(end) <= (BOX[2] - BOX[0]) / 30 + 0.2, "on logarithms too"
        axis.select_option("0")
        assert says() == ("30", "best three at 1,500 steps")
        assert not seen.faults


def test_runs_that_ended_early_are_counted(contexts, planted):
    """The third lane has lost all of its runs, the second most, the first one."""
    steps, values = [100, 200, 300], [0.3, 0.5, 0.7]
    lasts = {"rnn": (3, 3, 1), "gru": (1, 2, 3), "tcn": (1, 1, 1), "transformer-none": (0,)}
    runs = [
        {"lane": lane, "name": LANES[lane], "seed": seed, "steps": steps[:n], "values": values[:n]}
        for lane, own in lasts.items()
        for seed, n in enumerate(own)
    ]
    given = race_explorer({"digits": runs}, {"digits": TASKS["digits"]}, {}).data
    with visit(contexts["light"], planted(article(given), HEAD)) as seen:
        figure = seen.page.query_selector(".book-race")
        about, told = figure.query_selector(".about"), []
        for box in figure.query_selector_all(".book-lanes input"):
            box.focus()
            told.append(about.inner_text().removesuffix(" Never reaches the finish line, 0.9."))
        assert told == [
            "RNN on Digits: ends at 0.7 (0.7 to 0.7, 3 runs, 1 ended early).",
            "GRU on Digits: 2 of 3 runs ended early, the others end at 0.7 to 0.7.",
            "TCN on Digits: 3 of 3 runs ended early.",
            "Transformer without positions on Digits: 1 of 1 run ended early.",
        ]
        assert figure.query_selector("output").inner_text() == "at 300 steps: RNN 0.7", "no other has a median there"
        assert not seen.faults


def test_without_scripts_there_is_a_picture(browser, planted):
    context = browser.new_context(java_script_enabled=False, viewport=page_checks.DESKTOP)
    page = context.new_page()
    page.goto(planted(article(explorer(), TABLE), HEAD))
    assert page.locator("noscript").inner_text() == "The controls need JavaScript."
    assert page.get_by_role("img", name="over steps; first:").is_visible()
    assert page.locator(".book-race select, .book-race input").count() == 0, "no dead controls"
    assert page.locator("tbody tr").count() == 4
    context.close()


def test_a_table_sorts_by_mouse_and_keyboard(contexts, planted):
    with visit(contexts["light"], planted(article(TABLE), HEAD)) as seen:
        page = seen.page

        def order():
            return [row.inner_text() for row in page.query_selector_all("tbody th")]

        def sorted_by():
            return [head.get_attribute("aria-sort") for head in page.query_selector_all("thead th")]

        says = page.locator("[role=status]")
        name, error, solved = page.query_selector_all("thead button")
        assert order() == ["LSTM 10", "LSTM 9", "GRU", "RNN"] and sorted_by() == ["none"] * 3
        error.click()
        assert order() == ["RNN", "GRU", "LSTM 10", "LSTM 9"] and sorted_by() == ["none", "ascending", "none"]
        assert says.inner_text() == "Sorted by MSE, smallest first."
        error.focus()
        page.keyboard.press("Enter")
        assert order() == ["LSTM 10", "GRU", "RNN", "LSTM 9"], "what is missing stays last"
        assert sorted_by() == ["none", "descending", "none"] and "greatest first" in says.inner_text()
        name.focus()
        page.keyboard.press("Space")
        assert order() == ["GRU", "LSTM 9", "LSTM 10", "RNN"], "numbers in names count as numbers"
        solved.click()
        solved.click()
        assert order() == ["GRU", "LSTM 10", "RNN", "LSTM 9"], "ties keep their order"
        assert not seen.faults


def shown(page):
    """The first cells of the rows that can be seen, and the heads that can be."""
    rows = [cell.inner_text() for cell in page.query_selector_all("tbody th") if cell.is_visible()]
    return rows, [head.inner_text() for head in page.query_selector_all("thead th") if head.is_visible()]


def test_the_rows_are_chosen_by_keyboard_and_still_sort(contexts, planted):
    heads = ["model", "task", "median", "steps to the line"]
    some = [heads[0], *heads[2:]]
    with visit(contexts["light"], planted(article(CHOICE), HEAD)) as seen:
        page, says = seen.page, seen.page.locator("[role=status]")
        assert shown(page) == (["LSTM", "GRU", "RNN"], some), "the first task alone, without its column"
        assert says.inner_text().strip() == "3 of 5 rows."
        page.get_by_role("button", name="median").click()
        assert shown(page) == (["GRU", "RNN", "LSTM"], some)
        assert says.inner_text() == "3 of 5 rows. Sorted by median, smallest first."
        page.get_by_role("combobox", name="Task").focus()
        page.keyboard.press("ArrowDown")
        assert shown(page) == (["GRU", "Transformer without positions"], some), "sorted before it was chosen"
        assert says.inner_text() == "2 of 5 rows. Sorted by median, smallest first."
        page.keyboard.press("ArrowDown")
        assert page.get_by_role("combobox", name="Task").input_value() == ""
        names = ["GRU", "RNN", "LSTM", "GRU", "Transformer without positions"]
        assert shown(page) == (names, heads), "everything, with its column"
        assert says.inner_text().startswith("5 of 5 rows.")
        page.get_by_role("button", name="steps").click()
        page.get_by_role("combobox", name="Task").select_option("Adding")
        assert shown(page) == (["RNN", "LSTM", "GRU"], some), "what is missing stays last"
        assert not seen.faults


def test_all_rows_are_on_paper_and_without_scripts(browser, contexts, planted):
    address = planted(article(CHOICE), HEAD)
    context = browser.new_context(java_script_enabled=False, viewport=page_checks.DESKTOP)
    page = context.new_page()
    page.goto(address)
    assert [len(part) for part in shown(page)] == [5, 4]
    assert not page.locator("select").is_visible() and not page.locator("[role=status]").is_visible()
    context.close()
    with visit(contexts["light"], address) as seen:
        assert [len(part) for part in shown(seen.page)] == [3, 3]
        seen.page.emulate_media(media="print")
        assert [len(part) for part in shown(seen.page)] == [5, 4]
        assert not seen.page.locator("select").is_visible() and not seen.page.locator("[role=status]").is_visible()


def test_names_stay_above_what_scrolls_behind_them(contexts, planted):
    """On a phone, also over the arrows of the heads; and the names leave the better part of the screen."""
    heads = ["model", "median", "steps to the line", "seconds", "TFLOP", "rate"]
    wide = sortable_table(heads, [["Transformer without positions", *[0.001] * 5], ["GRU", *[0.002] * 5]], "wide").data
    with visit(contexts["phone"], planted(article(wide), HEAD)) as seen:
        for selector in ("thead th", "tbody th"):
            head = seen.page.query_selector(selector)
            assert head.bounding_box()["x"] >= 0 and head.bounding_box()["width"] < 0.4 * page_checks.PHONE["width"]
            over = head.evaluate("""e => {
              const scroll = e.closest('.book-scroll'), over = []
              for (scroll.scrollLeft = 0; ; ) {
                const box = e.getBoundingClientRect(), before = scroll.scrollLeft
                for (let x = box.left + 2; x < box.right - 1; x += 3)
                  for (let y = box.top + 2; y < box.bottom - 1; y += 3) {
                    const hit = document.elementFromPoint(x, y)
                    if (!e.contains(hit)) over.push(`${hit.textContent} at ${before}`)
                  }
                scroll.scrollLeft += 9
                if (scroll.scrollLeft === before) return before ? over : ['it does not scroll']
              }
            }""")
            assert not over, f"painted over {selector}: {over[:3]}"
        assert not seen.faults


def test_every_control_shows_its_focus(contexts, planted):
    with visit(contexts["light"], planted(article(explorer(), TABLE, CHOICE), HEAD)) as seen:
        stops = len(seen.page.query_selector_all("select, input, button, .book-scroll"))
        assert not page_checks.invisible_focus(seen.page, stops=stops)


def test_a_broken_script_is_seen(contexts, planted):
    broken = explorer().replace("output.textContent = says", "outputs.textContent = says")
    assert broken != explorer(), "the mistake is planted"
    with visit(contexts["light"], planted(article(broken), HEAD)) as seen:
        figure = seen.page.query_selector(".book-race")
        assert "text did not change" in page_checks.explorer_faults(seen.page, figure)
        assert any("error in a script" in fault for fault in seen.faults)


SCRIPTS = sorted(path for folder in ("book/assets", "rtx_lib/plots") for path in (ROOT / folder).rglob("*.js"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_parse(browser, path):
    """Strict mode refuses what is sloppy; the script of a figure is one function and leaves no name behind."""
    source, page = path.read_text(encoding="utf-8"), browser.new_page()
    page.evaluate("source => { new Function(`'use strict';${source}`) }", source)
    if path.parent.name == "plots":
        assert page.evaluate("source => typeof (0, eval)(`'use strict';${source}`)", source) == "function"
    page.close()
