"""Classifiers of sentences: each reader and pooling against a loop over single sentences, gradients, and refusals."""

import pytest
import torch
from support.compare import random_parameters
from support.far_device import assert_equal, run, run_far
from support.helpers import refusals, relative_error
from torch import nn

from rtx_lib.diagnostics.attention import record_attention
from rtx_lib.layers import LSTM, RNN, BothWays, SentenceClassifier, StructuredAttention, WordConvolution
from rtx_lib.layers.classifier import overlap_penalty

pytestmark = pytest.mark.usefixtures("double")

IDS = torch.tensor([[3, 1, 4, 1, 5, 2], [6, 5, 3, 0, 0, 0], [2, 0, 0, 0, 0, 0]])
READERS = {
    "mean": lambda: None,
    "rnn": lambda: BothWays(RNN(4, 5)),
    "bilstm": lambda: BothWays(LSTM(4, 3, backend="torch"), LSTM(4, 2, backend="torch")),
    "convolution": lambda: WordConvolution(4, 3),
}


def build(name, pool="mean"):
    torch.manual_seed(0)
    reader = READERS[name]()
    if pool == "hops":
        pool = StructuredAttention(getattr(reader, "output_size", 4), 5, 3)
    return random_parameters(SentenceClassifier(7, 3, width=4, reader=reader, pool=pool)).eval()


@pytest.mark.parametrize("pool", ["mean", "max", "hops"])
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


def test_several_looks_have_the_gradients_that_a_hand_derives():
    """Of sin(M) and the penalty, by hand and by differences; padding has weight 0 and changes no penalty."""
    torch.manual_seed(0)
    pool, h, real = StructuredAttention(4, 5, 3), torch.randn(3, 6, 4, requires_grad=True), IDS > 0
    with record_attention(pool) as recorded:
        M = pool(h, real)
    A, W1, W2 = recorded[0][1], pool.hidden.weight, pool.score.weight
    assert A.shape == (3, 3, 6) and relative_error(A.sum(-1), torch.ones(3, 3)) < 1e-12 and not A[1, :, 3:].any()
    assert relative_error(overlap_penalty(A)[1:2], overlap_penalty(A[1:2, :, :3])) < 1e-12
    found = torch.autograd.grad(M.sin().sum() + overlap_penalty(A).sum(), [W1, W2, h])
    Z = (h @ W1.T).tanh()
    dA = M.cos() @ h.mT + 4 * (A @ A.mT - torch.eye(3)) @ A
    dS = A * (dA - (dA * A).sum(-1, keepdim=True))  # (B, r, T)
    dZ = dS.mT @ W2 * (1 - Z * Z)  # (B, T, inner)
    for a, b in zip(found, [(dZ.mT @ h).sum(0), (dS @ Z).sum(0), dZ @ W1 + A.mT @ M.cos()], strict=True):
        assert relative_error(a, b) < 1e-12
    assert torch.autograd.gradcheck(lambda h, *_: pool(h, real), (h, W1, W2))
    assert torch.autograd.gradcheck(overlap_penalty, A.detach().requires_grad_())
    assert not overlap_penalty(torch.eye(3, 6)[None]).any() and overlap_penalty(torch.full((1, 3, 6), 1 / 6)) > 2


@pytest.mark.parametrize("name", READERS)
def test_on_a_device_nothing_is_mixed_and_nothing_waits(name):
    model = build(name, "max" if name == "mean" else "hops").float()
    assert_equal(run_far(model, IDS), run(model, IDS))


test_what_is_refused = refusals(
    [
        (lambda: SentenceClassifier(5, 2, width=3, pool="last"), "pool must be one of ['mean', 'max'], got 'last'"),
        (lambda: StructuredAttention(4, 5, 0), "hops must be at least 1, got 0"),
        (
            lambda: StructuredAttention(4, 5, 2)(torch.ones(1, 3, 5), torch.ones(1, 3).bool()),
            "h must have shape (B, T, 4)",
        ),
        (lambda: StructuredAttention(4, 5, 2)(torch.ones(1, 3, 4), torch.ones(1, 3)), "real must be a bool tensor"),
        (lambda: overlap_penalty(torch.ones(3, 4)), "weights must have shape (B, r, T)"),
        (lambda: build("mean")(torch.tensor([[1, 7]])), "x must hold ids from 0 to 6, got 7"),
        (lambda: build("mean")(torch.tensor([[1], [0]])), "x must hold words first and then padding (0)"),
    ],
    plain=True,
)
