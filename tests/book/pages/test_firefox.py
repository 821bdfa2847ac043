"""The built site in Firefox: every live figure starts, and its page has no error in the console."""

from pathlib import Path

import pytest
from support import built

pytestmark = pytest.mark.weekly

START = Path(__file__).with_name("firefox-start.js").read_text()
# The reader presses the first button of the trainer; steps are counted in words.
TRAIN = Path(__file__).with_name("firefox-train.js").read_text()


def test_every_live_figure_starts_without_an_error_and_the_first_one_trains(firefox, site, address):
    found, kinds = [], set()
    for name in built.toc():
        if "data-live=" not in (site.folder / f"{name}.html").read_text(encoding="utf-8"):
            continue
        with firefox.tab(f"{address}{name}.html") as tab:
            states = tab.evaluate(START)
            if not kinds:
                assert "step 1" in tab.evaluate(TRAIN)
            kinds |= {kind for kind, _ in states}
            found += [f"{name}: {kind} {state}" for kind, state in states if state != "ready"]
            found += [f"{name}: {error}" for error in tab.errors]
            elsewhere = [url for url in tab.requests if not url.startswith((address, "data:", "blob:"))]
            found += [f"{name}: request to elsewhere: {url}" for url in elsewhere]
    assert kinds and not found


def test_what_goes_wrong_is_noticed(firefox):
    with firefox.tab("data:text/html,<title>Page</title>") as tab:
        with pytest.raises(AssertionError, match="on purpose"):
            tab.evaluate("Promise.reject(Error('on purpose'))")
        tab.evaluate("setTimeout(() => { throw Error('later') })")
        tab.evaluate("new Promise((done) => setTimeout(done, 200))")
        assert any("later" in error for error in tab.errors)
