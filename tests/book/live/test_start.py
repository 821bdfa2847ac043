"""Where live figures must start, or stay the picture that they were: file, frame, notebook, site, paper."""

import html
import re
import shutil
from contextlib import ExitStack
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from live.widgets import GIVEN, two_readers
from pages import page_checks
from support.helpers import ROOT

from rtx_book.page import live
from rtx_book.page.live import play

PROBE = (ROOT / "tests/book/live/widget-probe.js").read_text()
HEAD = '<!doctype html><html lang=en><meta charset=utf-8><link rel=icon href="data:,"><title>Page</title>'
FAR = '<div style="height:4000px">far</div>'
DARK = "<style>:root { --colab-primary-text-color: #fff; --colab-primary-surface-color: #383838 }</style>"
FIRST = "one => (one.classList.add('live-first'), ['color', 'background-color'].map((s) => getComputedStyle(one)[s]))"
# As JupyterLab shows an output: the HTML first, then each script made anew.
AS_JUPYTERLAB = Path(__file__).with_name("start-as-jupyterlab.js").read_text()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The real scripts and the probe beside them, as the library's folder."""
    place = tmp_path / "library"
    shutil.copytree(live.folder(), place, ignore=shutil.ignore_patterns("*.py*", "__pycache__"))
    (place / "widget-probe.js").write_text(PROBE)
    monkeypatch.setitem(live.PARTS, "probe", ("widget-probe",))
    monkeypatch.setattr(live, "folder", lambda: place)
    return place


@pytest.fixture
def output(folder):
    """A probe as a notebook's output."""

    def make(**options):
        models = {"m": {"w": [[1.5, -2.0, 0.25], [3.0, 0.0, 1e-3]]}} if options.pop("weights", True) else None
        fig, ax = plt.subplots()
        ax.plot([0, 1])
        return play("probe", models, still=fig, alt="a rising line", title="It rises", **options)._repr_html_()

    return make


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page from a file, for a visit that keeps what went wrong."""
    with ExitStack() as stack:

        def open_page(body, hash_="", **settings):
            path = tmp_path / "page.html"
            path.write_text(HEAD + body)
            context = browser.new_context(**({"viewport": page_checks.DESKTOP} | settings))
            stack.callback(context.close)
            return stack.enter_context(page_checks.visit(context, path.as_uri() + hash_))

        yield open_page


def faults(visit):
    """What went wrong, but for reading files."""
    return [fault for fault in visit.faults if not fault.startswith("request to elsewhere: file:")]


def started(place, count=1):
    """Wait until the figures of a page or frame stand; the text of the first."""
    place.wait_for_function("n => document.querySelectorAll('figure[data-state=ready]').length === n", arg=count)
    assert not place.locator(".live-still").first.is_visible()
    return place.locator(".live-body .out").first.inner_text()


SAYS = f"2 3 1.5 -2 0.25 3 0 {float(np.float16(1e-3))!r}"


def test_an_output_starts_from_a_file_and_its_weights_are_numpys(output, opened):
    visit = opened(output())
    assert started(visit.page) == SAYS
    visit.page.wait_for_function("document.querySelector('.worked').textContent === '42 worker'")
    assert not faults(visit)
    assert visit.page.locator("figure > .fig-title").is_visible()


def test_scripts_made_anew_by_the_notebook_start_the_figure(output, opened):
    visit = opened("<body>")
    for count in (1, 2):
        visit.page.evaluate(AS_JUPYTERLAB, output())
        assert started(visit.page, count) == SAYS
    assert not faults(visit)


@pytest.mark.parametrize(("theme", "greys"), [("", (255, 0)), (DARK, (56, 255))])
def test_a_frame_without_rights_starts_it_and_its_first_button_is_read(output, opened, theme, greys):
    """As Colab shows an output; Colab itself was not tried."""
    page = html.escape(theme + output())
    visit = opened(f'<iframe sandbox="allow-scripts" width=900 height=900 srcdoc="{page}"></iframe>')
    frame = visit.page.frames[1]
    assert started(frame) == SAYS
    frame.wait_for_function("document.querySelector('.worked').textContent === '42 worker'")
    assert frame.get_by_role("button", name="Go").evaluate(FIRST) == [f"rgb({grey}, {grey}, {grey})" for grey in greys]
    assert not faults(visit)


def test_a_page_with_a_module_loader_does_not_steal_it(output, opened):
    loader = "window.define = (...all) => { throw Error('stolen') }; define.amd = {}; window.require = define"
    visit = opened(f"<script>{loader}</script>{output()}")
    assert started(visit.page) == SAYS and not faults(visit)


@pytest.mark.parametrize("policy", ["script-src 'unsafe-inline'", "script-src 'unsafe-inline'; worker-src 'none'"])
def test_where_workers_and_eval_are_forbidden_the_page_does_the_work(output, opened, policy):
    visit = opened(f'<meta http-equiv="Content-Security-Policy" content="{policy}">' + output())
    assert started(visit.page) == SAYS
    visit.page.wait_for_function("document.querySelector('.worked').textContent === '42 page'")
    assert [fault for fault in faults(visit) if "worker" not in fault.lower() and "blob:" not in fault] == []


def test_where_a_widget_fails_the_picture_stays_and_the_page_goes_on(output, opened):
    visit = opened(output(fails=True) + output())
    visit.page.wait_for_selector("figure[data-state=failed]")
    visit.page.wait_for_selector("figure[data-state=ready]")
    assert visit.page.locator(".live-still").first.is_visible() and visit.page.locator(".live-body").count() == 1
    assert not faults(visit)


def test_every_control_works_by_keyboard_and_says_what_changed(output, opened):
    visit = opened(output() + "<script>addEventListener('keydown', () => { window.leaked = true })</script>")
    page = visit.page
    started(page)
    said = []

    def press(locator, key):
        locator.focus()
        page.keyboard.press(key)
        said.append(page.locator(".out").inner_text())

    slider = page.get_by_role("slider", name="length", exact=True)  # without its value
    assert slider.get_attribute("aria-valuetext") == "20 steps" == page.locator("output").inner_text()
    press(slider, "ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "50 steps" == page.locator("output").inner_text()
    press(page.get_by_role("radio", name="tanh RNN"), "ArrowDown")
    press(page.get_by_role("checkbox", name="clip"), "Space")
    press(page.get_by_role("combobox", name="rate"), "ArrowUp")
    press(page.get_by_role("button", name="Go"), "Enter")
    assert said == ["length 50", "cell gru", "clip false", "rate 0.01", "gone"]
    assert page.get_by_role("group", name="cell").is_visible()
    assert page.locator("[role=status]").inner_text() == "length 50", "the others came within six seconds"
    assert page.evaluate("window.leaked") is None, "JupyterLab takes keys that leave the figure"
    page.wait_for_function("document.querySelector('[role=status]').textContent === 'gone'")
    assert not faults(visit)


def test_targets_are_large_on_a_phone(output, opened):
    visit = opened('<meta name=viewport content="width=device-width">' + output(), viewport=page_checks.PHONE)
    page = visit.page
    started(page)
    heights = page.evaluate("[...document.querySelectorAll('.live-body :is(label, button)')].map(e => e.offsetHeight)")
    assert min(heights) >= 44


def test_names_at_the_ends_of_lines_stand_in_their_order(output, opened):
    page = opened(output()).page
    started(page)
    names = page.evaluate("""[...document.querySelectorAll('.live-names text')].filter(t => t.textContent)
      .map(t => [+t.getAttribute('y'), t.textContent])""")
    assert [name for _, name in sorted(names)] == ["second", "first", "third", "broken"]
    broken = page.locator(".live-chart .live-line").nth(3).get_attribute("d")
    assert broken.count("M") == 1 and broken.count("L") == 1
    ticks = page.locator(".live-grid text").all_text_contents()
    assert "10⁻¹²" in ticks and "1" in ticks and "step" in ticks


@pytest.fixture
def page_of_the_site(folder, output, tmp_path):
    """A page as the site has it: the body, and `_static` beside it."""

    def make(*outputs):
        static = tmp_path / "_static"
        shutil.copytree(folder, static / "live", dirs_exist_ok=True)
        shutil.copyfile(ROOT / "book/assets/live-loader.js", static / "live-loader.js")
        figures = []
        for text in outputs or (output(),):
            figure, files = live.for_site(text)
            assert not re.search("<script|<style", figure)
            for name, script in files.items():
                (static / "live" / name).write_text(script)
            figures.append(figure)
        return f'<script src="_static/live-loader.js"></script>{FAR}{"".join(figures)}'

    return make


def asked(visit):
    """Files of `_static/live` that the page asked for."""
    return [fault.rpartition("/")[2] for fault in visit.faults if "/_static/live/" in fault]


def test_the_site_loads_nothing_before_the_reader_comes_near_and_then_each_file_once(page_of_the_site, output, opened):
    visit = opened(page_of_the_site(output(), output(), output(weights=False, word="without")))
    page = visit.page
    page.wait_for_timeout(500)
    assert asked(visit) == [] and page.locator(".live-still").first.is_visible()
    page.locator("figure").first.scroll_into_view_if_needed()
    assert started(page, 3) == SAYS
    assert page.locator(".out").all_inner_texts() == [SAYS, SAYS, "none without"]
    names = asked(visit)
    assert len(names) == len(set(names)) and len([name for name in names if name.startswith("weights-")]) == 1
    assert set(names) >= {"live.css", *(f"{part}.js" for part in live.parts_of("probe"))}
    assert not faults(visit)


@pytest.mark.parametrize("missing", ["weights-*.js", "widget-probe.js", "engine.js", "base.js", "live.css"])
def test_where_a_file_does_not_come_the_picture_stays_until_then(page_of_the_site, output, opened, tmp_path, missing):
    body = page_of_the_site()
    [path] = (tmp_path / "_static/live").glob(missing)
    path.rename(tmp_path / "gone")
    page = opened(body).page
    page.locator("figure").scroll_into_view_if_needed()
    if missing == "base.js":
        page.wait_for_timeout(500)
    else:
        page.wait_for_selector("figure[data-state=failed]")
    assert page.locator(".live-still svg").is_visible() and not page.locator(".live-body").count()
    (tmp_path / "gone").rename(path)
    page.evaluate("dispatchEvent(new Event('online'))")
    assert started(page) == SAYS


VALUES = "all => all.map(one => [...one.querySelectorAll(':checked, [type=range]')].map(own => own.value))"
START = ["1", "rnn", "0.1", "on"]
LEFT_OUT = "Part of this link does not fit this figure and was left out."


@pytest.mark.parametrize(("hash_", "wanted", "whole"), [
    ("probe=length.2~cell.gru~rate.0%2e01~clip.0", ["2", "gru", "0.01"], True),
    ("probe=clip.0&train=cells.1&&=&x", START[:3], True),
    ("probe=length.9~cell.lstm~rate.7~clip.2~depth.3", START, False),
    ("probe=length.2~%~%E0%A4%A.~__proto__.1~<b>.1", ["2", *START[1:]], False),
    (f"probe={'length.2~' * 9999}", START, False),
    ("probe=\N{PILE OF POO}~\N{HEBREW LETTER ALEF}.\N{HEBREW LETTER BET}", START, False),
    ("far", START, True), ("%", START, True), ("probe", START, True), ("probe-0=length.2&probe=", START, True),
])  # fmt: skip
def test_what_fits_of_an_address_is_taken_up(page_of_the_site, output, opened, hash_, wanted, whole):
    visit = opened(page_of_the_site(output(), output()).replace("<div ", "<div id=far "), hash_=f"#{hash_}")
    visit.page.locator("figure").first.scroll_into_view_if_needed()
    started(visit.page, 2)
    assert visit.page.locator(".live-body").evaluate_all(VALUES) == [wanted, START]
    assert visit.page.locator(".live-left-out").all_inner_texts() == [LEFT_OUT] * (not whole)
    assert not faults(visit)


def test_what_a_reader_sets_stands_in_the_address_and_comes_again(page_of_the_site, output, opened):
    visit = opened(page_of_the_site(output(), output()), hash_="#probe=length.7")
    page, hash_is = visit.page, "wanted => location.hash === wanted"
    started(page, 2)
    assert page.evaluate("scrollY") > 3000, "a link to a figure leads there"
    page.get_by_role("slider", name="length").last.press("ArrowRight")
    page.wait_for_function(hash_is, arg="#probe=length.7&probe-2=length.2")
    page.get_by_role("radio", name="GRU").first.check()
    page.wait_for_function(hash_is, arg="#probe-2=length.2&probe=cell.gru")
    assert not page.locator(".live-left-out").count()
    page.reload()
    page.locator("figure").last.scroll_into_view_if_needed()
    started(page, 2)
    assert page.locator(".live-body").evaluate_all(VALUES) == [["1", "gru", *START[2:]], ["2", *START[1:]]]
    page.evaluate("location.hash = 'probe=rate.0%2E01'")  # a link to the page where one is
    page.wait_for_function("document.querySelector('select').value === '0.01'")
    page.evaluate("location.hash = 'far'")
    page.get_by_role("radio", name="tanh RNN").first.check()
    page.get_by_role("combobox", name="rate").first.select_option("0.1")
    page.wait_for_timeout(500)
    page.wait_for_function(hash_is, arg="#far")  # nothing differs from the start, and an anchor stays
    long = "one.insertAdjacentHTML('beforeend', '<textarea>' + 'x'.repeat(1200))"  # the longest value is left out
    assert "~clip.1" in page.locator(".live-body").first.evaluate(f"one => ({long}, RTX.address.link(one))")
    assert not faults(visit)


LINKS = {  # of a kind, a state in which one control says how far another goes, or that no control holds
    "adder": "first-number.200~second-number.99~colour.size~step.3", "digits": f"ink.{'0k' * 63}2p",
    "fool": "fool.repeats~but-not.flips~bits.011", "gaps": "your-words-for-a-gap.the%20cat%20_%20sat~hidden.0_3",
    "gates": "cell.gru~pulses.2-10_12-40~hands.lstm-3-f-40_gru-0-z-100~chosen.2-r", "scan-tree": "round.2-1-4",
    "positions": f"sequence-symbols-0-to-9-and-a-to-f.{'0a1f' * 25}~position.70", "rope": "a-word.abc~pulled.9-250",
    "pulses": "steps.300~placed.3_200--100", "tune": "begin-with.own~notes.0174",
    "write": f"your-text.{'abc%20' * 60}~memory.3~read-by.LSTM~character.200",
}  # fmt: skip


@pytest.mark.parametrize("kind", LINKS)
def test_a_link_brings_again_what_it_says_and_another_takes_it_back(page_of_the_site, opened, kind):
    given = GIVEN[kind]() | (two_readers() if kind == "write" else {})
    made = play(kind, still=plt.figure(), alt="It rises.", **given)._repr_html_()
    page = opened(page_of_the_site(made, made), hash_=f"#{kind}={LINKS[kind]}").page
    page.wait_for_function("document.querySelectorAll('figure[data-state=ready]').length === 2")
    states = "[...document.querySelectorAll('.live-body')].map(one => RTX.address.link(one).split('=')[1])"
    assert set(LINKS[kind].split("~")) <= set(page.evaluate(states)[0].split("~"))
    assert page.evaluate("localStorage.rtxFool ?? '[]'") == "[]", "what others found is nobody's find here"
    page.evaluate(f"location.hash = '{kind}='")
    page.wait_for_function(f"(([one, start]) => one === start)({states})")
    assert not page.locator(".live-left-out").count()
