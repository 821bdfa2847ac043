"""The captioner of the page beside the library's, however it is told; its scenes and captions; the widget in use."""

from pathlib import Path

import pytest
import torch
from live.parity import BAR, arrays, disturb, error
from live.widgets import GIVEN, press

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers.decoding import greedy
from rtx_lib.models.captioner import WAYS, Captioner
from rtx_lib.tasks import Scenes

PARTS = ("arithmetic", "recurrent", "captioner")
READ = Path(__file__).with_name("scene-read.js").read_text()
DRAW = """({digits, scans}) => {
  const scene = digits.map(([digit, size, x, y]) => ({digit: String(digit), size, x, y, ink: scans[size]}))
  const {words, clear} = RTX.captionScene(scene)
  return lists({picture: RTX.paintScene(scene, 28), words, clear})
}"""


@torch.no_grad()
@pytest.mark.parametrize("told", WAYS)
def test_the_captioner_is_the_librarys(live, double, told):
    page = live(*PARTS)
    for side, width, hidden, channels in ((12, 3, 5, 4), (28, 7, 9, 6), (4, 1, 1, 1)):
        torch.manual_seed(side)
        model = disturb(Captioner(side, 9, told=told, width=width, hidden_size=hidden, channels=channels), 0.2)
        picture, words = torch.rand(1, side, side), torch.randint(9, (1, 5))
        given = {"weights": arrays(model), "picture": picture.flatten().tolist(), "words": words[0].tolist()}
        found = page.evaluate(READ, given)
        assert found["told"] == told and error(found["logits"], model((picture, words))[0]) < BAR
        wrote = greedy(model, picture, start=1, end=2, max_length=6)[0].tolist()
        assert found["wrote"][: len(wrote)] == wrote
        if told == "attention":
            with record_attention(model) as seen:
                model((picture, words))
            assert error(found["weights"], seen[0][1]) < BAR
        else:
            assert found["weights"] == [None] * 5


def test_the_page_draws_and_names_what_the_task_does(live, double):
    page, task = live(*PARTS), Scenes()
    images, sizes, places, counts = (part[:60] for part in task.splits.finite("test"))
    (_, _), y = task._lay_out(images, sizes, places, counts)
    scans = {name: torch.rand(side, side).tolist() for name, side in (("small", 8), ("big", 11))}
    for i in range(60):
        lie = zip(images[i], sizes[i], places[i].tolist(), strict=True)
        digits = [[int(task._digits[m]), ("small", "big")[size], *at] for m, size, at in [*lie][: counts[i]]]
        found = page.evaluate(DRAW, {"digits": digits, "scans": scans})
        named = [task.words[8 + int(word)] if word.isdigit() else word for word in found["words"]]
        assert " ".join(named) == task.decode(y[i]) and found["clear"] >= 3
        picture = torch.zeros(28, 28)
        for _, size, x, top in digits:
            ink = torch.tensor(scans[size])
            picture[top : top + len(ink), x : x + len(ink)] += ink
        assert error(found["picture"], picture) < BAR


def said(page):
    return page.locator(".live-task").inner_text()


def test_a_digit_is_moved_and_changed_by_keyboard(widget):
    page = widget("scene")
    assert said(page) == "By the grammar: a small three left of a big seven."
    first = page.locator(".scene-digit").first
    first.focus()
    first.press("ArrowRight")
    first.press("Shift+ArrowDown")
    assert first.get_attribute("aria-label") == "small three, 3 from the left, 8 from the top"
    first.press("5")
    first.press(" ")
    assert said(page).startswith("By the grammar: a big five left of a big seven.")
    for _ in range(4):
        first.press("Shift+ArrowDown")
    assert first.get_attribute("aria-label") == "big five, 3 from the left, 17 from the top", "it stays in the picture"
    first.press("ArrowLeft")
    assert said(page).startswith("By the grammar: a big seven above a big five. That is a close call")


def test_a_digit_is_dragged_and_its_fields_say_the_same(widget):
    page = widget("scene")
    box = page.locator(".scene-digit").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 20, y + 150, steps=3)
    page.mouse.up()
    assert said(page).startswith("By the grammar: a big seven above a small three.")
    page.get_by_label("Digit 1").select_option("9")
    page.get_by_role("checkbox", name="big").first.check()
    assert said(page).startswith("By the grammar: a big seven above a big nine.")
    page.get_by_label("a third digit").check()
    assert page.locator(".scene-digit").count() == 3 and len(said(page).split(" a ")) == 4
    press(page, "Another scene")
    assert "a big one" in said(page) and page.get_by_label("a third digit").is_checked()


def test_each_model_says_its_words_and_the_one_that_looks_back_shows_where(widget):
    page = widget("scene")
    assert page.locator(".live-head").all_inner_texts() == list(GIVEN["scene"]()["models"])
    rows = page.locator(".scene-words")
    assert rows.nth(0).locator("span").count() > 0 and rows.nth(0).locator("button").count() == 0
    buttons = rows.nth(2).locator("button")
    buttons.nth(0).click()
    assert buttons.nth(0).get_attribute("aria-pressed") == "true"
    looks = page.eval_on_selector_all(".scene-looks path", "all => all.map((e) => +e.getAttribute('fill-opacity'))")
    assert len(looks) == 49 and max(looks) == 0.75
    page.wait_for_function("document.querySelector('[role=status]').textContent.includes('at every word:')")
