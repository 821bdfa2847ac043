"""Models that read bits in the page beside the library's, what the page knows of parity, and the widget in use."""

from functools import partial
from pathlib import Path

import pytest
import torch
from live.parity import BAR, arrays, disturb, error
from live.widgets import GIVEN, cells, press, row, told
from pages import page_checks
from torch import nn

from rtx_book.page.live_rope import LANES
from rtx_book.runs.builders import build
from rtx_book.runs.recipes import RECIPES
from rtx_lib.layers import LSTM, RNN, Readout, SelectiveRecurrence
from rtx_lib.layers.mixing import AttentionMixer, MixerStack
from rtx_lib.models.delta_net import DeltaNet, LinearAttention
from rtx_lib.models.min_rnn import MinGRU, MinLSTM

PARTS = ("arithmetic", "recurrent", "attention", "fast-weights", "mixers", "parity")


def readout(core):
    return Readout(core, 2, vocabulary=2)


def stack(mixer, **options):
    return MixerStack(2, 2, mixer, **{"width": 6, "layers": 2, "vocabulary": 2, **options})


SIGNED = partial(DeltaNet, kernel_size=None, largest_beta=2.0)
MODELS = {  # and the settings that its weights do not tell
    "tanh RNN": (lambda: readout(RNN(4, 6)), {}),
    "two ReLU RNNs": (lambda: readout(RNN(4, 6, 2, nonlinearity="relu")), {"nonlinearity": "relu"}),
    "LSTM": (lambda: readout(LSTM(3, 5)), {}),
    "signed": (lambda: readout(SelectiveRecurrence(6)), {}),
    "positive": (lambda: readout(SelectiveRecurrence(6, "positive")), {}),
    "minGRU": (lambda: readout(MinGRU(6)), {}),
    "minGRU, wider, with biases": (lambda: readout(MinGRU(4, 7, bias=True)), {}),
    "minLSTM, wider": (lambda: readout(MinLSTM(4, 9)), {}),
    "minLSTM, as it is": (lambda: readout(MinLSTM(6, normalised=False)), {"normalised": False}),
    "the bit as a number": (lambda: Readout(RNN(1, 6), 2), {}),
    "the bit as one of two, signed": (lambda: Readout(SelectiveRecurrence(2), 2), {}),
    "the bit as one of two, minGRU": (lambda: Readout(MinGRU(2, 5), 2), {}),
    "stack of signed": (lambda: stack(SelectiveRecurrence), {}),
    "stack of positive, one layer": (lambda: stack(partial(SelectiveRecurrence, sign="positive"), layers=1), {}),
    "stack of minGRUs": (lambda: stack(MinGRU), {}),
    "stack of minLSTMs without MLPs": (lambda: stack(partial(MinLSTM, hidden_size=9), mlp=0), {}),
    "linear attention": (lambda: stack(partial(LinearAttention, heads=2), kernel_size=4), {"heads": 2}),
    "DeltaNet": (lambda: stack(partial(DeltaNet, heads=2, kernel_size=None), kernel_size=4), {"heads": 2}),
    "rotary": (lambda: stack(partial(AttentionMixer, heads=1), kernel_size=3), {}),
    "ALiBi": (
        lambda: stack(partial(AttentionMixer, heads=2, positions="alibi"), kernel_size=4),
        {"heads": 2, "positions": "alibi"},
    ),
    "stack of DeltaNets, signed": (lambda: stack(SIGNED, layers=1), {"largestBeta": 2}),
    "stack that reads numbers": (lambda: MixerStack(1, 2, MinGRU, width=6, layers=3), {}),
}
RUN = """({weights, settings, bits}) => {
  const model = new RTX.BitReader(matrices(weights), settings)
  model.run(bits)  // each run begins anew
  return lists(model.run(bits))
}"""


def made(name):
    torch.manual_seed(0)
    return disturb(MODELS[name][0](), 0.3)


def bits(count, seed=0):
    return torch.randint(2, (1, count), generator=torch.Generator().manual_seed(seed))


def read(model, x):
    """The model's logits of bits, in the form in which it reads them."""
    ids = getattr(model, "embedding", None)
    if not isinstance(ids, nn.Embedding):
        inputs = model.core.input_size if ids is None else ids.in_features
        x = x[..., None].double() if inputs == 1 else nn.functional.one_hot(x, 2).double()
    return model(x)[0]


@torch.no_grad()
def far(page, name, count=50):
    """The largest error of all logits, and of the states of the layers as they come out of their mixers."""
    model, x, seen = made(name), bits(count), []
    mixers = list(model.mixers) if isinstance(model, MixerStack) else [model.core]
    for mixer in mixers:
        mixer.register_forward_hook(lambda _, __, out: seen.append(out[0][0]))
    wanted = read(model, x)[0]
    found = page.evaluate(RUN, {"weights": arrays(model), "settings": MODELS[name][1], "bits": x[0].tolist()})
    worst = [error([step["logits"] for step in found], wanted)]
    if "h" in found[0]["layers"][0] and all(isinstance(getattr(m, "out", nn.Identity()), nn.Identity) for m in mixers):
        states = [[step["layers"][k]["h"] for step in found] for k in range(len(found[0]["layers"]))]
        worst += [error(own, out) for own, out in zip(states[-len(seen) :], seen, strict=True)]
    return max(worst)


@pytest.mark.parametrize("name", MODELS)
def test_the_pages_model_is_the_librarys(live, double, name):
    assert far(live(*PARTS), name) < BAR


@pytest.mark.parametrize("name", ["signed", "minGRU", "minLSTM, wider", "stack of positive, one layer"])
def test_factor_and_what_is_added_make_the_state(live, double, name):
    model = made(name)
    found = live(*PARTS).evaluate(RUN, {"weights": arrays(model), "settings": {}, "bits": bits(30)[0].tolist()})
    a, b, h = (torch.tensor([step["layers"][0][key] for step in found]) for key in "abh")
    before = torch.cat([torch.zeros_like(h[:1]), h[:-1]])
    assert error(a * before + b, h) < BAR
    assert (a.min() < 0) == (name == "signed") and a.abs().max() < 1


def test_the_page_counts_as_the_task_does(live):
    page, x = live(*PARTS), bits(300)[0]
    assert page.evaluate("(bits) => RTX.parities(bits)", x.tolist()) == (x.cumsum(0) % 2).tolist()
    judged = "([answers, wanted]) => RTX.judge(answers, wanted)"
    found = page.evaluate(judged, [[1, 0, 0, 1], [1, 0, 1, 0]])
    assert found == {"wrong": [False, False, True, True], "right": 2, "first": 3}
    assert page.evaluate(judged, [[1], [1]]) == {"wrong": [False], "right": 1, "first": 0}


def test_how_well_a_unit_tells_odd_from_even_is_the_size_of_a_correlation(live):
    page, odd = live(*PARTS), bits(100)[0].double()
    states = torch.randn(100, generator=torch.Generator().manual_seed(1), dtype=torch.float64) - 0.7 * odd
    tells = "([states, odd]) => RTX.tells(states, odd)"
    wanted = abs(torch.corrcoef(torch.stack([states, odd]))[0, 1])
    assert page.evaluate(tells, [states.tolist(), odd.tolist()]) == pytest.approx(float(wanted), abs=1e-12)
    assert page.evaluate(tells, [(5 - odd).tolist(), odd.tolist()]) == pytest.approx(1)
    assert page.evaluate(tells, [[3, 3, 3], [0, 1, 0]]) == 0 == page.evaluate(tells, [[1, 2, 3], [1, 1, 1]])


TYPED = {
    "": [], " 0 1\n1 ": [0, 1, 1], "0" * 1000: [0] * 1000,
    "0120": "Bits are 0 or 1, and “2” is neither.", "-1": "Bits are 0 or 1, and “-” is neither.",
    "1" * 10_000: "At most 1,000 bits are read, not 10,000.", "x" * 10_000: "Bits are 0 or 1, and “x” is neither.",
    **{f"1{sign}": f"Bits are 0 or 1, and “{sign}” is neither." for sign in "\N{PILE OF POO}\N{HEBREW LETTER ALEF}"},
}  # fmt: skip


def test_what_is_typed_is_bits_or_is_told_why_not(live):
    found = live(*PARTS).evaluate("(texts) => texts.map((text) => RTX.bitsOf(text))", list(TYPED))
    assert found == [{"fault": said} if isinstance(said, str) else {"bits": said} for said in TYPED.values()]


# ---- the widget


def digits(page, name):
    return "".join(text.split()[0] for text in cells(page, name))


MARKED = """(cells) => cells.flatMap((cell, t) => {
  const marked = getComputedStyle(cell).textDecorationLine === 'underline'
  if (marked !== cell.textContent.includes('wrong')) throw new Error(`step ${t + 1}`)
  return marked ? [t + 1] : []
})"""


def wrong(page, name):
    """The steps at which a model's answer is marked, and whether each mark is more than a colour."""
    return row(page, name).evaluate_all(MARKED)


def test_answers_stand_below_the_bits_and_wrong_ones_are_marked(widget):
    page = widget("parity")
    assert digits(page, "bit") == "01101000" and digits(page, "odd so far?") == "01001111"
    assert digits(page, "flips") == "01001111" and digits(page, "repeats") == "01101000"
    assert wrong(page, "flips") == [] and wrong(page, "repeats") == [3, 6, 7, 8]
    assert told(page, "8 bits, 3 of them ones: odd at the end. flips: right at every step.").endswith(
        "repeats: 50\u00a0% right, first wrong at 3. The training had 6 steps."
    )
    assert page.locator("td.parity-new").count() == 5
    assert page.locator("td.parity-new").first.evaluate("(cell) => cell.cellIndex") == 7  # after six steps
    picture = page.locator("svg.parity-picture")
    assert "repeats: 50\u00a0% right, first wrong at 3." in picture.get_attribute("aria-label")
    count = "all => all.map((one) => one.getAttribute('d').split('M').length - 1)"
    assert page.locator(".parity-bars").evaluate_all(count) == [0, 4]


def test_a_factor_of_minus_one_is_told_and_so_is_the_step(widget):
    page = widget("parity")
    title, words = page.locator(".parity-title"), page.locator(".parity-box ~ .live-task").last
    assert "flips, unit 1: its factor a is −1.000 at a one, 1.000 at a zero." in title.inner_text()
    page.get_by_role("slider", name="Step").press("End")
    page.get_by_role("slider", name="Step").press("Home")
    for _ in range(2):
        page.get_by_role("slider", name="Step").press("ArrowRight")
    told = "flips: h = a × h before + b = −1.00 × 1.00 + 1.00 = 0.00."
    assert words.inner_text() == f"Step 3 reads 1; the number of ones is even. {told}"
    page.get_by_role("radio", name="repeats").check()
    assert "repeats, unit 1: its factor a is 0.000 at a one, 0.000 at a zero." in title.inner_text()
    assert "flips says even, repeats says odd" in page.get_by_role("slider").get_attribute("aria-valuetext")


def test_the_unit_that_tells_best_is_shown_until_the_reader_picks_one(widget):
    torch.manual_seed(0)
    two = readout(SelectiveRecurrence(2))
    with torch.no_grad():  # the second unit toggles
        two.embedding.weight.copy_(torch.tensor([[0.0, 0.0], [1.0, 1.0]]))
        two.core.keep.weight.copy_(torch.tensor([[0.0, 0.0], [-80.0, 0.0]]))
        two.core.keep.bias.copy_(torch.tensor([0.0, 40.0]))
        two.core.write.weight.copy_(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
        two.core.write.bias.zero_()
    page = widget("parity", models={"two": two, "RNN": readout(RNN(2, 3, 2))})
    title = page.locator(".parity-title")
    assert title.inner_text().startswith("two, unit 2: its factor a is −1.000 at a one")
    page.get_by_label("shows").select_option("unit 1")
    assert title.inner_text().startswith("two, unit 1: its factor a is 0.000 at a one")
    press(page, "Random 6")
    assert title.inner_text().startswith("two, unit 1")
    page.get_by_role("radio", name="RNN").check()
    page.get_by_label("shows").select_option("unit 3 of layer 2")
    assert title.inner_text().startswith("RNN, unit 3 of layer 2. Filled")
    assert "h goes from" in page.locator(".parity-box ~ .live-task").last.inner_text()


def test_bits_are_typed_pressed_drawn_and_cleared(widget):
    page = widget("parity")
    area = page.get_by_label("Bits", exact=True)
    area.fill("11 1")
    assert digits(page, "odd so far?") == "101"
    told(page, "3 bits, 3 of them ones: odd at the end.")
    area.fill("112")
    assert told(page, "Bits are 0 or 1, and “2” is neither.").endswith("The last valid input is shown.")
    assert area.get_attribute("aria-invalid") == "true" and digits(page, "bit") == "111"
    press(page, "Add a 0")
    assert digits(page, "bit") == "1110" and area.input_value() == "1110"
    assert area.get_attribute("aria-invalid") == "false"
    press(page, "Add a 1")
    page.locator(".parity-bits td").nth(1).click()
    assert digits(page, "bit") == "10101"
    press(page, "Flip this bit")
    assert digits(page, "bit") == "11101"
    press(page, "All ones")
    assert digits(page, "bit") == "11111" and digits(page, "odd so far?") == "10101"
    for count in (6, 256):
        press(page, f"Random {count}")
        assert len(digits(page, "bit")) == count == len(area.input_value()) and wrong(page, "flips") == []
    press(page, "Clear")
    assert told(page, "There are no bits.") and page.locator(".parity-box").is_hidden()
    assert page.get_by_role("slider").is_hidden() and page.locator("svg.parity-picture").is_hidden()
    press(page, "All ones")
    assert digits(page, "bit") == "111111"


def test_the_table_takes_keys(widget):
    page = widget("parity")
    box = page.locator(".parity-box")
    box.focus()

    def keys(*names):
        for name in names:
            page.keyboard.press(name)
        return digits(page, "bit"), page.locator("td.parity-here").first.evaluate("(cell) => cell.cellIndex")

    assert keys("ArrowRight", "ArrowRight", "ArrowLeft") == ("01101000", 2)
    assert keys(" ") == ("00101000", 2)
    assert keys("1", "0") == ("01001000", 4)
    assert keys("End", "1") == ("01001001", 8)
    assert keys("1", "0") == ("0100100110", 10), "after the last step it goes on"
    assert keys("Backspace") == ("010010011", 9)
    assert keys("Home", "x") == ("010010011", 1)


def test_a_press_in_the_picture_picks_a_step_and_the_table_shows_it(widget):
    page = widget("parity")
    press(page, "Random 256")
    picture = page.locator("svg.parity-picture")
    width = picture.bounding_box()["width"]
    picture.click(position={"x": width - 12, "y": 20})
    assert page.get_by_role("slider").input_value() in ("255", "256")
    box, cell = page.locator(".parity-box").bounding_box(), page.locator("td.parity-here").first.bounding_box()
    assert box["x"] <= cell["x"] and cell["x"] + cell["width"] <= box["x"] + box["width"] + 1


def test_long_sequences_scroll_in_their_box_and_all_can_be_read(widget):
    given = GIVEN["parity"]()["models"] | {"tanh RNN": readout(RNN(4, 4)), "minGRU": readout(MinGRU(4))}
    page = widget("parity", models=given, context={"viewport": page_checks.PHONE})
    press(page, "Random 256")
    assert page.locator(".parity-box").evaluate("(box) => box.scrollWidth > 2 * box.clientWidth")
    page.get_by_role("slider").press("End")
    assert not page_checks.overflow(page) and not page_checks.small_text(page)
    heads = page.get_by_role("rowheader").evaluate_all("all => all.map((one) => one.getBoundingClientRect().left)")
    assert len({round(left) for left in heads}) == 1 and heads[0] >= 0, "names stay when the table scrolls"


PULL = Path(__file__).with_name("parity-pull.js").read_text()


@pytest.mark.parametrize("name", LANES)
@torch.no_grad()
def test_a_rope_that_is_pulled_to_and_fro_is_read_as_the_library_reads_it_whole(live, double, name):
    model = disturb(build(RECIPES[f"rope-{LANES[name]['key']}"], 0)[0], 0.2)
    word, noise, pauses = [7, 0, 13, 13, 25], [26 + place % 8 for place in range(40)], [3, 37, 21, 0, 22]
    told = {"weights": arrays(model), "told": LANES[name], "word": word, "noise": noise, "pauses": pauses}
    for pause, found in zip(pauses, live(*PARTS, "rope").evaluate(PULL, told), strict=True):
        x = torch.tensor([[*word, *noise[:pause], 34, *word]])
        _, state = model(x[:, : 6 + pause])
        held = sum(part.numel() for part in torch.utils._pytree.tree_leaves(state))
        said = model(x)[0][0, 5 + pause : -1].argmax(-1)
        assert found["said"] == said.tolist() and found["bytes"] == 4 * held


def test_only_a_to_z_make_the_word_and_both_ends_of_the_rope_are_pulled(widget):
    page = widget("rope", context={"reduced_motion": "reduce"})
    word, noise = (page.get_by_role("slider", name=name) for name in ("Letters of the word", "Symbols of noise"))
    for typed, said, count in (
        ("Né 語😀xyZ", "Only the letters", 4),
        ("שלום", "Type a word", 0),
        ("a" * 10**4, "Only the", 24),
    ):
        page.fill("input[type=text]", typed)
        assert page.locator(".rope-note").inner_text().startswith(said)
        page.wait_for_function("!document.querySelector('.rope-busy')")
        assert page.locator(".rope-lane").first.locator(".rope-letters > *").count() == count
    page.fill("input[type=text]", "rope")
    press(page, "Pull the word")
    noise.press("PageUp")
    assert word.get_attribute("aria-valuetext") == "word: 24 letters (trained to 12)"
    assert noise.get_attribute("aria-valuetext") == "noise: 50, then “repeat”"
    page.get_by_label("Positions that carry over").check()
    assert page.locator(".rope-lane").last.inner_text().startswith("Transformer, ALiBi")
    page.wait_for_function("!document.querySelector('.rope-busy')")
    assert page.locator(".rope-right").last.inner_text().endswith(" of 24")
    press(page, "Let go")
    assert word.get_attribute("aria-valuenow") == "4" and noise.get_attribute("aria-valuenow") == "0"


# ---- fool it


def test_the_shortest_row_that_fools_one_alone_is_counted_checked_and_kept(widget):
    page = widget("fool")
    who, line = page.get_by_role("combobox", name="Fool"), page.get_by_label("Bits", exact=True)
    who.select_option("repeats")
    assert page.get_by_role("combobox", name="but not").input_value() == "flips", "the two change places"
    line.fill("1")
    assert told(page, "1 bit, 1 one: odd. Both are right; repeats is 73\u00a0% sure.")
    page.get_by_label("times").select_option("2")
    press(page, "Add 1")
    assert told(page, "3 bits, 3 ones: odd. Both are right;").endswith(" After 2 bits it was done.")
    press(page, "Add 0")
    told(page, "5 bits, 3 ones: odd. repeats is fooled, flips is not. 2 are enough.")
    page.get_by_role("button", name="Fool repeats but not flips: yours 5, possible with 2").wait_for()
    press(page, "Cut after 2 bits")
    assert page.evaluate("document.activeElement.className") == "fool-line", "the button is gone"
    assert told(page, "2 bits, 2 ones: even. repeats is fooled,").endswith("No shorter row does it: all were tried.")
    page.locator(".fool-bit").last.click()
    told(page, "2 bits, 1 one: odd. repeats is fooled")
    line.fill("1" * 121)
    told(page, "At most 120 bits are read, not 121. The last valid input is shown.")
    press(page, "Clear")
    told(page, "No bits yet")
    page.get_by_role("button", name="Fool flips but not").press("Enter")
    assert page.evaluate("document.activeElement.ariaLabel").startswith("Fool flips but not")
    assert "No row of up to 9 bits does it." in page.locator(".fool-goal").inner_text()
    for kept, yours in (("['11', 'x', 7, '1'.repeat(999)]", "yours 2"), ("'{'", "not yet")):
        page.evaluate(f"localStorage.rtxFool = JSON.stringify({kept})")
        page.reload()
        page.get_by_role("button", name=f"Fool repeats but not flips: {yours}, possible with 2").wait_for()
