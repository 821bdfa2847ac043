"""LocalRNN equals its windows one by one; what it sees, in pieces, over long sequences, and what it refuses."""

import pytest
import torch
from reference.plain_loops import local_rnn
from support.helpers import drawn, relative_error
from support.small_transformers import random_parameters
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from rtx_lib.layers import GRU, LSTM, RNN
from rtx_lib.models.r_transformer import CELLS, LocalRNN

pytestmark = pytest.mark.usefixtures("double")

PLAIN = {"rnn": RNN, "gru": GRU, "lstm": LSTM}
TORCH = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
# Batch, steps, D_in, H, window: windows of 1, below, of and above the number of steps.
SHAPES = [(2, 6, 3, 4, 3), (1, 5, 4, 4, 1), (3, 7, 2, 5, 7), (2, 4, 3, 2, 9), (1, 1, 1, 1, 2)]


def make(cell, inputs=3, hidden=4, window=3, seed=1):
    """Weights and biases that are not small, so that none can go missing unseen."""
    return random_parameters(drawn(seed, LocalRNN, inputs, hidden, window, cell=cell), seed)


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def errors(layer, x, before, window):
    """How far h and the gradients of x, ``before`` and all weights are from those of the loop with that window."""
    parameters = dict(layer.named_parameters())
    wanted = [x, *([] if before is None else [before]), *parameters.values()]
    both = [layer(x, before)[0], local_rnn(layer.cell, parameters, x, window, before)]
    found = [[h, *torch.autograd.grad(h.sin().sum(), wanted, allow_unused=True)] for h in both]
    names = ["h", "x", *([] if before is None else ["before"]), *parameters]
    return {name: relative_error(a, b) for name, a, b in zip(names, *found, strict=True) if b is not None and b.any()}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("cell", CELLS)
def test_equals_each_window_by_itself(cell, shape):
    batch, steps, inputs, hidden, window = shape
    layer, x = make(cell, inputs, hidden, window), draw(batch, steps, inputs).requires_grad_()
    before = draw(batch, window - 1, inputs, seed=2).requires_grad_() if window > 1 else None
    assert max(errors(layer, x, None, window).values()) < 1e-12
    found = errors(layer, x, before, window)
    assert max(found.values()) < 1e-12 and len(found) >= 5


def test_another_window_or_start_would_be_seen():
    x, before = draw(2, 6, 3).requires_grad_(), draw(2, 2, 3, seed=2)
    for cell in CELLS:
        assert min(errors(make(cell), x, None, window)["h"] for window in (2, 4)) > 1e-3
        layer = make(cell)
        h = local_rnn(cell, dict(layer.named_parameters()), x, 3, before)
        assert min(relative_error(layer(x, other)[0], h) for other in (None, before.flip(1))) > 1e-3


@pytest.mark.parametrize("cell", CELLS)
def test_equals_torch_on_gathered_windows(cell):
    """As the authors' code computes it; weights move both ways."""
    ours, theirs = make(cell, 3, 4, 5), TORCH[cell](3, 4, batch_first=True)
    theirs.load_state_dict(ours.state_dict())
    x = draw(2, 8, 3)
    windows = torch.cat([torch.zeros(2, 4, 3), x], 1).unfold(1, 5, 1).mT.reshape(16, 5, 3)
    reference = theirs(windows)[0][:, -1].view(2, 8, 4)
    assert relative_error(ours(x)[0], reference) < 1e-12
    back = LocalRNN(3, 4, 5, cell=cell)
    back.load_state_dict(theirs.state_dict())
    assert torch.equal(back(x)[0], ours(x)[0]) and list(back.state_dict()) == list(theirs.state_dict())


def quiet_start(layer):
    """Change as few biases as it takes for a zero input to leave the zero state alone."""
    ih, hh = layer.bias_ih_l0, layer.bias_hh_l0
    with torch.no_grad():
        if layer.cell == "rnn":
            ih.copy_(-hh)
        elif layer.cell == "lstm":
            ih.chunk(4)[2].copy_(-hh.chunk(4)[2])  # block g; the gates' biases may be anything
        else:
            r = torch.sigmoid(ih.chunk(3)[0] + hh.chunk(3)[0])
            ih.chunk(3)[2].copy_(-r * hh.chunk(3)[2])
    return layer


def plain(layer):
    """The network of `rtx_lib.layers` with the same weights."""
    network = PLAIN[layer.cell](layer.input_size, layer.hidden_size)
    network.load_state_dict(layer.state_dict())
    return network


@pytest.mark.parametrize("cell", CELLS)
def test_a_window_of_the_whole_sequence_is_the_plain_network_if_zeros_do_nothing(cell):
    x = draw(2, 6, 3)
    for window in (6, 7, 20):
        quiet = quiet_start(make(cell, window=window))
        assert relative_error(quiet(x)[0], plain(quiet)(x)[0]) < 1e-12
    shorter = quiet_start(make(cell, window=5))
    h, reference = shorter(x)[0], plain(shorter)(x)[0]
    assert relative_error(h[:, :5], reference[:, :5]) < 1e-12 and relative_error(h[:, 5], reference[:, 5]) > 1e-3
    without = make(cell, window=6)
    with torch.no_grad():
        without.bias_ih_l0.zero_(), without.bias_hh_l0.zero_()
    assert relative_error(without(x)[0], plain(without)(x)[0]) < 1e-12


@pytest.mark.parametrize("cell", CELLS)
def test_under_any_biases_each_step_is_the_plain_networks_last_behind_as_many_zeros(cell):
    """So the step that fills the window needs none: there the two agree, and before it they do not."""
    x, layer = draw(2, 6, 3), make(cell, window=6)
    h, network = layer(x)[0], plain(layer)
    for t in range(6):
        padded = torch.cat([torch.zeros(2, 5 - t, 3), x[:, : t + 1]], 1)
        assert relative_error(h[:, t], network(padded)[0][:, -1]) < 1e-12
    reference = network(x)[0]
    assert relative_error(h[:, 5], reference[:, 5]) < 1e-12
    assert all(relative_error(h[:, t], reference[:, t]) > 1e-4 for t in range(5))


def test_the_state_does_not_keep_the_sequence():
    state = make("gru", window=3)(draw(2, 500, 3))[1]
    assert state.untyped_storage().nbytes() == state.numel() * 8 == 2 * 2 * 3 * 8


@pytest.mark.parametrize("cell", CELLS)
def test_sees_its_window_and_nothing_else(cell):
    layer, x = make(cell), draw(2, 8, 3).requires_grad_()
    h = layer(x)[0]
    for t in range(8):
        (gradient,) = torch.autograd.grad(h[:, t].sum(), x, retain_graph=True)
        assert [s for s in range(8) if gradient[:, s].any()] == list(range(max(0, t - 2), t + 1))
    changed = x.detach().clone()
    changed[:, 5] += 1
    same = [t for t in range(8) if torch.equal(layer(changed)[0][:, t], h[:, t])]
    assert same == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("cell", CELLS)
def test_does_the_same_everywhere_but_at_the_start(cell):
    layer, x = make(cell), draw(2, 9, 3)
    h, shifted = layer(x)[0], layer(torch.cat([draw(2, 4, 3, seed=5), x], 1))[0][:, 4:]
    assert relative_error(shifted[:, 2:], h[:, 2:]) < 1e-14
    assert all(relative_error(shifted[:, t], h[:, t]) > 1e-3 for t in range(2))


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor has that an operation returns."""

    numel = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                self.numel = max(self.numel, tensor.numel())
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


@pytest.mark.parametrize("cell", CELLS)
def test_ten_thousand_steps(cell):
    layer, x = make(cell, window=7), draw(1, 10_000, 3).requires_grad_()
    h = layer(x)[0]
    parameters = dict(layer.named_parameters())
    assert relative_error(h[:, -3:], local_rnn(cell, parameters, x[:, -9:], 7)[:, -3:]) < 1e-12
    gradients = torch.autograd.grad(h.sum(), [x, *parameters.values()])
    assert all(gradient.isfinite().all() and gradient.any() for gradient in gradients)


@pytest.mark.parametrize("cell", CELLS)
def test_compiles_as_one_graph(cell):
    """A module that held torch.nn's would be left out of the graph, without a word."""
    graphs = []

    def backend(graph, example):
        graphs.append(graph)
        return graph.forward

    layer, x = make(cell), draw(2, 5, 3)
    compiled = torch.compile(layer, fullgraph=True, backend=backend)
    h, state = compiled(x)
    assert torch.equal(h, layer(x)[0]) and len(graphs) == 1
    calls = [node for node in graphs[0].graph.nodes if node.op == "call_function"]
    assert sum("linear" in str(node.target) for node in calls) == 3  # x W_ih^T, and all steps but the first
    assert torch.equal(compiled(x, state)[0], layer(x, state)[0])
    torch.compiler.reset()


def test_dtypes():
    for cell in CELLS:
        wide, x = make(cell), draw(2, 6, 3)
        narrow = make(cell).float()
        h, state = narrow(x.float())
        assert h.dtype == state.dtype == torch.float32 and relative_error(h.double(), wide(x)[0]) < 1e-5
        with torch.autocast("cpu", torch.bfloat16):
            half, state = narrow(x.float())
            after = narrow(x.float(), state)[0]
            after.sum().backward()
        assert half.dtype == torch.bfloat16 and relative_error(half.double(), wide(x)[0]) < 0.05
        assert all(parameter.grad.isfinite().all() for parameter in narrow.parameters())


def test_starts_uniform_and_from_its_seed():
    layers = [drawn(seed, LocalRNN, 3, 25, 3, cell="lstm") for seed in (0, 0, 1)]
    a, b, c = ([p.detach() for p in layer.parameters()] for layer in layers)
    assert all(torch.equal(p, q) for p, q in zip(a, b, strict=True))
    assert not any(torch.equal(p, q) for p, q in zip(a, c, strict=True))
    for parameter in a:
        assert 0.17 < parameter.abs().max() <= 0.2 and float(parameter.std()) == pytest.approx(0.2 / 3**0.5, rel=0.2)


def test_prints_its_arguments():
    assert repr(LocalRNN(3, 4, 7, cell="lstm")) == "LocalRNN(3, 4, window=7, cell='lstm')"
