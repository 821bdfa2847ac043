"""The panel of pieces: the page cuts every text as the library does, and shows each merge."""

import numpy as np
import pytest
from live.widgets import press, told

from rtx_book.page.live.packing import pack_merges
from rtx_lib.tasks import BytePairs, GPTPieces

ENCODE = "({set, texts}) => { const made = new RTX.Pieces(set); return texts.map((text) => made.encode(text)) }"
TEXT = "def f(x):\n    return x  # it's four hundred twelve, 412\n\n你好, мир! don't we'll\n"


def of_the_page(live, made, texts):
    return live("pieces").evaluate(ENCODE, {"set": pack_merges(made), "texts": texts})


def drawn(count):
    """Texts of letters, numbers, signs and white space from all over Unicode, in which merges are at work."""
    draw = np.random.default_rng(0)
    signs = [*"\n\t '.1²Ⅷ٣éßЖ中文🙂\u3000\u0085\ufeff\x1c_", *TEXT]
    return ["".join(draw.choice(signs, draw.integers(0, 30))) for _ in range(count)]


def test_ids_are_the_librarys(live):
    pairs, texts = BytePairs.learn(TEXT * 5, 80), [TEXT, *drawn(2000)]
    assert of_the_page(live, pairs, texts) == [*map(pairs.encode, texts)]
    assert live("pieces").evaluate("new RTX.Pieces({alphabet: [...'!a'], merges: '\u0101\u0100'}).encode('a')") == [1]


@pytest.mark.data("gpt_bpe")
def test_ids_are_those_of_gpt(live):
    pieces, texts = GPTPieces(), [TEXT, "four hundred twelve", *drawn(300)]
    texts = [text.replace("\x1c", "") for text in texts]  # which Python's split takes for white space
    assert of_the_page(live, pieces, texts) == [*map(pieces.encode, texts)]


def boxes(page):
    return page.locator(".pieces-strip b").all_inner_texts()


def test_merges_are_undone_and_done_again_by_keyboard(widget):
    page = widget("pieces")
    assert boxes(page) == ["four", "␣hundred"]
    slider = page.get_by_role("slider")
    slider.press("Home")
    assert "".join(boxes(page)) == "four␣hundred" and len(boxes(page)) == 12
    assert "before the first of" in slider.get_attribute("aria-valuetext")
    assert page.get_by_role("button", name="One merge back").is_disabled()
    press(page, "One merge on")
    assert len(boxes(page)) < 12 and page.locator(".pieces-new").count()
    slider.press("End")
    assert boxes(page) == ["four", "␣hundred"] and "→" in slider.get_attribute("aria-valuetext")


def test_a_character_of_several_bytes_and_one_without_an_id(widget):
    page = widget("pieces")
    press(page, "Chinese")
    page.get_by_role("slider").press("Home")
    assert boxes(page) == ["…"] * 6 + ["␣", "a", "t"]
    page.get_by_role("radio", name="letters").check()
    assert boxes(page) == ["unknown", "unknown", "at</w>"] and "letters 3 (2 unknown)" in page.inner_text("main")
    assert told(page, "In pieces: unknown") == "In pieces: unknown, unknown, at</w>"
