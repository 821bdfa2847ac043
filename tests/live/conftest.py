"""The page in which the live models are tested: opened from a file, as a reader may open it, with nothing but them."""

from contextlib import ExitStack

import page_checks
import pytest
from live.parity import IN_THE_PAGE, PARTS

FIRST = ("base", "engine")  # in every page, before the parts that a test names


@pytest.fixture
def live(browser, tmp_path):
    """`live("arithmetic", "recurrent")`: a page with these parts of rtx_lib/plots/live, after base and engine.

    body, head: HTML that stands there besides. slips: {a part: (text, what to put in its place)}, mistakes that the
    test plants. At the end of the test nothing may have gone wrong on these pages: no error, no request.
    """
    with ExitStack() as stack:
        visits = []
        context = browser.new_context(viewport=page_checks.DESKTOP)
        stack.callback(context.close)

        def open_page(*parts, body="", head="", slips=None):
            scripts = []
            for part in dict.fromkeys([*FIRST, *parts]):
                text = (PARTS / f"{part}.js").read_text()
                if slips and part in slips:
                    old, new = slips[part]
                    assert text.count(old) == 1, f"{part}.js has {text.count(old)} times {old!r}"
                    text = text.replace(old, new)
                scripts.append(f"<script>{text}</script>")
            text = f"<!doctype html><html lang=en><meta charset=utf-8><title>live</title>{head}<body>{body}"
            path = tmp_path / f"page{len(visits)}.html"
            path.write_text(f"{text}{''.join(scripts)}<script>{IN_THE_PAGE}</script>")
            visits.append(stack.enter_context(page_checks.visit(context, path.as_uri())))
            return visits[-1].page

        yield open_page
        assert not [fault for one in visits for fault in one.faults if f"file://{tmp_path}" not in fault]
