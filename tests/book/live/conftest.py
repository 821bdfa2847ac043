"""The page in which the live models are tested: opened from a file, as a reader may open it, with nothing but them."""

from contextlib import ExitStack

import pytest
from live.parity import IN_THE_PAGE, PARTS
from pages import page_checks

FIRST = ("base", "engine")  # in every page, before the parts that a test names


@pytest.fixture
def live(browser, tmp_path):
    """`live("arithmetic", "recurrent")`: a page with these parts of book/rtx_book/page/live, after base and engine.

    body, head: HTML that stands there besides. slips: {a part: (text, what to put in its place)}, mistakes that the
    test plants. expected: words of the one kind of error that the page may meet. At the end of the test nothing else
    may have gone wrong on these pages: no error, no request.
    """
    with ExitStack() as stack:
        visits = []
        context = browser.new_context(viewport=page_checks.DESKTOP)
        stack.callback(context.close)

        def open_page(*parts, body="", head="", slips=None, expected=None):
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
            visit = stack.enter_context(page_checks.visit(context, path.as_uri()))
            visits.append((visit, (path.name, *([expected] if expected else []))))
            return visit.page

        yield open_page
        faults = [(fault, allowed) for visit, allowed in visits for fault in visit.faults]
        assert not [fault for fault, allowed in faults if not any(words in fault for words in allowed)]
