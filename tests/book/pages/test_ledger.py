"""The filter of the ledger in the browser: it leaves as many claims as its labels say."""

from collections import Counter

import pytest
from pages import page_checks
from support.helpers import ROOT

from rtx_book.claims.claims import CONTRADICTED, HOLDS, NOBODY, SHORT, UNDECIDED, VERDICTS
from rtx_book.sphinx.generated import TEMPLATES

STYLE = (ROOT / "book" / "assets" / "site.css").read_text(encoding="utf-8")
HEAD = f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
CHAPTERS = ((HOLDS, CONTRADICTED, CONTRADICTED), (UNDECIDED, UNDECIDED, CONTRADICTED), (SHORT, NOBODY))
LEFT = "name => [...document.querySelectorAll(name)].filter(e => e.checkVisibility()).length"


@pytest.mark.parametrize("look", ["light", "phone"])
def test_every_choice_leaves_what_its_label_says(opened, planted, look):
    claim = '<div class="claim claim-{}">A claim</div>'
    chapters = [[claim.format(outcome.replace(" ", "-")) for outcome in own] for own in CHAPTERS]
    body = "".join(f'<section class="claims"><h2>A chapter</h2>{"".join(claims)}</section>' for claims in chapters)
    count = Counter(outcome for own in CHAPTERS for outcome in own)
    chooser = TEMPLATES.get_template("html.jinja").module.chooser(count)
    page = opened(planted(f"<article>{chooser}{body}</article>", HEAD), look)
    labels = page.query_selector_all(".ledger-filter label")
    assert len(labels) == 1 + len(VERDICTS)
    for label in labels:
        label.click()
        name, _, said = label.inner_text().strip().partition(" (")
        assert said == f"{page.evaluate(LEFT, '.claim')})"
        chapters_with_it = sum(name == "all" or name in own for own in CHAPTERS)
        assert page.evaluate(LEFT, ".claims") == chapters_with_it
    assert not page_checks.overflow(page)
