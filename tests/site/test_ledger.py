"""The filter of the ledger in the browser: it leaves as many claims as its labels say."""

import sys
from collections import Counter

import page_checks
import pytest
from page_checks import visit
from support.helpers import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))
import ledger

HEAD = (
    '<meta name="viewport" content="width=device-width">'
    f"<style>{(ROOT / 'book' / 'assets' / 'site.css').read_text(encoding='utf-8')}</style>"
)
CHAPTERS = (
    (ledger.HOLDS, ledger.CONTRADICTED, ledger.CONTRADICTED),
    (ledger.UNDECIDED, ledger.UNDECIDED, ledger.CONTRADICTED),
    (ledger.SHORT, ledger.NOBODY),
)
LEFT = "name => [...document.querySelectorAll(name)].filter(e => e.checkVisibility()).length"


@pytest.mark.parametrize("look", ["light", "phone"])
def test_every_choice_leaves_what_its_label_says(contexts, planted, look):
    chapters = [[f'<div class="claim {ledger.css(outcome)}">A claim</div>' for outcome in own] for own in CHAPTERS]
    body = "".join(f'<section class="claims"><h2>A chapter</h2>{"".join(claims)}</section>' for claims in chapters)
    count = Counter(outcome for own in CHAPTERS for outcome in own)
    with visit(contexts[look], planted(f"<article>{ledger.chooser(count)}{body}</article>", HEAD)) as seen:
        labels = seen.page.query_selector_all(".ledger-filter label")
        assert len(labels) == 1 + len(ledger.VERDICTS)
        for label in labels:
            label.click()
            name, _, said = label.inner_text().strip().partition(" (")
            assert said == f"{seen.page.evaluate(LEFT, '.claim')})"
            chapters_with_it = sum(name == "all" or name in own for own in CHAPTERS)
            assert seen.page.evaluate(LEFT, ".claims") == chapters_with_it
        assert not seen.faults + page_checks.overflow(seen.page)
