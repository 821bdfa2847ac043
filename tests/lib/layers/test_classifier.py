"""Classifiers of sentences: each reader against a loop over single sentences, padding, and refusals."""

import pytest
import torch
from support.far_device import assert_equal, run, run_far
from support.helpers import refusals, relative_error
from torch import nn

from rtx_lib.layers import GRU, LSTM, RNN, BothWays, SentenceClassifier, WordConvolution

pytestmark = pytest.mark.usefixtures("double")

IDS = torch.tensor([[3, 1, 4, 1, 5, 2], [6, 5, 3, 0, 0, 0], [2, 0, 0, 0, 0, 0]])
READERS = {
    "mean": lambda: None,
    "rnn": lambda: BothWays(RNN(4, 5)),
    "bilstm": lambda: BothWays(LSTM(4, 3, backend="torch"), LSTM(4, 3, backend="torch")),
    "bigru": lambda: BothWays(GRU(4, 3), GRU(4, 2)),
    "convolution": lambda: WordConvolution(4, 3),
    "convolution-1-2": lambda: WordConvolution(4, 3, (1, 2)),
}


def build(name, pool="mean", dropout=0.0):
    torch.manual_seed(0)
    model = SentenceClassifier(7, 3, width=4, reader=READERS[name](), pool=pool, dropout=dropout)
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter) / 2)
    return model.eval()


@pytest.mark.parametrize("pool", ["mean", "max"])
@pytest.mark.parametrize("name", READERS)
def test_each_sentence_is_read_as_if_it_were_alone(name, pool):
    """Whatever stands in padding's row of the table, and with the gradients of all weights."""
    model = build(name, pool)
    y, state = model(IDS)
    assert y.shape == (3, 1, 3) and state is None
    alone = torch.cat([model(row[row > 0][None])[0] for row in IDS])
    assert relative_error(y, alone) < 1e-12
    weights = [*model.parameters()]
    for a, b in zip(*(torch.autograd.grad(out.sin().sum(), weights) for out in (y, alone)), strict=True):
        assert torch.allclose(a, b, rtol=1e-10, atol=1e-13) and a.any()


def test_both_ways_is_a_bidirectional_layer_on_whole_sentences():
    torch.manual_seed(0)
    whole, x = nn.LSTM(4, 3, batch_first=True, bidirectional=True), torch.randn(2, 6, 4)
    ours = BothWays(LSTM(4, 3), LSTM(4, 3))
    for core, suffix in ((ours.forward_core, ""), (ours.backward_core, "_reverse")):
        state = {name: whole.state_dict()[name + suffix] for name in core.state_dict()}
        core.load_state_dict(state)
    assert ours.output_size == 6
    assert relative_error(ours(x, torch.ones(2, 6, dtype=torch.bool)), whole(x)[0]) < 1e-12


def test_the_filters_see_so_many_words():
    """Output t of size k sees (k-1)//2 words before and k//2 behind."""
    torch.manual_seed(0)
    for size, before, behind in ((1, 0, 0), (2, 0, 1), (3, 1, 1), (4, 1, 2), (5, 2, 2)):
        reader, x = WordConvolution(2, 40, (size,)), torch.randn(1, 9, 2, requires_grad=True)
        (seen,) = torch.autograd.grad(reader(x, torch.ones(1, 9).bool())[0, 4].sum(), x)
        assert seen[0].any(-1).nonzero().flatten().tolist() == list(range(4 - before, 5 + behind))


@pytest.mark.parametrize("name", READERS)
def test_on_a_device_nothing_is_mixed_and_nothing_waits(name):
    model = build(name, "max").float()
    assert_equal(run_far(model, IDS), run(model, IDS))


def test_dropout_is_off_in_evaluation():
    assert torch.equal(build("rnn", dropout=0.5)(IDS)[0], build("rnn")(IDS)[0])
    assert not torch.equal(build("rnn", dropout=0.5).train()(IDS)[0], build("rnn")(IDS)[0])


test_what_is_refused = refusals(
    [
        (lambda: SentenceClassifier(5, 2, width=3, pool="last"), "pool must be one of ['mean', 'max'], got 'last'"),
        (lambda: build("mean")(torch.tensor([[1, 7]])), "x must hold ids from 0 to 6, got 7"),
        (lambda: build("mean")(torch.tensor([[1], [0]])), "x must hold words first and then padding (0)"),
    ],
    plain=True,
)
