"""The page's BERT beside the library's, and the figure whose gaps it fills."""

import torch
from live.parity import BAR, arrays, disturb, error
from live.widgets import GIVEN, WORDS

from rtx_lib.models import BERT

SIZES = [(5, 4, 1, 1), (9, 8, 2, 2), (30, 24, 4, 3)]  # words, width, heads, layers
PREDICT = """({weights, heads, ids, places}) => lists(new RTX.Bert(matrices(weights), {heads}).predict(ids, places))"""


def far(page, size, length=7):
    """The largest error of the logits at all places of one text."""
    words, width, heads, layers = size
    torch.manual_seed(0)
    model = disturb(BERT(words, width=width, heads=heads, layers=layers, length=length + 2), 0.3)
    ids = torch.randint(1, words, (1, length), generator=torch.Generator().manual_seed(1))
    told = {"weights": arrays(model), "heads": heads, "ids": ids[0].tolist(), "places": list(range(length))}
    with torch.no_grad():
        return error(page.evaluate(PREDICT, told), model(ids)[0][0])


def test_bert_of_the_page_is_the_librarys(live, double):
    page = live("arithmetic", "attention", "bert")
    for size in SIZES:
        assert far(page, size) < BAR, size
        assert far(page, size, length=1) < BAR, size


def test_the_guesses_are_those_of_the_model_and_words_can_be_hidden(widget):
    page = widget("gaps")
    torch.manual_seed(0)
    model = GIVEN["gaps"]()["models"]["BERT"]
    rows = page.locator(".gaps-guesses tr")
    assert page.locator(".gaps-guesses table").count() == 1 and rows.count() == 5
    with torch.no_grad():
        logits = model(torch.tensor([[2, 5, 6, 4, 8, 9, 3]]))[0][0, 3]
    best = int(logits[5:].argmax()) + 5
    assert rows.first.locator("th").inner_text() == WORDS[best]
    page.locator(".gaps-word").nth(1).press("Enter")
    assert page.locator(".gaps-guesses caption").all_inner_texts() == ["Gap 1, which hides “cat”", "Gap 2"]
    assert page.evaluate("document.activeElement.textContent") == "____"
    page.locator(".gaps-word").nth(1).press("Enter")
    assert page.locator(".gaps-guesses table").count() == 1


def test_gaps_are_filled_and_an_unknown_word_is_named(widget):
    page = widget("gaps", examples={"No gap": "the cat"})
    page.get_by_role("button", name="Fill the gaps all at once").click()
    assert page.locator(".gaps-filled li").count() == 1 and page.locator(".gaps-filled b").inner_text() in WORDS[5:]
    page.get_by_label("Your words").fill("the zebra _ _ _ _ _ _ _ _")
    assert "does not know zebra" in page.locator(".live-task").inner_text()
    assert page.locator(".gaps-word").count() == 6, "as many as the model has places for, less the frame"
    page.get_by_role("button", name="No gap").click()
    assert page.get_by_role("button", name="Fill one after the other").is_disabled()
    assert "type _ for a gap" in page.locator(".live-task").inner_text()


def test_what_exists_is_counted(widget):
    page = widget("gaps", text="_ _", draws=20, exist=[f"{a} {b}" for a in WORDS[5:] for b in WORDS[5:]])
    ways = (("Fill the gaps all at once", "All at once"), ("Fill one after the other", "One after the other"))
    for name, way in ways:
        page.get_by_role("button", name=name).click()
        assert page.locator(".live-status").inner_text() == f"{way}: 20 of 20 exist."
        assert page.locator(".gaps-filled li").count() == 20


def test_what_a_button_says_is_not_talked_over_by_what_was_typed_before(widget):
    page = widget("gaps", text="_ _", draws=20, exist=["the cat"])
    page.clock.install()
    page.get_by_label("Your words").fill("the _ _")
    page.get_by_role("button", name="Fill the gaps all at once").click()
    page.clock.run_for(5000)
    assert page.locator(".live-status").inner_text().startswith("All at once: ")
    page.get_by_label("Your words").fill("_ the _")
    page.clock.run_for(5000)
    assert page.locator(".live-status").inner_text().startswith("Gap 1: "), "without a button it is said"
