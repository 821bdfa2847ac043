"""Trained recurrent layers read one step at a time, beside the book's layers in torch: states, cells and gates."""

from functools import partial

import pytest
import torch
from live.parity import BAR, arrays, disturb, error, script

from rtx_lib.diagnostics.gradients import record_states
from rtx_lib.layers import GRU, LSTM, RNN

LAYERS = {"RNN": RNN, "RNN with ReLU": partial(RNN, nonlinearity="relu"), "LSTM": LSTM, "GRU": GRU}
LAYERS |= {"GRU, reset before": partial(GRU, reset="before"), "GRU, replaces": partial(GRU, update="replaces")}
LAYERS["GRU, both"] = partial(GRU, reset="before", update="replaces")
SIZES = [(1, 1, 1), (3, 5, 2), (7, 4, 3), (12, 33, 1)]  # D, H, layers
GATES = {LSTM: "ifgo", GRU: "rzn"}

READ = script("recurrent-read")


def far(page, layer, steps=11):
    """The largest error of the states, cell states and gates of all layers and steps."""
    disturb(layer, 0.3)
    x = torch.randn(1, steps, layer.input_size)
    options = {"prefix": "core."}
    options |= {name: getattr(layer, name) for name in ("nonlinearity", "reset", "update") if hasattr(layer, name)}
    weights = {f"core.{name}": value for name, value in layer.state_dict().items()}
    found = page.evaluate(READ, {"weights": arrays(weights), "options": options, "x": x[0].tolist()})
    worst = [error(found["h"], tapped(layer, "tap", x))]
    if isinstance(layer, LSTM):
        worst.append(error(found["c"], tapped(layer, "cell_tap", x)))
    if type(layer) in GATES:
        letters = GATES[type(layer)]
        gates = [[[one[letter] for letter in letters] for one in step] for step in found["gates"]]
        worst.append(error(gates, tapped(layer, "gate_tap", x)))
    return max(worst)


@torch.no_grad()
def tapped(layer, name, x):
    """What passes through a tap of every layer: (T, layers, width)."""
    with record_states(layer, name) as seen:
        layer(x)
    return torch.stack([torch.cat(states) for states in seen], dim=1)


@pytest.mark.parametrize("name", LAYERS)
def test_layer_is_the_books_own(live, double, name):
    page = live("arithmetic", "recurrent")
    for size in SIZES:
        torch.manual_seed(sum(size))
        assert far(page, LAYERS[name](*size)) < BAR, size
