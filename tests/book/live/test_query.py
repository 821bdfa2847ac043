"""A query of four words: the page's sums are torch's, and the reader moves the vectors."""

import pytest
import torch
from live.parity import BAR, error
from live.widgets import press

from rtx_book.pictures.attention import FOUR_WORDS, draw_query


@pytest.mark.parametrize("chapter", FOUR_WORDS)
def test_sums_by_hand_are_torchs(live, double, chapter):
    told = FOUR_WORDS[chapter]
    q, k, v = (torch.tensor(told[name], dtype=torch.float64) for name in ("query", "keys", "values"))
    maps = {name: torch.tensor(rows, dtype=torch.float64) for name, rows in told.get("maps", {}).items()}
    scale = 2**0.5 if maps else 1
    for seen in (1, 3, 4):
        how = [told["query"], told["keys"], told["values"], {"scale": scale, "seen": seen}]
        found = live("query").evaluate("(given) => lists(RTX.asked(...given))", how)
        y = (k[:seen] @ q / scale).softmax(0) @ v[:seen]
        assert error(found["y"], y) < BAR and not any(found["weights"][seen:])
    assert not maps or (torch.equal(maps["q"] @ k[told["asks"]], q) and torch.equal(k @ maps["v"].T, v))
    assert error(draw_query(told).axes[1].texts[-2].xy, y) < BAR


def test_a_vector_follows_keys_and_hand(widget):
    page = widget("query")
    weights, tea = page.locator(".query-weight b"), page.get_by_role("slider", name="key of tea")
    assert weights.all_inner_texts() == ["0.04", "0.00", "0.26", "0.70"]
    tea.press("ArrowRight")
    assert tea.get_attribute("aria-valuetext").startswith("(1.5, 1): score 4,")
    tea.locator(".query-ring").hover(force=True)
    page.mouse.down()
    page.mouse.move(0, 0)
    assert tea.get_attribute("aria-valuetext").startswith("(−3.4, 3.4)")
    press(page, "Who drank?")
    press(page, "Start again")
    assert weights.all_inner_texts() == ["0.04", "0.00", "0.26", "0.70"]


def test_a_head_hides_later_words(widget):
    page = widget("query", **FOUR_WORDS["transformer"], questions={})
    page.get_by_label("drank", exact=True).check()
    page.get_by_label("hide later words").check()
    assert page.locator(".query-weight b").all_inner_texts()[2:] == ["0.00", "0.00"]
