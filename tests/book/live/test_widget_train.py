"""The trainer as a reader meets it: what stands there, what every control does, and what is said."""

import re
from functools import partial

import pytest
from live.test_widgets import FRAMES
from live.widgets import press, status


@pytest.fixture
def trainer(widget):
    return partial(widget, "train")


def told(page):
    return page.locator(".live-told li").all_inner_texts()


def steps(page):
    """The training steps of every cell that has trained."""
    return [int(found[1]) for line in told(page) if (found := re.search(r"step (\d+):", line))]


def wait_for_end(page):
    page.get_by_role("button", name="Train", exact=True).wait_for()


def test_nothing_trains_before_it_is_asked_to(trainer):
    page = trainer()
    page.wait_for_timeout(300)
    assert told(page) == ["tanh RNN: not trained yet.", "GRU: not trained yet."]
    assert not page.workers and "Press Train" in status(page)
    assert "Two of T random numbers" in page.locator(".live-task").first.inner_text()


def test_cells_train_side_by_side_and_go_on_when_asked(trainer):
    page = trainer(cells=["rnn", "irnn", "lstm", "gru", "indrnn"])
    press(page, "Train")
    wait_for_end(page)
    assert steps(page) == [120] * 5 and len(page.workers) == 1
    assert "Paused after 120 steps" in status(page)
    task = page.locator(".live-task").first.inner_text()
    first, second, sum_ = map(float, re.findall(r"[\d.]+\d", task)[:3])
    assert abs(first + second - sum_) < 0.02 and task.count(" says ") == 5
    assert page.locator(".live-line.live-now").count() >= 10  # each cell in both charts, and some marks
    names = page.locator(".live-chart").nth(0).get_attribute("aria-label")
    assert "IndRNN, step 120" in names
    press(page, "Train")
    wait_for_end(page)
    assert steps(page) == [240] * 5


def test_a_change_begins_anew_and_the_earlier_run_stays_thin(trainer):
    page = trainer()
    press(page, "Train")
    wait_for_end(page)
    page.get_by_role("slider", name="Length T").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("slider", name="Length T").get_attribute("aria-valuetext") == "20 steps"
    assert steps(page) == [] and page.locator(".live-line.live-old").count() >= 4
    earlier = page.get_by_text("Thin lines, earlier runs")
    assert "GRU, T = 10, error" in earlier.inner_text() and "at step 120" in earlier.inner_text()
    press(page, "Forget earlier runs")
    assert page.locator(".live-old").count() == 0 and not earlier.is_visible()
    press(page, "Train")
    wait_for_end(page)
    press(page, "Reset")
    assert steps(page) == [] and page.locator("path.live-old").count() >= 4 and "other weights" in status(page)


def test_cells_join_and_leave_by_keyboard_while_others_train(trainer):
    page = trainer(rate=1e-9, most=10**6, cells=["gru"])
    press(page, "Train")
    page.wait_for_function("/GRU, step \\d+/.test(document.querySelector('.live-told').innerText)")
    page.get_by_role("checkbox", name="IndRNN").focus()
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelectorAll('.live-told li').length === 2")
    page.wait_for_function("/IndRNN, step \\d+/.test(document.querySelector('.live-told').innerText)")
    gru, indrnn = steps(page)
    assert gru > indrnn  # the first was not begun anew
    page.get_by_role("checkbox", name="GRU").click()
    assert [line.split(",")[0] for line in told(page)] == ["IndRNN"]
    page.get_by_role("checkbox", name="IndRNN").click()
    assert page.get_by_role("button", name="Train").is_disabled()


def test_forget_bias_belongs_to_the_lstm_and_the_scan_to_the_indrnn(trainer):
    page = trainer(scan=True)
    bias, scan = page.get_by_text("forget bias"), page.get_by_text("forward by the scan")
    assert not bias.is_visible() and not scan.is_visible()
    page.get_by_role("checkbox", name="LSTM").click()
    page.get_by_role("checkbox", name="IndRNN").click()
    assert bias.is_visible() and scan.is_visible()
    press(page, "Train")
    wait_for_end(page)
    ways = page.get_by_text("both ways").inner_text()
    assert "10 steps one after another" in ways and "4 rounds" in ways
    difference = re.search(r"differ by at most (\S+) of", ways)[1]
    assert difference == "0" or difference.startswith("10⁻¹")
    scan.click()
    press(page, "Train")
    wait_for_end(page)
    assert not page.get_by_text("both ways").is_visible()


def test_out_of_sight_it_rests_and_in_sight_it_goes_on_unless_it_was_paused(trainer):
    page = trainer(rate=1e-9, most=10**6)
    page.evaluate("document.body.style.height = '4000px'")
    for end, name in (("Train", "Pause"), ("Pause", "Train")):
        press(page, end)
        for place, there in ((3000, "Train"), (0, name)):
            page.evaluate(f"scrollTo(0, {place}), {FRAMES}")
            page.get_by_role("button", name=there, exact=True).wait_for()
    page.evaluate(f"scrollTo(0, 3000), {FRAMES}")
    hidden = "Object.defineProperty(document, 'hidden', {value: true, configurable: true})"  # told after a link's wish
    page.evaluate(f"document.querySelector('[name=trained]').held.set('1'), {hidden}")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange')), delete document.hidden, scrollTo(0, 0)")
    page.get_by_role("button", name="Pause", exact=True).wait_for()


def test_taken_out_of_the_page_its_worker_ends(trainer):
    page = trainer(rate=1e-9, most=10**6)
    press(page, "Train")
    page.wait_for_function("document.querySelector('.live-told').innerText.includes('step')")
    assert len(page.workers) == 1
    page.evaluate("document.querySelector('figure').remove()")
    page.wait_for_timeout(500)
    assert not page.workers


def test_controls_that_a_page_leaves_out_are_not_there(trainer):
    ghosts = {"gru": {"step": [1, 100], "error": [0.5, 0.01], "norms": [0.1, 1]}}
    page = trainer(controls=["cells"], cells=["rnn", "gru"], gradients=False, ghosts=ghosts)
    assert page.locator("path.live-pale.live-gru").count() == page.locator(".live-chart").count() == 1
    assert page.get_by_role("slider").count() == 0 and page.get_by_role("combobox").count() == 0
    assert page.get_by_role("checkbox").count() == 5
    assert page.get_by_role("checkbox", checked=True).count() == 2


def test_reduced_motion_redraws_seldom(trainer):
    counts = []
    for motion in ("no-preference", "reduce"):
        page = trainer(rate=1e-9, most=10**6, context={"reduced_motion": motion})
        page.evaluate("""() => {
          window.drawn = 0
          new MutationObserver(() => window.drawn++).observe(document.querySelector('.live-told'), {childList: true})
        }""")
        press(page, "Train")
        page.wait_for_timeout(2500)
        counts.append(page.evaluate("drawn"))
        press(page, "Pause")
    assert counts[1] <= 4 < counts[0]


RUN = {"kind": "gru", "length": 100, "steps": 310, "errors": [0.15], "share": 2e-2, "state": "learning", "asked": []}


@pytest.mark.parametrize(("change", "words"), [
    ({"events": {"opened": 148, "moved": 303}}, "Gradient reached 10⁻³ at step 148; error left 1/6 at step 303."),
    ({"events": {"opened": 1}}, "10⁻² of that at the last. Error still at 1/6."),
    ({"events": {"opened": 148}, "share": 0}, "gradient at the first state 0 of"),
    ({"events": {}, "state": "diverged", "errors": [1e9]}, "error above 10,000"),
    ({"events": {"opened": 1, "moved": 200, "learned": 310}, "state": "learned"}, "1/6 at step 200; learned"),
    ({"events": {}, "steps": 0, "errors": []}, "GRU: not trained yet."),
])  # fmt: skip
def test_words(live, change, words):
    page = live("controls", "chart", "train-words")
    assert words in page.evaluate("(run) => RTX.trainWords.told(run)", {**RUN, **change})


def test_answers_stand_beside_the_sums_that_were_asked(live):
    """A cell that has ended was asked another sum than the others."""
    runs = [{**RUN, "kind": kind, "asked": asked, "answer": sum(asked) + 0.01, "events": {}}
            for kind, asked in [("rnn", [0.5, 0.25]), ("gru", [0.125, 0.5]), ("lstm", [0.5, 0.25])]]  # fmt: skip
    said = live("controls", "chart", "train-words").evaluate("(runs) => RTX.trainWords.question(runs)", runs)
    first = "0.50 + 0.25 = 0.75, tanh RNN says 0.76, LSTM says 0.76"
    assert said == f"Asked last: {first}; 0.13 + 0.50 = 0.63, GRU says 0.64."
