"""LocalRNN and the R-Transformer, one position at a time, beside the book's models in torch."""

from pathlib import Path

import pytest
import torch
from live.parity import BAR, arrays, disturb, error
from pages import page_checks

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers import Readout
from rtx_lib.models.r_transformer import LocalRNN, RTransformer
from rtx_lib.tasks import WindowOrder

PARTS = ("arithmetic", "recurrent", "attention", "local")
LOCAL = """({weights, window, x}) => {
  const local = new RTX.LocalRNN(matrices(weights), {window})
  return x.map((_, t) => lists(local.output(x.map((v) => Float64Array.from(v)), t)))
}"""
READER = """({weights, window, ids}) => {
  const reader = new RTX.WindowReader(matrices(weights), {window: 1})
  reader.window = window
  return ids.map((_, t) => lists(reader.read(ids, t).logits.at(-1)))
}"""
WHOLE = Path(__file__).with_name("window-whole.js").read_text()
CELLS = [("rnn", 3, 4, 3), ("gru", 5, 8, 5), ("lstm", 2, 3, 4), ("gru", 4, 6, 1), ("gru", 3, 2, 20)]
MODELS = {  # width, heads, layers, window, options
    "the chapter's": (16, 4, 2, 6, {}),
    "norm behind": (8, 2, 2, 3, {"norm": "post"}),
    "a last norm, tanh": (8, 1, 1, 4, {"final_norm": True, "cell": "rnn"}),
    "LSTMs, two in a layer": (12, 3, 2, 2, {"cell": "lstm", "local_layers": 2}),
    "a window of one": (8, 2, 3, 1, {}),
    "a table that is its readout": (8, 2, 1, 3, {"tied": True}),
}


@pytest.mark.parametrize("cell, inputs, hidden, window", CELLS)
def test_local_rnn_is_the_books_own(live, double, cell, inputs, hidden, window):
    torch.manual_seed(0)
    local, x = disturb(LocalRNN(inputs, hidden, window, cell=cell), 0.3), torch.randn(9, inputs)
    found = live(*PARTS).evaluate(LOCAL, {"weights": arrays(local), "window": window, "x": x.tolist()})
    assert error(found, local(x[None])[0][0]) < BAR


@pytest.mark.parametrize("window", [1, 5, 8])
def test_the_reader_of_symbols_is_the_books_own(live, double, window):
    torch.manual_seed(0)
    reader = disturb(Readout(LocalRNN(16, 30, window, cell="gru"), 6, vocabulary=6), 0.3)
    ids = torch.randint(6, (12,))
    found = live(*PARTS).evaluate(READER, {"weights": arrays(reader), "window": window, "ids": ids.tolist()})
    assert error(found, reader(ids[None])[0][0]) < BAR


def model_and_input(width, heads, layers, window, options, vocabulary=None):
    torch.manual_seed(0)
    options = {"width": width, "heads": heads, "layers": layers, "window": window, "vocabulary": vocabulary, **options}
    model = disturb(RTransformer(7, 7, **options).eval(), 0.3)
    return model, torch.randint(7, (1, 15)) if vocabulary else torch.rand(1, 15, 7)


def far(page, model, x, heads, window, options):
    """The largest error of the logits of all positions, and of the weights of the last."""
    settings = {"heads": heads, "window": window, "norm": options.get("norm", "pre")}
    found = page.evaluate(WHOLE, {"weights": arrays(model), "settings": settings, "x": x[0].tolist()})
    with torch.no_grad(), record_attention(model) as seen:
        y = model(x)[0][0]
    looks = [weights[0, :, -1] for _, weights in seen]
    worst = [error([one["logits"] for one in found], y)]
    worst += [error(a, b) for a, b in zip(found[-1]["attention"], looks, strict=True)]
    return max(worst)


@pytest.mark.parametrize("vocabulary", [None, 7], ids=["floats", "ids"])
@pytest.mark.parametrize("name", MODELS)
def test_r_transformer_is_the_books_own(live, double, name, vocabulary):
    width, heads, layers, window, options = MODELS[name]
    options = options if vocabulary else {k: v for k, v in options.items() if k != "tied"}
    model, x = model_and_input(width, heads, layers, window, options, vocabulary)
    assert far(live(*PARTS), model, x, heads, window, options) < BAR


@pytest.mark.parametrize("window", [1, 3, 5, 8])
def test_what_rearrangements_make_together(live, window):
    x, y = WindowOrder(20, window=window).batch("train", 3, torch.Generator().manual_seed(0))
    script = "([rows, window]) => rows.map((ids) => ids.map((_, t) => RTX.together(ids, t, window)))"
    assert live(*PARTS).evaluate(script, [x.tolist(), window]) == y.tolist()


# ---- the widget
SEEN = """(box, at) => {  // the letter stands between the names at the left and the right edge
  const name = box.querySelector('th').getBoundingClientRect(), edges = box.getBoundingClientRect()
  const letter = box.querySelectorAll('tr:first-child td')[at].getBoundingClientRect()
  return letter.left >= name.right - 1 && letter.right <= edges.right + 1
}"""
ROWS = "all => all.map((row) => [...row.querySelectorAll('td')].map((td) => td.textContent))"


@pytest.fixture
def typed(widget):
    return widget("window")


def rows(page):
    return page.eval_on_selector_all(".live-window-table tr", ROWS)


def test_it_reads_the_letters_from_a_to_f_alone_and_another_one_by_a_button(typed):
    letters, truths, answers, moved = rows(typed)
    assert "".join(letters) == "FACADEBEAD" and set(moved) == {"–"} and len(truths) == len(answers) == 10
    typed.get_by_text("Another letter here").click()
    assert "".join(rows(typed)[0]) == "FACADEBEAE"
    typed.fill("input[type=text]", "BAD day")
    assert "".join(rows(typed)[0]) == "BADDA"
    typed.fill("input[type=text]", "")
    assert rows(typed)[0] == [] and typed.get_by_text("Another letter here").is_disabled()


def test_a_changed_letter_moves_the_states_of_the_windows_that_hold_it_and_no_other(typed):
    typed.fill("input[type=text]", "FACEDEBEAD")  # the fourth
    moved = rows(typed)[3]
    assert [place for place, text in enumerate(moved) if text != "0"] == [3, 4, 5]
    typed.wait_for_function("document.querySelector('[role=status]').textContent.includes('the 7 others by 0.')")


def test_a_wider_window_holds_more_letters_and_the_run_shows_each(typed):
    assert typed.locator(".live-window-run > div").count() == 3
    typed.get_by_role("slider", name="Window M").fill("7")
    assert typed.locator(".live-window-run > div").count() == 8
    typed.get_by_role("slider", name="Position").fill("0")
    first = typed.locator(".live-window-run > div > span:first-child").all_text_contents()
    assert first == ["·"] * 7 + ["F"]
    assert typed.get_by_role("slider", name="Position").get_attribute("aria-valuetext") == "1, the letter F"


def test_on_a_phone_the_letters_scroll_to_the_one_that_is_picked(typed):
    typed.set_viewport_size(page_checks.PHONE)
    typed.fill("input[type=text]", "FACADEDECADEBEAD")
    box = typed.get_by_role("region", name="All positions; scrolls sideways")
    assert box.evaluate("(box) => box.tabIndex === 0 && box.scrollWidth > box.clientWidth")
    assert typed.evaluate("document.documentElement.scrollWidth") <= 390
    place = typed.get_by_role("slider", name="Position")
    for at in (15, 0, 7, 15):
        place.fill(str(at))
        assert box.evaluate(SEEN, at), f"letter {at + 1} is out of sight"
