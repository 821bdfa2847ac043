"""A stack of monotone units ends up with the period of its input, to the last bit; what turns signs over does not."""

import torch
from support.helpers import refusals
from torch import nn

from rtx_lib.diagnostics.periods import changes, settles
from rtx_lib.models.indrnn import IndRNNLayer

ONE_ZERO = torch.tensor([[[1.0], [0.0]]])  # (1, 2, 1)


class Flips(nn.Module):
    """h_t = (1 - 2 x_t) h_{t-1} from 1 on: -1 after an odd number of ones."""

    def forward(self, x, state=None):
        h = (1 - 2 * x) * (1 if state is None else state)
        return h, h


class Counts(nn.Module):
    """Settles by hand: counts the inputs up to ``most``."""

    def __init__(self, most):
        super().__init__()
        self.most = most

    def forward(self, x, state=None):
        h = torch.clamp((0 if state is None else state) + torch.ones_like(x), max=self.most)
        return h, h


def test_a_relu_indrnn_that_turns_over_settles_into_even_periods_alone():
    """With u = -1 it gives 1 0 1 0 ... on 1 1 1 ...: period 2 of an input of period 1."""
    layer = IndRNNLayer(1, 1)
    with torch.no_grad():
        for parameter, value in ((layer.u, -1.0), (layer.linear.weight, 1.0), (layer.linear.bias, 0.0)):
            parameter.fill_(value)
    ones = torch.ones(1, 2, 1)
    assert settles(layer, ones[:, :1], 100) == 100 and settles(layer, ones, 100) == 0


def test_a_sign_that_the_input_decides_is_parity_for_ever():
    assert settles(Flips(), ONE_ZERO, 1000) == 1000 and (changes(Flips(), ONE_ZERO, 1000) == 2).all()


def test_the_last_step_by_hand():
    """Counts 1 2 3 4 4 4: with period 1 the last change is at step 4, with period 2 at step 5."""
    period = torch.zeros(2, 2, 1)
    assert settles(Counts(4), period[:, :1], 20) == 4 and settles(Counts(4), period, 20) == 5
    assert changes(Counts(4), period, 7).tolist() == [2, 2, 1, 0, 0]
    assert settles(Counts(1), period, 20) == 0
    assert settles(Counts(30), period, 20) == 20  # not yet


def test_the_smallest_difference_counts_and_infinity_is_none():
    class Tiny(nn.Module):
        def forward(self, x, state=None):
            step = 0 if state is None else state
            return torch.full_like(x, 1.0 if step < 9 else 1.0 + 2.0**-23 if step == 9 else torch.inf), step + 1

    found = changes(Tiny(), torch.zeros(1, 1, 1), 14)
    assert found[:8].tolist() == [0] * 8 and found[8] == 2.0**-23 and found[9] == torch.inf and not found[10:].any()


def test_ids_and_batches():
    """Of a batch the last to settle counts: halving on and on, a row of twos takes longer than one of ones."""

    class Halves(nn.Module):
        def forward(self, ids, state=None):
            h = (ids[..., None] * 1.0 if state is None else state) / 2
            return torch.where(h < 1e-3, 0.0, h), h

    one, two = torch.tensor([[1]]), torch.tensor([[2]])
    assert settles(Halves(), two, 99) == settles(Halves(), one, 99) + 1 == settles(Halves(), torch.cat([one, two]), 99)


SHAPE = r"the model's y must have shape \(1, 1, O\), got \(1, 1\)"
test_what_is_refused = refusals(
    [
        (lambda: settles(Counts(3), ONE_ZERO, 2), "steps must be at least 3, got 2"),
        (lambda: settles(Counts(torch.nan), ONE_ZERO, 9), "model must give numbers, got NaN at step 1"),
        (lambda: settles(lambda x, state: (x[:, 0], None), ONE_ZERO, 9), SHAPE),
    ]
)
