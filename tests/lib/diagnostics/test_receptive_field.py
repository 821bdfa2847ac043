"""Empirical receptive fields: against whole Jacobians, on models whose field is known, and what is refused."""

import math

import pytest
import torch
from support.helpers import refusals, relative_error
from torch import nn

from rtx_lib.diagnostics.receptive_field import input_influence, reach
from rtx_lib.layers import RNN, Readout
from rtx_lib.models.r_transformer import LocalRNN
from rtx_lib.models.tcn import TCN
from rtx_lib.models.transformer import CausalTransformer

pytestmark = pytest.mark.usefixtures("double")


def make(name):
    torch.manual_seed(0)
    if name == "rnn":
        return Readout(RNN(3, 6), 4)
    return CausalTransformer(3, 4, width=8, heads=2, layers=2).eval()


def jacobian_norms(function, x):
    """||dy_T/dx_s||_F by autograd's whole Jacobian, averaged over the batch: (T,)."""
    whole = [torch.autograd.functional.jacobian(lambda s: function(s[None])[0, -1], sequence) for sequence in x]
    return torch.stack([J.square().sum((0, 2)).sqrt() for J in whole]).mean(0)  # each J (O, T, D)


@pytest.mark.parametrize("name", ["rnn", "transformer"])
def test_the_exact_influence_is_the_norm_of_the_jacobian(name):
    model, x = make(name), torch.randn(2, 9, 3)
    assert relative_error(input_influence(model, x), jacobian_norms(lambda x: model(x)[0], x)) < 1e-12


@pytest.mark.parametrize("window", [1, 4])
def test_local_rnns_see_their_windows_and_a_tcn_its_field(window):
    torch.manual_seed(0)
    x = torch.randn(3, 40, 5)
    one, two = (LocalRNN(5, 5, window) for _ in range(2))
    assert reach(input_influence(one, x), 1.0) == window
    assert reach(input_influence(Wrong(lambda x: two(one(x)[0])), x), 1.0) == 2 * window - 1
    tcn = TCN(5, 2, [6, 6], 3).eval()
    assert reach(input_influence(tcn, x), 1.0) == tcn.receptive_field == 13


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_an_rnn_forgets_at_the_rate_of_its_matrix(dtype):
    """Around the state 0 a step multiplies by W_hh = I / 4; in float32 the squares would be lost after 38 steps."""
    rnn = RNN(2, 5).to(dtype)
    with torch.no_grad():
        for parameter in rnn.parameters():
            parameter.zero_()
        rnn.weight_hh_l0.copy_(torch.eye(5) / 4)
        rnn.weight_ih_l0[:2].copy_(torch.eye(2))
    seen = input_influence(rnn, torch.zeros(1, 61, 2, dtype=dtype))
    assert seen.dtype == torch.float64
    expected = math.sqrt(2) * 0.25 ** torch.arange(60, -1, -1)
    assert (seen / expected).numpy() == pytest.approx(1, rel=1e-6)
    assert [reach(seen, share) for share in (0.5, 0.75, 0.76, 0.95, 0.99)] == [1, 1, 2, 3, 4]


@pytest.mark.parametrize("name", ["rnn", "transformer"])
def test_random_directions_estimate_the_square_without_bias(name):
    model, x = make(name), torch.randn(1, 6, 3)
    exact = input_influence(model, x).square()
    draw = torch.Generator().manual_seed(1)
    squares = torch.stack([input_influence(model, x, samples=1, generator=draw).square() for _ in range(400)])
    error = squares.std(0) / 20  # of a mean of 400
    assert ((squares.mean(0) - exact).abs() <= 4 * error).all()
    assert (error > 0).all()


def test_a_seed_repeats():
    model, x = make("rnn"), torch.randn(8, 12, 3)
    runs = [input_influence(model, x, samples=2, generator=torch.Generator().manual_seed(seed)) for seed in (0, 0, 1)]
    assert torch.equal(runs[0], runs[1]) and not torch.equal(runs[0], runs[2])
    torch.manual_seed(3)
    first = input_influence(model, x, samples=3)
    torch.manual_seed(3)
    assert torch.equal(input_influence(model, x, samples=3), first)


def test_ids_are_seen_through_their_embedding():
    torch.manual_seed(0)
    model = CausalTransformer(7, 7, width=8, heads=2, layers=1, vocabulary=7).eval()
    ids = torch.randint(7, (2, 6))
    found = input_influence(model, ids, embedding=model.embedding)
    given = iter(model.embedding(ids).detach())

    def from_embedded(e):
        handle = model.embedding.register_forward_hook(lambda module, args, out: e)
        try:
            return model(torch.zeros(1, 6, dtype=torch.long))[0]
        finally:
            handle.remove()

    assert relative_error(found, jacobian_norms(from_embedded, given)) < 1e-12
    assert torch.equal(input_influence(model, ids), found)


def test_ids_are_seen_without_an_embedding():
    """As one-hot vectors, and as rows of a matrix that time comes first in."""
    model, ids, rows = Readout(RNN(7, 6), 4), torch.randint(7, (2, 6)), torch.eye(7)
    found = input_influence(model, nn.functional.one_hot(ids, 7).double())
    assert torch.equal(input_influence(Wrong(lambda x: model(nn.functional.one_hot(x, 7).double())), ids), found)
    assert torch.equal(input_influence(Wrong(lambda x: model(rows[x.t()].transpose(0, 1))), ids), found)


def test_the_model_is_left_as_it_was():
    model = nn.Sequential(nn.Linear(3, 3), RNN(3, 6)).requires_grad_(False)
    x = torch.randn(2, 5, 3, requires_grad=True)
    with torch.no_grad():
        assert input_influence(model, x, embedding=model[0]).any()
        assert input_influence(model, x).any()
    assert x.grad is None and not model[0]._forward_hooks
    live = Readout(RNN(3, 6), 4)
    assert not input_influence(live, x).requires_grad
    assert all(parameter.grad is None for parameter in live.parameters())


def test_an_output_that_no_input_reaches():
    class Clock(nn.Module):
        """Counts the steps: y has a gradient, but none with respect to x."""

        def __init__(self):
            super().__init__()
            self.rate = nn.Parameter(torch.ones(1))

        def forward(self, x):
            return self.rate * torch.arange(x.shape[1]).expand(len(x), -1).unsqueeze(-1)

    assert not input_influence(Clock(), torch.randn(2, 5, 3)).any()


@pytest.mark.parametrize(
    ("influence", "share", "expected"),
    [
        ([1.0], 0.95, 1),
        ([1.0, 1, 1, 1], 0.5, 2),
        ([1.0, 1, 1, 1], 0.51, 3),
        ([1.0, 1, 1, 1], 1, 4),
        ([0.0, 0, 3, 1], 1, 2),
        ([0.0, 1e-30, 0, 1], 1, 3),
        ([0.0, 0, 3, 1], 0.25, 1),
        ([5.0, 0, 0, 0], 0.01, 4),
        ([0.1] * 1000, 0.95, 950),
    ],
)
def test_reach_counts_the_most_recent_inputs(influence, share, expected):
    assert reach(torch.tensor(influence), share) == expected


class Wrong(nn.Module):
    """Gives what it was told to give."""

    def __init__(self, change):
        super().__init__()
        self.forward = change


X = torch.zeros(2, 5, 3, dtype=torch.float64)


test_bad_arguments = refusals(
    [
        (lambda m: input_influence(m, X[0]), r"x must have shape \(B, T, D\), got \(5, 3\)"),
        (lambda m: input_influence(Wrong(lambda x: X), X[..., 0].long()), "embedding must be given, .* got None"),
        (lambda m: input_influence(m, X, samples=0), "samples must be at least 1, got 0"),
        (lambda m: input_influence(m, X, embedding=nn.Linear(3, 3)), "embedding must be called once, .* called 0"),
        (lambda m: input_influence(Wrong(lambda x: x[:, 1:]), X), r"the model's y must have shape .* got \(2, 4, 3\)"),
        (lambda m: reach(torch.zeros(3)), "influence must be .* not all 0, got"),
        (lambda m: reach(torch.tensor([1.0, -1])), "influence must be .* at least 0 .*, got"),
        (lambda m: reach(torch.ones(2), 1.5), "share must be above 0 and at most 1, got 1.5"),
    ],
    lambda: Readout(RNN(3, 6), 4),
)
