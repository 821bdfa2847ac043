"""The network that reads a drawn digit row by row, beside the book's layers in torch; and the ink of a drawing."""

import pytest
import torch
from live.parity import BAR, arrays, disturb, error

from rtx_lib.layers import RNN, Readout
from rtx_lib.tasks import digits

PARTS = ("arithmetic", "recurrent", "digits")
READ = """({weights, rows}) => {
  const reader = new RTX.RowReader(matrices(weights))
  reader.read(rows)
  return lists(reader.read(rows))
}"""


def far(page, rows, width, hidden, classes):
    """The largest error of states and probabilities after each row."""
    torch.manual_seed(0)
    reader = disturb(Readout(RNN(width, hidden), classes), 0.3)
    x = torch.rand(rows, width, dtype=torch.float64)
    found = page.evaluate(READ, {"weights": arrays(reader), "rows": x.tolist()})
    h = reader.core(x[None])[0][0]
    belief = reader(x[None])[0][0].softmax(-1)
    return max(error([row["h"] for row in found], h), error([row["p"] for row in found], belief))


@pytest.mark.parametrize("sizes", [(8, 8, 32, 10), (5, 3, 7, 2), (1, 1, 1, 3)])
def test_the_reader_is_the_books_own(live, double, sizes):
    assert far(live(*PARTS), *sizes) < BAR


def test_ink_spreads_as_in_the_training(live):
    """The network reads what the page makes of a drawing, and learned from what the task makes of strokes."""
    drawn = (torch.rand(8, 8, generator=torch.Generator().manual_seed(0)) < 0.3).double()
    soften = "(drawn) => lists(RTX.soften(drawn.map((row) => row.map(() => 0)), drawn))"
    assert error(live(*PARTS).evaluate(soften, drawn.tolist()), digits.soften(drawn)) < BAR


@pytest.fixture
def pad(widget):
    return widget("digits")


def ticked(page):
    labels = page.eval_on_selector_all(".live-pad input", "all => all.filter((e) => e.checked).map((e) => e.ariaLabel)")
    return [tuple(int(word.strip(",")) for word in label.split()[1::2]) for label in labels]


def test_a_scan_stands_there_at_first_and_can_be_turned_over_and_cleared(pad):
    assert ticked(pad) == [(row, 4) for row in range(1, 9)]
    pad.get_by_text("Clear").click()
    assert ticked(pad) == []
    pad.get_by_text("An example").click()  # the next one, which is blank
    pad.mouse.click(*middle(pad, 0, 2))
    pad.get_by_text("Turn it over").click()
    assert ticked(pad) == [(8, 3)]


def middle(page, r, c):
    box = page.locator(f'[data-at="{r} {c}"]').bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_arrows_move_space_draws_shift_draws_a_line_and_a_stroke_draws_or_where_it_begins_on_ink_rubs_out(pad):
    pad.get_by_text("Clear").click()
    stops = pad.eval_on_selector_all(".live-pad input", "all => all.filter((e) => e.tabIndex === 0).length")
    assert stops == 1
    pad.focus(".live-pad input")
    for key in ("ArrowDown", "ArrowRight", "Space", "Shift+ArrowRight", "Shift+ArrowDown", "End"):
        pad.keyboard.press(key)
    assert ticked(pad) == [(2, 2), (2, 3), (3, 3)]
    assert pad.evaluate("document.activeElement.ariaLabel") == "row 3, column 8"
    pad.get_by_text("Clear").click()
    for start, cells in (((1, 1), 3), ((1, 1), 0)):
        pad.mouse.move(*middle(pad, *start))
        pad.mouse.down()
        for c in (2, 3):
            pad.mouse.move(*middle(pad, 1, c))
        pad.mouse.up()
        assert len(ticked(pad)) == cells


def test_what_changed_is_said_once_the_stroke_is_done_and_a_blank_picture_at_once_and_for_good(pad):
    said = pad.locator("[role=status]")
    before = said.text_content()
    assert before.startswith("It says ")
    pad.mouse.click(*middle(pad, 1, 1))
    assert said.text_content() == before
    pad.wait_for_function("(before) => document.querySelector('[role=status]').textContent !== before", arg=before)
    assert said.text_content().startswith("It says ")
    pad.mouse.click(*middle(pad, 1, 1))  # what it says of this is still to come
    pad.get_by_text("Clear").click()
    assert said.text_content().startswith("The picture is blank.")
    pad.wait_for_timeout(1000)
    assert said.text_content().startswith("The picture is blank.")
