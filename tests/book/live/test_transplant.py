"""A memory taken out, cut and moved in the page goes on as the library's; and the panel that does it, in use."""

import pytest
import torch
from live.parity import BAR, arrays, error
from live.widgets import GIVEN, LETTERS

from rtx_lib.layers.positions import Rotary

PARTS = ("arithmetic", "recurrent", "attention", "fast-weights", "mixers", "transplant")
RUN = """({weights, off}) => {
  const writer = new RTX.Writer(matrices(weights), LETTERS), step = writer.read('first', 'abc de').at(-1), after = []
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
    model, cards = GIVEN["transplant"]()["models"][name].double(), name == "Transformer"  # cut in all layers at once
    first, second = (torch.tensor([[LETTERS.index(c) for c in text]]) for text in ("abc de", "fed"))
    found, after, parts = live(*PARTS).evaluate(RUN, {"weights": arrays(model), "off": off})
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


def test_any_text_can_be_written(widget):
    page = widget("transplant")
    for text, count in (("", 0), ("🙂", 0), ("שלום", 0), ("abc" * 5000, 72)):
        for which in ("Text 1", "Text 2"):
            page.get_by_label(which, exact=True).fill(text)
        assert ("nothing is read" in page.locator(".transplant-words").first.inner_text()) == (not count)
        assert ("never saw" in page.locator(".transplant-line + .live-task").inner_text()) == (bool(text) and not count)
        assert page.locator(".transplant-text").last.locator("span").count() == count
