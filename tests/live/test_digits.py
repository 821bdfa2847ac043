"""The network that reads a drawn digit row by row, beside the book's layers in torch; and the ink of a drawing."""

import pytest
import torch
from live.parity import BAR, arrays, disturb, error

from rtx_lib.layers import RNN, Readout

PARTS = ("arithmetic", "recurrent", "digits")
READ = """({weights, rows}) => {
  const reader = new RTX.RowReader(matrices(weights))
  reader.read(rows)
  return lists(reader.read(rows))
}"""
SLIPS = {
    "from the state before": ("this.core.reset()", "0"),
    "no bias": ("this.linear.bias", "null"),
    "the row in place of the state": ("affine(this.linear.weight, h,", "affine(this.linear.weight, x,"),
}


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


@pytest.mark.parametrize("slip", SLIPS)
def test_slips_are_caught(live, double, slip):
    assert far(live(*PARTS, slips={"digits": SLIPS[slip]}), 8, 8, 8, 10) > 1e-6


def test_ink_spreads_to_the_four_neighbours_of_a_drawn_cell(live):
    scan, drawn = torch.zeros(4, 4), torch.zeros(4, 4)
    scan[0, 0], scan[1, 2] = 0.5, 0.9
    drawn[1, 1] = drawn[2, 1] = 1
    found = live(*PARTS).evaluate(
        "([scan, drawn]) => lists(RTX.soften(scan, drawn))", [scan.double().tolist(), drawn.double().tolist()]
    )
    wanted = [[0.5, 0.3, 0, 0], [0.3, 1, 1, 0], [0.3, 1, 0.3, 0], [0, 0.3, 0, 0]]
    assert error(found, wanted) < BAR
