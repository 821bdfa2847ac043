"""A memory taken out, cut and moved in the page goes on as the library's; and the panel that does it, in use."""

from functools import partial

import pytest
import torch
from live.parity import BAR, arrays, error
from live.widgets import GIVEN, LETTERS

from rtx_book.page import live_rope
from rtx_book.page.live_rope import LANES, SIGNS
from rtx_book.runs.told import ropes
from rtx_lib.layers.positions import Rotary

PARTS = ("arithmetic", "recurrent", "attention", "fast-weights", "mixers", "transplant")
RUN = """({weights, off, settings}) => {
  const writer = new RTX.Writer(matrices(weights), LETTERS, settings), after = []
  const step = writer.read('first', 'abc de').at(-1)
  writer.read('first', 'abd')  // which changes nothing of what was handed out
  let one = writer.cut(step, new Set(off))
  for (const c of 'fed') after.push((one = writer.next(one, c)).logits)
  return lists([step.logits, after, writer.parts(step).length])
}""".replace("LETTERS", repr(LETTERS))
CUTS = {  # how the memory of a layer looks without some of its parts
    "GRU": lambda h, gone: h.index_fill(-1, gone, 0),
    "DeltaNet": lambda own, gone: (own[0].index_fill(-2, gone, 0), own[1]),
    "Transformer": lambda own, gone: own,  # all keep their places, see `Without`
}


class Without(Rotary):
    gone = ()

    def score_bias(self, q, k, offset):
        return q.new_zeros(k.shape[-2]).index_fill(0, self.gone, -torch.inf)


@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize("off", [[], [1, 2, 11]])
@torch.no_grad()
def test_a_memory_goes_on_as_the_librarys(live, double, name, off):
    given, cards = GIVEN["transplant"](), name == "Transformer"  # cut in all layers at once
    model, settings = given["models"][name].double(), given["reads"].get(name, {})
    first, second = (torch.tensor([[LETTERS.index(c) for c in text]]) for text in ("abc de", "fed"))
    found, after, parts = live(*PARTS).evaluate(RUN, {"weights": arrays(model), "off": off, "settings": settings})
    logits, state = model(first)
    places = [torch.tensor([i % 8 for i in off if i // 8 == k]).long() for k in range(2)]
    for mixer in model.mixers if cards else ():
        mixer.attention.positions.__class__, mixer.attention.positions.gone = Without, places[0]
    wanted = model(second, tuple((past, CUTS[name](own, places[k])) for k, (past, own) in enumerate(state)))[0]
    assert error(found, logits[0, -1]) < BAR and error(after, wanted) < BAR
    assert parts == (6 if cards else 16)


def test_taken_dropped_cut_and_given_back_by_keyboard_and_by_mouse(widget):
    page = widget("transplant")
    texts, memory = page.locator(".transplant-text"), page.locator(".transplant-memory").last
    words = page.locator(".transplant-words").last.inner_text
    texts.first.press("ArrowRight")
    assert texts.first.get_attribute("aria-valuetext") == "letter 5 of 6, “d”" and "text 1’s: " in words()
    texts.first.press("Enter")
    assert texts.last.evaluate("(box) => box === document.activeElement")
    memory.press("Enter")
    assert "1 cut: " in words() and memory.get_attribute("aria-valuetext") == "card 1, “a”, cut out"
    texts.first.locator("span").nth(1).drag_to(texts.last.locator("span").nth(3))
    values = [texts.nth(i).get_attribute("aria-valuetext") for i in range(2)]
    assert values == ["letter 2 of 6, “b”", "letter 4 of 7, space"] and "cut" not in words()
    texts.last.press("Enter")
    own, now = words().split("\n")
    assert own.partition(": ")[2] == now.partition(": ")[2]


WITHOUT = """({weights, settings}) => {
  const writer = new RTX.Writer(matrices(weights), SIGNS, settings), step = writer.read('first', 'tiger~+=').at(-1)
  return writer.parts(step).map((_, i) => writer.write(writer.next(writer.cut(step, new Set([i])), '>'), 5))
}""".replace("SIGNS", repr(SIGNS))


def test_without_a_number_letters_trade_places_and_without_a_card_its_letter_is_gone(live):
    """What *Gates* and *The Transformer* say of the models that they show."""
    models = ropes()
    told = [{"weights": arrays(models[name]), "settings": LANES[name]} for name in ("GRU", "Transformer")]
    strip, row = (live(*PARTS).evaluate(WITHOUT, one) for one in told)
    gone = (partial(torch.index_fill, dim=-1, index=torch.tensor(i), value=0) for i in range(96))
    assert strip == [live_rope.write_back(models["GRU"], "tiger~+=", ">", without)[0] for without in gone]
    assert (96 - strip.count("tiger"), sum(sorted(word) == sorted("tiger") for word in strip)) == (13, 95)
    assert row[5:] == ["tiger"] * 3
    assert all(word.startswith("tiger"[:i]) and "tiger"[i] not in word for i, word in enumerate(row[:5]))


def test_the_panel_writes_what_its_title_says(widget, monkeypatch):
    monkeypatch.setattr(live_rope, "play", lambda kind, models, still, alt, **told: {"models": models} | told)
    cases = {"its own": ("mouse~*:", ">"), "the tiger's": ("tiger", "mouse~*:>")}
    how = {"texts": [["tiger~", "mouse~*:>"]], "taken": 5, "dropped": 0}
    told = live_rope.play_transplant("Transformer", ropes()["Transformer"], cases, "{0} {1}", **how)
    page, writes = widget("transplant", **told), []
    for _ in range(3):  # whole, with a card cut, with it again
        lines = page.locator(".transplant-words").inner_text().split("\n")
        writes.append([line.partition(": ")[2] for line in lines])
        page.locator(".transplant-memory").press("Enter")
    whole, (own, cut), again = writes
    assert whole == again == told["title"].split() and own == whole[0] and cut != whole[1]


def test_a_cue_asks_for_the_letters_before_it(widget):
    page = widget("transplant", cue=" ", texts=[["abc de", "FEd a"]])
    words = page.locator(".transplant-words").first.inner_text
    assert [len(line.partition(": ")[2]) for line in words().split("\n")] == [2, 1]
    page.get_by_label("Text 2", exact=True).fill("fed")
    assert "has no space" in page.locator(".transplant-line + .live-task").inner_text()


def test_any_text_can_be_written(widget):
    page = widget("transplant")
    for text, count in (("", 0), ("🙂", 0), ("שלום", 0), ("abc" * 5000, 72)):
        for which in ("Text 1", "Text 2"):
            page.get_by_label(which, exact=True).fill(text)
        assert ("nothing is read" in page.locator(".transplant-words").first.inner_text()) == (not count)
        assert ("never saw" in page.locator(".transplant-line + .live-task").inner_text()) == (bool(text) and not count)
        assert page.locator(".transplant-text").last.locator("span").count() == count
