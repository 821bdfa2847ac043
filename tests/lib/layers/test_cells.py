"""RNN, LSTM and GRU equal torch.nn's and plain loops; the GRU's forms, the fused backend, and what hooks see."""

import warnings
from types import SimpleNamespace

import pytest
import torch
from reference.plain_loops import gru_step, lstm_step, run
from support.compare import draw, outcomes, worst
from support.helpers import drawn, relative_error
from torch import nn

from rtx_lib.diagnostics.gradients import record_states
from rtx_lib.layers import GRU, LSTM, RNN, Bag, Readout, cells, convert_update_gate

pytestmark = pytest.mark.usefixtures("double")

RESETS, UPDATES = ("after", "before"), ("keeps", "replaces")
# Every form of a gated cell: its class, its arguments and the plain step.
FORMS = [
    pytest.param(LSTM, {}, lstm_step, id="lstm"),
    *(pytest.param(GRU, {"reset": r, "update": u}, gru_step(r, u), id=f"gru-{r}-{u}") for r in RESETS for u in UPDATES),
]
STACKS = [(1, False), (1, True), (3, False), (2, True)]


def make(cell, layers=2, bidirectional=False, **arguments):
    """A cell with biases that are not small, so that none can go missing unseen."""
    model = drawn(3, cell, 3, 5, layers, bidirectional=bidirectional, **arguments)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    return model


def start(cell, layers=2, directions=1, batch=4, hidden=5):
    """A random state of the cell, as a tuple of its parts."""
    shape = (layers * directions, batch, hidden)
    return tuple(draw(*shape, seed=4 + part).requires_grad_() for part in range(2 if cell is LSTM else 1))


def sequence(steps=7):
    return draw(4, steps, 3, seed=5).requires_grad_()


def results(model, x, state, convert=lambda parameters: parameters):
    """Output, last state and the gradients of a loss of both, for any of the modules."""
    y, last = model(x, state if len(state) > 1 else state[0])
    last = last if isinstance(last, tuple) else (last,)
    named = dict(model.named_parameters())
    found = outcomes((y, *last), [x, *state, *named.values()])
    gradients = found[1 + len(last) :]
    of_parameters = convert(dict(zip(named, gradients[1 + len(state) :], strict=True)))
    return [y, *last, *gradients[: 1 + len(state)], *of_parameters.values()]


TO_TORCH = [(RNN, {}), (RNN, {"nonlinearity": "relu"}), (LSTM, {}), (GRU, {})]
TO_TORCH += [(LSTM, {"backend": "torch"}), (GRU, {"backend": "auto"})]


@pytest.mark.parametrize("layers, bidirectional", STACKS)
@pytest.mark.parametrize("cell, options", TO_TORCH, ids=str)
def test_equals_torch(cell, options, layers, bidirectional):
    ours = make(cell, layers, bidirectional, **options)
    of_torch = {"batch_first": True, "bidirectional": bidirectional}
    of_torch |= {name: value for name, value in options.items() if name != "backend"}
    theirs = getattr(nn, cell.__name__)(3, 5, layers, **of_torch)
    theirs.load_state_dict(ours.state_dict())
    assert list(ours.state_dict()) == list(theirs.state_dict())
    state = start(cell, layers, 1 + bidirectional)
    assert worst(results(ours, sequence(), state), results(theirs, sequence(), state)) < 1e-12


@pytest.mark.parametrize("layers, bidirectional", STACKS)
@pytest.mark.parametrize("cell, arguments, step", FORMS)
def test_equals_the_plain_loop(cell, arguments, step, layers, bidirectional):
    model = make(cell, layers, bidirectional, **arguments)
    x, state, parameters = sequence(), start(cell, layers, 1 + bidirectional), dict(model.named_parameters())
    expected = outcomes(run(step, parameters, x, *state), [x, *state, *parameters.values()])
    assert worst(results(model, x, state), expected) < 1e-12


@pytest.mark.parametrize("cell", [LSTM, GRU])
def test_the_first_weights_are_those_of_torch(cell):
    """The rule and the order of the draws."""
    torch.manual_seed(7)
    theirs = getattr(nn, cell.__name__)(3, 5, 2, bidirectional=True)
    ours = drawn(7, cell, 3, 5, 2, bidirectional=True)
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))


@pytest.mark.parametrize("bias", [4.0, -1.5, 0.0])
def test_the_forget_bias(bias):
    model, plain = (drawn(0, LSTM, 3, 5, 2, bidirectional=True, forget_bias=b) for b in (bias, None))
    for again in (model, plain):
        drawn(1, again.reset_parameters)
    for (name, ours), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        if name.startswith("bias"):
            i, f, g, o = ours.view(4, 5)
            assert (f == (bias if name.startswith("bias_ih") else 0)).all()
            assert torch.equal(torch.cat([i, g, o]), torch.cat([other[:5], other[10:]]))
        else:
            assert torch.equal(ours, other)


# The two meanings of z, and the two places of the reset.


@pytest.mark.parametrize("reset", RESETS)
@pytest.mark.parametrize("update, other", [UPDATES, UPDATES[::-1]])
def test_the_two_meanings_of_z_convert(reset, update, other):
    """Same outputs, and the same gradients once they are converted like the weights they belong to."""
    model = make(GRU, bidirectional=True, reset=reset, update=update)
    twin = GRU(3, 5, 2, bidirectional=True, reset=reset, update=other)
    twin.load_state_dict(convert_update_gate(model.state_dict()))
    x, state = sequence(), start(GRU, directions=2)
    assert worst(results(twin, x, state, convert=convert_update_gate), results(model, x, state)) < 1e-12
    again = convert_update_gate(twin.state_dict())
    assert all(torch.equal(again[name], value) for name, value in model.state_dict().items())
    unconverted = GRU(3, 5, 2, bidirectional=True, reset=reset, update=other)
    unconverted.load_state_dict(model.state_dict())
    assert relative_error(unconverted(x)[0], model(x)[0]) > 0.1


# How a plain cell starts.


def test_uniform_initialisation():
    for parameter in drawn(0, RNN, 3, 100).parameters():
        assert 0.08 < parameter.abs().max() <= 0.1


@pytest.mark.parametrize("std", [0.03, 0.3])
def test_identity_initialisation(std):
    rnn = drawn(0, RNN, 3, 50, init="identity", nonlinearity="relu", input_std=std)
    assert torch.equal(rnn.weight_hh_l0, torch.eye(50))
    assert not rnn.bias_ih_l0.any() and not rnn.bias_hh_l0.any()
    assert rnn.weight_ih_l0.std().item() == pytest.approx(std, rel=0.3) and abs(rnn.weight_ih_l0.mean()) < std / 3


def test_orthogonal_initialisation():
    rnn = drawn(0, RNN, 3, 20, init="orthogonal")
    assert relative_error(rnn.weight_hh_l0 @ rnn.weight_hh_l0.T, torch.eye(20)) < 1e-12
    assert 0.1 < rnn.weight_ih_l0.std() * 20**0.5 < 0.7


# Ids.


@pytest.mark.parametrize("layers, bidirectional", STACKS)
@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize(
    "cell, options", [*TO_TORCH, (GRU, {"reset": "before"}), (GRU, {"update": "replaces"})], ids=str
)
def test_ids_are_their_one_hot_vectors(cell, options, kernel, layers, bidirectional, monkeypatch):
    """By the loop, and by torch's kernel, which runs on a GPU."""
    monkeypatch.setattr(cells, "kernel_runs", lambda *_: kernel)
    model, state = make(cell, layers, bidirectional, **options), start(cell, layers, 1 + bidirectional)
    x = torch.tensor([[0, 2, 2, 1, 0]]).repeat(4, 1)
    found = []
    for read in (x, nn.functional.one_hot(x, 3).double()):
        y, last = model(read, state if len(state) > 1 else state[0])
        last = last if isinstance(last, tuple) else (last,)
        found.append(outcomes((y, *last), [*state, *model.parameters()]))
    assert worst(*found) < 1e-12


def test_ids_make_no_array_of_the_vocabulary():
    """V x V would be 40 GB, and so would (B, T, V)."""
    model, x = LSTM(100_000, 2).float(), torch.arange(100_000).view(1000, 100)
    model(x)[0].sum().backward()
    with pytest.raises(ValueError, match="x must hold ids from 0 to 99999, got 100000"):
        model(x + 1)


@pytest.mark.parametrize("core, width, embedded", [(LSTM, 7, None), (GRU, 3, 3), (Bag, 7, 7)])
def test_a_readout_takes_its_sizes_from_the_task(core, width, embedded):
    core, task = core(width, 4), SimpleNamespace(input_size=7, output_size=7, vocabulary=7)
    model = Readout(core, task)
    assert model(torch.tensor([[6, 0]]))[0].shape == (1, 2, 7)
    assert getattr(model.embedding, "embedding_dim", None) == embedded
    task.vocabulary, task.input_size = None, 5
    with pytest.raises(ValueError, match=f"core must read 5 numbers per step, as the task has, got {width}"):
        Readout(core, task)


# The fused backend.


def fused(monkeypatch):
    """Count the calls of torch's fused functions."""
    calls = []
    for name in ("lstm", "gru"):
        function = getattr(torch, name)
        monkeypatch.setattr(torch, name, lambda *a, name=name, function=function: (calls.append(name), function(*a))[1])
    return calls


@pytest.mark.parametrize(
    "cell, update, tap",
    [
        (LSTM, None, "tap"),
        (LSTM, None, "cell_tap"),
        (LSTM, None, "gate_tap"),
        (GRU, "keeps", "tap"),
        (GRU, "keeps", "gate_tap"),
        (GRU, "replaces", "tap"),
        (GRU, "replaces", "gate_tap"),
    ],
)
def test_the_loop_runs_while_somebody_looks(cell, update, tap, monkeypatch):
    calls = fused(monkeypatch)
    model = make(cell, bidirectional=True, backend="torch", **({"update": update} if update else {}))
    x, state = sequence(), start(cell, directions=2)
    alone = results(model, x, state)
    assert calls == [cell.__name__.lower()]
    with record_states(model, tap) as seen:
        watched = results(model, x, state)
    assert len(calls) == 1 and len(seen) == 4
    assert worst(watched, alone) < 1e-12
    results(model, x, state)
    make(cell)(x)  # in its loop
    assert len(calls) == 2


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("cell", [LSTM, GRU])
def test_the_backend_differentiates_in_eval_mode_too(cell, dtype, tolerance, monkeypatch):
    """cuDNN does so only if it is told to train; on a CPU we see what it would be told."""
    name, told = cell.__name__.lower(), []
    function = getattr(torch, name)
    monkeypatch.setattr(torch, name, lambda *arguments: (told.append(arguments[6]), function(*arguments))[1])
    x = sequence().detach().to(dtype).requires_grad_()
    gradients = []
    for backend in ("loop", "torch"):
        model = make(cell, backend=backend).to(dtype).eval()
        gradients.append(torch.autograd.grad(model(x)[0].sin().sum(), [x, *model.parameters()]))
    assert worst(*gradients) < tolerance and told == [True]
    with torch.no_grad():
        model(x)
    assert told == [True, False]


@pytest.mark.parametrize("cell", [LSTM, GRU])
def test_the_backend_keeps_quiet_about_its_copy_of_the_weights(cell, monkeypatch):
    """What cuDNN says of weights that lie apart; anything else is passed on."""
    function = getattr(torch, cell.__name__.lower())

    def warn(message):
        monkeypatch.setattr(
            torch,
            cell.__name__.lower(),
            lambda *arguments: (warnings.warn(message, stacklevel=2), function(*arguments))[1],
        )

    warn("RNN module weights are not part of single contiguous chunk of memory. This means ...")
    make(cell, backend="torch")(sequence())
    warn("something else")
    with pytest.warns(UserWarning, match="something else"):
        make(cell, backend="torch")(sequence())


def test_no_fused_kernel_for_the_reset_before():
    with pytest.raises(ValueError, match=r"backend must be one of \['loop', 'auto'\], got 'torch'"):
        GRU(3, 5, reset="before", backend="torch")
    auto, loop = (make(GRU, reset="before", backend=backend) for backend in ("auto", "loop"))
    assert torch.equal(auto(sequence())[0], loop(sequence())[0])


# What hooks see.


def test_lstm_taps_hold_states_cells_and_gates():
    model, x, state = make(LSTM, layers=1), sequence(), start(LSTM, layers=1)
    with (
        record_states(model) as states,
        record_states(model, "cell_tap") as cells,
        record_states(model, "gate_tap") as gates,
    ):
        y, (hn, cn) = model(x, state)
    h, c, a = (torch.stack(seen[0]) for seen in (states, cells, gates))
    assert torch.equal(h.transpose(0, 1), y) and torch.equal(c[-1], cn[0]) and torch.equal(h[-1], hn[0])
    i, f, g, o = a.chunk(4, dim=2)
    before = torch.cat([state[1], c[:-1]])
    assert relative_error(f * before + i * g, c) < 1e-12 and relative_error(o * torch.tanh(c), h) < 1e-12


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("reset", RESETS)
def test_gru_taps_hold_states_and_gates(reset, update):
    model, x, (state,) = make(GRU, layers=1, reset=reset, update=update), sequence(), start(GRU, layers=1)
    with record_states(model) as states, record_states(model, "gate_tap") as gates:
        y, last = model(x, state)
    h = torch.stack(states[0])
    assert torch.equal(h.transpose(0, 1), y) and torch.equal(h[-1], last[0])
    r, z, n = torch.stack(gates[0]).chunk(3, dim=2)
    before = torch.cat([state, h[:-1]])
    weight, bias = model.weight_hh_l0[10:], model.bias_hh_l0[10:]
    inside = r * (before @ weight.T + bias) if reset == "after" else (r * before) @ weight.T + bias
    inputs = x.transpose(0, 1) @ model.weight_ih_l0[10:].T + model.bias_ih_l0[10:]
    assert relative_error(torch.tanh(inputs + inside), n) < 1e-12
    new, old = (1 - z, z) if update == "keeps" else (z, 1 - z)
    assert relative_error(new * n + old * before, h) < 1e-12
