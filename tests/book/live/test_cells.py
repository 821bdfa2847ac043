"""The cells that learn in the page, beside the book's layers in torch: outputs, and every gradient there is."""

from pathlib import Path

import pytest
import torch
from live.parity import BAR, arrays, disturb, errors, flat

from rtx_lib.diagnostics.gradients import gradient_norms, record_states
from rtx_lib.layers import GRU, LSTM, RNN, Readout
from rtx_lib.models.indrnn import IndRNN

CELLS = {
    "rnn": lambda hidden, length: Readout(RNN(2, hidden), 1),
    "irnn": lambda hidden, length: Readout(RNN(2, hidden, nonlinearity="relu", init="identity", input_std=0.3), 1),
    "lstm": lambda hidden, length: Readout(LSTM(2, hidden), 1),
    "gru": lambda hidden, length: Readout(GRU(2, hidden), 1),
    "indrnn": lambda hidden, length: IndRNN(2, hidden, 2, 1, length=length, input_scale=0.5),
}
PARTS = ("random", "scan", "cells", "adding")
SIZES = [(1, 2, 1), (3, 7, 5), (4, 20, 8), (5, 33, 13), (16, 50, 32)]  # B, T, H

# One batch through an Adder whose weights are torch's.
ONE_BATCH = Path(__file__).with_name("cells-one-batch.js").read_text()


def page_name(name):
    """The page's name of a parameter of a `Readout` or an `IndRNN`."""
    first, *rest = name.split(".")
    if first == "core":
        return rest[0]
    if first in ("linear", "readout"):
        return f"readout.{rest[0]}"
    return f"{rest[1]}_l{rest[0]}"  # linears.0.weight, units.0.u


def in_torch(kind, batch, length, hidden, layers=None):
    """What the page is given, and what it must find, from random weights in float64."""
    torch.manual_seed(hidden)
    model = CELLS[kind](hidden, length)
    if layers:
        model = Readout(type(model.core)(2, hidden, layers), 1)
    disturb(model, 0.1)
    x, target = torch.rand(batch, length, 2), torch.rand(batch, 1)
    with record_states(model) as seen:
        y = model(x)[0][:, -1]
    loss = (y - target).square().mean()
    norms = gradient_norms(loss, seen[-1])
    loss.backward()
    named = {page_name(name): parameter for name, parameter in model.named_parameters()}
    given = {"kind": kind, "batch": batch, "length": length, "hidden": hidden, "layers": layers}
    given |= {"weights": arrays(named), "x": flat(x.transpose(0, 1)), "target": flat(target)}
    wanted = {"loss": [loss.item()], "y": flat(y), "norms of dL/dh_t": flat(norms)}
    wanted |= {name: flat(parameter.grad) for name, parameter in named.items()}
    return given, wanted


def worst(page, case):
    """The array that is farthest from torch's, and how far."""
    given, wanted = case
    return max(errors(page.evaluate(ONE_BATCH, given), wanted).items(), key=lambda item: item[1])


@pytest.mark.parametrize("kind", CELLS)
def test_cell_is_the_books_own(live, double, kind):
    page = live(*PARTS)
    for batch, length, hidden in SIZES:
        case = in_torch(kind, batch, length, hidden)
        name, error = worst(page, case)
        assert error < BAR, (name, batch, length, hidden)
        if hidden > 1:  # one ReLU alone may be shut
            assert all(max(map(abs, values)) > 0 for values in case[1].values())  # nothing agrees by being zero


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_stack_is_the_books_own(live, double, kind):
    name, error = worst(live(*PARTS), in_torch(kind, 3, 9, 6, layers=3))
    assert error < BAR, name


def test_every_cell_of_the_page_has_a_case(live):
    assert live(*PARTS).evaluate("() => Object.keys(RTX.CELLS)") == list(CELLS)
