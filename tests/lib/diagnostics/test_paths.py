"""Chains and paths: models whose numbers are known, what must not be counted, and kernels that hide their steps."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from support.helpers import refusals
from torch import nn

from rtx_lib.diagnostics.paths import effects, growth, order, path_length, sequential_operations
from rtx_lib.diagnostics.receptive_field import input_influence
from rtx_lib.kernels import relu_recurrence
from rtx_lib.layers import LSTM, RNN, Readout
from rtx_lib.models.transformer import CausalTransformer

pytestmark = pytest.mark.usefixtures("double")

LENGTHS = (4, 8, 16, 32)


def x(T, B=4):
    return torch.randn(B, T, 3, generator=torch.Generator().manual_seed(T))


def counts(measure, model, lengths=LENGTHS):
    return growth(measure, lambda T: (model, x(T)), lengths)


class Convolutions(nn.Module):
    """Layers of causal convolutions and nothing else: a layer is one operation, and k - 1 positions."""

    def __init__(self, layers, k=3):
        super().__init__()
        torch.manual_seed(0)
        self.layers, self.k = nn.ModuleList(nn.Conv1d(3, 3, k) for _ in range(layers)), k

    def forward(self, x):
        h = x.mT
        for layer in self.layers:
            h = layer(F.pad(h, (self.k - 1, 0)))
        return h.mT


def attend(x):
    """Every position asks every one: products, scale, softmax, sums."""
    return torch.softmax(x @ x.mT / 2, -1) @ x


def test_an_rnn_waits_for_all_of_its_steps():
    """All inputs at once, then a product and a tanh a step, then the readout: chain and path are the same."""
    model = Readout(RNN(3, 5), 2)
    expected = {T: 2 * T + 2 for T in LENGTHS}
    assert counts(sequential_operations, model) == counts(path_length, model) == expected
    assert order(expected) == "T"


def test_the_cell_state_is_the_short_way_through_an_lstm():
    """A step has six operations through the gates and two along c. Before c_1 stand four, after c_T two and y."""
    model = Readout(LSTM(3, 5), 2)
    assert counts(sequential_operations, model) == {T: 6 * T + 2 for T in LENGTHS}
    assert counts(path_length, model) == {T: 5 + 2 * (T - 1) + 3 for T in LENGTHS}


def test_convolutions_wait_for_their_depth_and_end_at_their_field():
    assert counts(sequential_operations, Convolutions(4)) == dict.fromkeys(LENGTHS, 4)
    assert counts(path_length, Convolutions(4)) == {4: 4, 8: 4, 16: None, 32: None}  # 4 (k - 1) + 1 = 9 inputs
    assert [path_length(Convolutions(4), x(T)) for T in (9, 10)] == [4, None]
    deep = growth(path_length, lambda T: (Convolutions(T // 2), x(T)), LENGTHS)
    assert deep == {T: T // 2 for T in LENGTHS}


def test_attention_has_one_length_for_all():
    assert counts(sequential_operations, attend) == dict.fromkeys(LENGTHS, 4)
    assert counts(path_length, attend) == dict.fromkeys(LENGTHS, 1)  # a value, weighted once
    torch.manual_seed(0)
    model = CausalTransformer(3, 2, width=8, heads=2, layers=1).eval()
    for measure in (sequential_operations, path_length):
        assert order(counts(measure, model)) == "1"


def test_a_loop_that_hides_is_found():
    """The planted mistake: attention whose keys are summed up one by one says T, though it looks the same outside."""

    def summed(x):
        total, sums = torch.zeros_like(x[:, 0]), torch.empty_like(x)
        for t in range(x.shape[1]):
            total = total + x[:, t]
            sums[:, t] = total
        return sums

    assert torch.allclose(summed(x(8)), x(8).cumsum(1))
    assert order(counts(sequential_operations, summed)) == "T"
    assert order(counts(sequential_operations, lambda x: x.cumsum(1))) == "1"


def test_views_and_copies_cost_nothing_and_masks_stop():
    def moved(x):
        pieces = torch.stack(x.unbind(1), 1).reshape(len(x), -1, 3).flip(1).clone().flip(1)
        out = torch.zeros_like(pieces)
        out[:, 1:] = torch.cat([pieces, pieces], 1)[:, : pieces.shape[1] - 1]
        return out

    assert sequential_operations(moved, x(6)) == 0 and path_length(moved, x(6)) is None
    assert path_length(lambda x: x.flip(1), x(6)) == 0
    assert sequential_operations(lambda x: torch.ones_like(x).exp(), x(6)) == 0
    for stopped in (0 * x(6), torch.full((6, 3), -1.0)):
        assert path_length(lambda x, by=stopped: torch.relu(x.flip(1).abs() * by), x(6)) is None


def test_writes_in_place_are_followed():
    def written(x):
        y = x.flip(1).clone()
        y[:, -1].mul_(2)
        y[:, 0].zero_()
        return y

    assert path_length(written, x(6)) == 1
    assert path_length(lambda x: written(x).flip(1), x(6)) is None  # overwritten
    assert effects(written, x(4)).int().tolist() == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]


def test_what_decays_is_not_lost_in_rounding():
    """After 32 steps of a thousandth nothing of the first input is left beside the others, but there is a path."""

    def decaying(x):
        h, states = torch.zeros_like(x[:, 0]), []
        for x_t in x.unbind(1):
            states.append(h := 1e-3 * h + x_t)
        return torch.stack(states, 1)

    assert not effects(decaying, x(32))[-1, 0]
    assert counts(path_length, decaying) == {T: 1 + 2 * (T - 1) for T in LENGTHS}
    assert path_length(lambda x: x.flip(1) * 1e-20 + 1, x(4)) == 2


def test_strides_make_no_effects():
    """On views with gaps or overlaps torch may take another kernel, which rounds otherwise: that is no path."""

    def pooled(x):
        z, f = F.linear(x.unfold(1, 1, 1).flatten(2), torch.linspace(-2, 2, 18).view(6, 3)).chunk(2, -1)
        z, f, c, cells = z.tanh(), f.sigmoid(), torch.zeros(3), []
        for z_t, f_t in zip(z.unbind(1), f.unbind(1), strict=True):
            cells.append(c := f_t * c + (1 - f_t) * z_t)
        return torch.stack(cells, 1)

    # A product, a tanh, a product with 1 - f and a sum to c_1, then a product and a sum a step.
    assert counts(path_length, pooled) == {T: 4 + 2 * (T - 1) for T in LENGTHS}


def test_kernels_that_hide_their_steps_are_refused():
    """The loop is seen; in torch's kernel, and in one compiled with numba, it is not."""
    fused = LSTM(3, 5, backend="torch").float()
    for measure in (sequential_operations, path_length):
        with pytest.raises(ValueError, match="model must make its steps one by one, got torch"):
            measure(fused, x(4).float())
    loops = counts(sequential_operations, lambda x: relu_recurrence(x.abs(), torch.ones(3), backend="loop"))
    assert loops == {T: 3 * T for T in LENGTHS}  # product, sum and ReLU a step; instead of u h_0 stands abs
    pytest.importorskip("numba")
    with pytest.raises(ValueError, match="model must compute in torch, got a kernel that takes numbers out"):
        sequential_operations(lambda x: relu_recurrence(x, torch.ones(3), backend="numba"), x(4))


def test_effects_are_the_pattern_of_the_gradients():
    for model in (Convolutions(2), Readout(RNN(3, 5), 2), CausalTransformer(3, 2, width=8, heads=2, layers=1).eval()):
        found = effects(model, x(9))
        assert torch.equal(found[-1], input_influence(model, x(9)) > 0)
        assert torch.equal(found, found.tril())
        assert torch.equal(found.diagonal(), torch.ones(9, dtype=torch.bool))
    assert effects(Convolutions(2), x(9)).sum(1).tolist() == [1, 2, 3, 4, 5, 5, 5, 5, 5]


def test_ids_are_marked_behind_their_embedding():
    torch.manual_seed(0)
    model = CausalTransformer(7, 7, width=8, heads=2, layers=1, vocabulary=7).eval()
    ids = torch.randint(7, (2, 6))
    assert path_length(model, ids, embedding=model.embedding)
    assert torch.equal(effects(model, ids, embedding=model.embedding), torch.ones(6, 6, dtype=torch.bool).tril())
    assert not model.embedding._forward_hooks


ORDERS = {"1": [3, 3, 3], "log T": [3, 4, 5, 6], "T": [20, 38, 74, 146], "sqrt T": [10, 14, 20, 28]}


@pytest.mark.parametrize(("expected", "values"), [*ORDERS.items(), ("no path", [9, 9, None])])
def test_orders(expected, values):
    assert order({8 * 2**i: value for i, value in enumerate(values)}) == expected


X = torch.zeros(2, 5, 3, dtype=torch.float64)
DOUBLED = "counts must be at three lengths at least, each twice the one before, got"
BAD = [
    (attend, X[0], None, r"x must have shape \(B, T, D\), got \(5, 3\)"),
    (lambda x: x[:, -1], X, None, r"the model's y must have shape \(2, 5, O\), got \(2, 3\)"),
    (attend, X, nn.Identity(), "embedding must be called once, it was called 0 times"),
]
MEASURES = (sequential_operations, path_length, effects)
test_bad_arguments = refusals(
    [
        *((partial(measure, *given, embedding=e), message) for measure in MEASURES for *given, e, message in BAD),
        *((partial(order, dict.fromkeys(lengths, 1)), DOUBLED) for lengths in ((8, 16), (8, 16, 24))),
    ]
)
