"""LocalRNN equals its windows one by one; what it sees, and what it keeps."""

import pytest
import torch
from reference.plain_loops import local_rnn
from support.compare import draw, furthest, random_parameters
from support.helpers import drawn, relative_error
from torch.utils._python_dispatch import TorchDispatchMode

from rtx_lib.models.r_transformer import CELLS, LocalRNN

pytestmark = pytest.mark.usefixtures("double")

# Batch, steps, D_in, H, window: windows of 1, below, of and above the number of steps.
SHAPES = [(2, 6, 3, 4, 3), (1, 5, 4, 4, 1), (3, 7, 2, 5, 7), (2, 4, 3, 2, 9), (1, 1, 1, 1, 2)]
every_cell = pytest.mark.parametrize("cell", CELLS)


def make(cell, inputs=3, hidden=4, window=3):
    return random_parameters(drawn(1, LocalRNN, inputs, hidden, window, cell=cell))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@every_cell
def test_equals_each_window_by_itself(cell, shape):
    batch, steps, inputs, hidden, window = shape
    layer, x = make(cell, inputs, hidden, window), draw(batch, steps, inputs).requires_grad_()
    parameters = dict(layer.named_parameters())
    for before in (None, draw(batch, window - 1, inputs, seed=2).requires_grad_()):
        wanted = [x, *([] if before is None else [before]), *parameters.values()]
        loop = local_rnn(cell, parameters, x, window, before)
        assert furthest(layer(x, before if window > 1 else None)[0], loop, wanted) < 1e-12
    assert relative_error(local_rnn(cell, parameters, x, window + 1), loop) > 1e-3, "another window is seen"


def test_the_state_does_not_keep_the_sequence():
    state = make("gru", window=3)(draw(2, 500, 3))[1]
    assert state.untyped_storage().nbytes() == state.numel() * 8 == 2 * 2 * 3 * 8


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor has that an operation returns."""

    numel = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            self.numel = max(self.numel, tensor.numel() if isinstance(tensor, torch.Tensor) else 0)
        return result


@pytest.mark.parametrize("cell, blocks", [("rnn", 1), ("gru", 3), ("lstm", 4)])
def test_makes_no_array_of_windows(cell, blocks):
    layer, x = make(cell, 4, 4, 6), draw(2, 50, 4).requires_grad_()
    with Largest() as largest:
        layer(x)[0].sum().backward()
    assert largest.numel == 2 * 55 * 4 * blocks  # those of x W_ih^T
    with Largest() as largest:
        x.unfold(1, 6, 1).mT.reshape(-1, 6, 4) * 2
    assert largest.numel == 2 * 45 * 6 * 4


def test_projects_the_inputs_once():
    """All windows read the same x W_ih^T."""
    graphs = []

    def backend(graph, example):
        graphs.append(graph)
        return graph.forward

    layer, x = make("gru"), draw(2, 5, 3)
    assert torch.equal(torch.compile(layer, fullgraph=True, backend=backend)(x)[0], layer(x)[0]) and len(graphs) == 1
    calls = [node for node in graphs[0].graph.nodes if node.op == "call_function"]
    assert sum("linear" in str(node.target) for node in calls) == 3  # x W_ih^T, and all steps but the first
    torch.compiler.reset()


def test_the_first_weights():
    for parameter in drawn(0, LocalRNN, 3, 25, 3, cell="lstm").requires_grad_(False).parameters():
        assert 0.17 < parameter.abs().max() <= 0.2 and float(parameter.std()) == pytest.approx(0.2 / 3**0.5, rel=0.2)
