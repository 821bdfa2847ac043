"""GloVe: the counts by a loop, J and its gradients by three routes, AdaGrad's steps, and what it refuses."""

from functools import partial

import pytest
import torch
from support.helpers import drawn, refusals, relative_error

from rtx_lib.models import glove

pytestmark = pytest.mark.usefixtures("double")

V, D = 5, 3
SENTENCES = [[1, 2, 3, 2, 0, 1], [4], [], [2, 0, 0, 4, 1]]
COUNTS = torch.tensor(
    [[0, 150, 2, 0, 1], [150, 7, 0, 3, 9], [2, 0, 1, 40, 0], [0, 3, 40, 0, 5], [1, 9, 0, 5, 101]]
).double()
build = partial(drawn, 0, glove.GloVe, V, D)


def pair_by_pair(model, counts, x_max=100.0):
    """J as the paper has it, halved, and its gradients by hand."""
    v, u, b, c = (p.detach() for p in model.parameters())
    total, slopes = 0.0, [torch.zeros_like(p) for p in (v, u, b, c)]
    for i, j in counts.nonzero().tolist():
        x = counts[i, j]
        f = min(1.0, float(x / x_max) ** 0.75)
        e = v[i] @ u[j] + b[i] + c[j] - x.log()
        total += float(f * e**2) / 2
        for slope, row, part in zip(slopes, (i, j, i, j), (u[j], v[i], 1.0, 1.0), strict=True):
            slope[row] += f * e * part
    return total, slopes


@pytest.mark.parametrize("left_out", [(), (0, 3)])
def test_counts(left_out):
    """What is left out closes the window over itself, and windows end with their sentence."""
    expected = torch.zeros(V, V)
    for sentence in SENTENCES:
        words = [word for word in sentence if word not in left_out]
        for i, one in enumerate(words):
            for j, other in enumerate(words):
                expected[one, other] += 1 / abs(i - j) if 0 < abs(i - j) <= 3 else 0
    assert relative_error(glove.cooccurrences(SENTENCES, V, 3, left_out).double(), expected) < 1e-6


@pytest.mark.parametrize("x_max", [100.0, 10.0])
def test_loss_and_gradients(x_max):
    model = build()
    everything = *torch.cartesian_prod(torch.arange(V), torch.arange(V)).T, COUNTS.flatten(), x_max
    loss = model.loss(*everything)
    total, slopes = pair_by_pair(model, COUNTS, x_max)
    assert loss.item() == pytest.approx(total, rel=1e-12)
    for found, expected in zip(torch.autograd.grad(loss, list(model.parameters())), slopes, strict=True):
        assert relative_error(found, expected) < 1e-12
    directions, values = [torch.randn_like(p) for p in model.parameters()], []
    for step in (1e-5, -2e-5):  # along a line, forwards and back
        for p, direction in zip(model.parameters(), directions, strict=True):
            p.data += step * direction
        values.append(model.loss(*everything).item())
    along = sum((slope * direction).sum() for slope, direction in zip(slopes, directions, strict=True))
    assert (values[0] - values[1]) / 2e-5 == pytest.approx(along.item(), rel=1e-7)


def test_steps_are_those_of_adagrad():
    """Two passes of one batch, against the formula with gradients by hand."""
    ours, by_hand = build(), build()
    curve = glove.fit_glove(ours, COUNTS, 2, size=17, generator=torch.Generator())
    sums = [torch.zeros_like(p) for p in by_hand.parameters()]
    for loss in curve:
        total, slopes = pair_by_pair(by_hand, COUNTS)
        assert loss == pytest.approx(total / 17, rel=1e-12)
        for p, g, s in zip(by_hand.parameters(), slopes, sums, strict=True):
            s += g * g
            p.data -= 0.05 * g / (s**0.5 + 1e-10)
    assert all(relative_error(*pair) < 1e-12 for pair in zip(ours.parameters(), by_hand.parameters(), strict=True))


REFUSED = {
    "words must hold ids from 0 to 4, got 5": lambda m: m(torch.tensor([5]), torch.tensor([0])),
    r"counts must have shape \(2,\), got \(5, 5\)": lambda m: m.loss(*torch.tensor([[1, 2], [0, 0]]), COUNTS),
    "x_max must be .* got 0": lambda m: glove.fit_glove(m, COUNTS, x_max=0, generator=torch.Generator()),
}


test_what_is_refused = refusals(REFUSED, build)
