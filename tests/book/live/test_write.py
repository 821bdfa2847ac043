"""A text read in the page: what it costs, what models pay for it side by side, and the figure in which one writes."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from live.parity import BAR, arrays, disturb, error, script
from live.widgets import LETTERS, V, gpt, two_readers

from rtx_book.pictures.transformer_xl import draw_expected, draw_saved
from rtx_lib.diagnostics.context import stream_losses
from rtx_lib.layers import GRU, RNN, Readout

PARTS = ("random", "arithmetic", "recurrent", "attention", "reading")
READ = """({weights, settings, characters, text}) => {
  const reading = new RTX.Reading(RTX.character(matrices(weights), settings), characters)
  reading.begin(text)
  while (reading.step());
  return {bits: reading.rows.map((row) => row.bits), p: lists(reading.rows.map((row) => row.p)), mean: reading.bits()}
}"""


def one(name="LSTM"):
    return two_readers()["models"][name]


MODELS = {  # a model, the settings of the page, how many characters torch reads at once
    "LSTM": (one, {}, 1),
    "GRU": (lambda: Readout(GRU(4, 5, 2), V, vocabulary=V), {}, 1),
    "RNN": (lambda: Readout(RNN(4, 5), V, vocabulary=V), {}, 1),
    "Transformer-XL": (lambda: one("Transformer-XL"), two_readers()["reads"]["Transformer-XL"], 5),
    "GPT": (gpt, {"heads": 2}, 40),
}


def letters(length, seed=0):
    ids = torch.randint(V, (length,), generator=torch.Generator().manual_seed(seed))
    return ids, "".join(LETTERS[i] for i in ids)


@pytest.mark.parametrize("name", MODELS)
def test_bits_of_a_text_are_torchs(live, double, name):
    make, settings, segment = MODELS[name]
    model, (ids, text) = disturb(make().eval(), 0.4), letters(40)
    given = {"weights": arrays(model), "settings": settings, "characters": LETTERS, "text": text}
    found = live(*PARTS).evaluate(READ, given)
    bits = stream_losses(model, ids, segment=segment)[1:] / math.log(2)
    assert found["bits"][0] is None and error(found["bits"][1:], bits) < BAR
    assert abs(found["mean"] - bits.mean()) < BAR
    assert all(abs(sum(p) - 1) < 1e-12 for p in found["p"])


def test_text_is_read_on_where_it_grew_and_anew_where_it_changed(live, double):
    steps = live(*PARTS).evaluate(script("write-steps"), {"weights": arrays(one()), "characters": LETTERS})
    assert steps == [[3, 3, "abc"], [1, 4, "abcd"], [0, 4, "abcd"], [3, 3, "abc"], [0, 0, ""], [2, 2, "ab"]]


def test_models_that_read_in_turns_pay_what_each_pays_alone(live, double):
    models = {"a": disturb(one(), 0.4), "b": disturb(one("Transformer-XL").eval(), 0.4)}
    (ids, _), settings = letters(23), MODELS["Transformer-XL"][1]
    runs = live(*PARTS).evaluate(
        script("write-turns"),
        {"weights": {k: arrays(model) for k, model in models.items()}, "settings": settings, "ids": ids.tolist()},
    )
    assert runs[1] == 9 * 5 * 2  # rounds of turns, one model after the other
    for name, model in models.items():
        bits = stream_losses(model, ids, segment=5)[1:] / math.log(2)
        assert runs[0][name]["bits"][0] is None and error(runs[0][name]["bits"][1:], bits) < BAR
        assert 0 <= runs[0][name]["time"] < 1000


def test_slices_leave_the_page_to_the_reader_and_can_be_ended(live):
    told = live(*PARTS).evaluate(script("write-slices"))
    assert told[0] == 40 and told[1] >= 3 and told[2] > 0


@pytest.fixture
def write(widget):
    """A page with the figure of one GPT, or of a Transformer-XL and an LSTM."""

    def open_page(two=False, head=""):
        page = widget("write", context={"reduced_motion": "reduce"}, head=head, **two_readers() if two else {})
        page.locator(".live-write-bars li").first.wait_for()
        return page

    return open_page


def test_heads_layers_and_bits_can_be_looked_at_and_typing_is_read_at_once(write):
    page, told = write(), set()
    for layer in "12":
        page.get_by_label("Layer").select_option(label=layer)
        for head in ("all", "1", "2"):
            page.get_by_label("Head").select_option(label=head)
            told.add(page.locator(".live-task").inner_text())
    assert len(told) == 6
    page.get_by_label("bits").check()
    assert page.locator(".live-write-text span").nth(3).get_attribute("title").endswith("bits")
    area = page.get_by_label("Your text")
    area.fill("abc abc a")
    strip = page.locator(".live-write-text span")
    page.wait_for_function("document.querySelectorAll('.live-write-text span').length === 9")
    assert strip.all_inner_texts() == list("abc abc a")
    assert "Character 9 of 9, “a”: it cost" in page.locator(".live-task").inner_text()
    assert "the model looked at" in page.locator(".live-task").inner_text()
    assert page.locator(".live-write-bars li").count() == 8
    page.get_by_label("Character").focus()
    page.keyboard.press("Home")
    said = page.get_by_label("Character").get_attribute("aria-valuetext")
    assert said.startswith("Character 1 of 9, “a”. Having read it")
    area.fill("abÄ")
    page.get_by_text("Left out, as its text never had it: “Ä”").wait_for()
    area.fill("")
    page.get_by_text("Type a few letters.").wait_for()


def test_the_model_writes_on_and_can_be_stopped_and_taken_back(write):
    page = write()
    page.get_by_role("button", name="Continue").click()
    page.wait_for_function("document.querySelectorAll('.live-made').length > 10")
    if page.get_by_role("button", name="Stop").count():
        page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="Continue").wait_for()
    assert len(page.get_by_label("Your text").input_value()) > 32
    page.get_by_role("button", name="Start again").click()
    assert page.get_by_label("Your text").input_value() == "abc def\nabc def\nfed abc"
    page.wait_for_function("document.querySelectorAll('.live-made').length === 0")
    typed = "one.value = 'abc '.repeat(200), one.dispatchEvent(new Event('input'))"  # it goes on once it has read all
    page.get_by_label("Your text").evaluate(f"one => ({typed}, document.querySelector('.live-buttons button').click())")
    page.locator(".live-made").nth(3).wait_for()
    assert page.get_by_label("Your text").input_value().startswith("abc " * 200)


def test_memory_moves_and_every_model_pays_for_the_text(write):
    page = write(two=True)
    rows = page.locator(".live-write-table tbody tr")
    rows.nth(2).wait_for()
    named = [row.split("\t")[0] for row in rows.all_inner_texts()]
    assert named == ["Transformer-XL, memory 0", "Transformer-XL, memory 4", "LSTM"]
    edges = page.locator(".live-write-text .live-edge")
    assert edges.count() == 4  # of 23 characters in segments of 5
    before = page.locator(".live-task").inner_text()
    page.get_by_label("Memory").focus()
    page.keyboard.press("Home")
    page.get_by_text("Transformer-XL, memory 0").nth(1).wait_for()
    first, second = (row.split("\t")[1:3] for row in rows.all_inner_texts()[:2])
    assert first == second and page.locator(".live-task").inner_text() != before
    page.get_by_label("LSTM").check()
    assert not page.get_by_label("Layer").is_visible()
    assert "looked" not in page.locator(".live-task").inner_text()
    page.get_by_label("Memory").focus()
    page.keyboard.press("End")  # back to the model that has one
    assert page.get_by_label("Transformer-XL").is_checked() and page.get_by_label("Layer").is_visible()


def test_still_pictures_say_what_they_show():
    told = draw_expected("ab", [[[0.25, 0.75]], [[1.0, 0.0]]], "ab\n", np.array([0.1, 0.2, 0.7]))
    assert told["title"] == "After “ab” the model expects a new line, with a probability of 70 %."
    assert "sharpest look is that of layer 2, head 1, with 100 % on “a”" in told["alt"]
    assert told["text"] == "ab" and told["characters"] == "ab\n"
    nats = math.log(2)
    told = draw_saved("abcdef", {"memory 0": [0, *[2 * nats] * 5], "memory 64": [0, *[nats] * 5]}, 3, "abcdef")
    assert told["title"] == "6 characters cost 10 bits with memory 0, 5 fewer with memory 64."
    line = next(line for line in told["still"].axes[0].get_lines() if line.get_label() == "memory 64")
    assert list(line.get_ydata()) == [0, 1, 2, 3, 4, 5]
    plt.close("all")
