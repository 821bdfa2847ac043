"""A linear probe finds what stands in the states, and nothing where nothing does."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from support.helpers import refusals

from rtx_lib.diagnostics.probe import class_probe, linear_probe, neighbours


def test_a_number_that_stands_there_is_found():
    target = torch.arange(12.0)
    direction = torch.randn(5, generator=torch.Generator().manual_seed(0))
    noise = 1e-3 * torch.randn(20, 12, 5, generator=torch.Generator().manual_seed(1))
    states = target[:, None] * direction + 3 + noise
    assert linear_probe(states, target) < 1e-2


def test_noise_gives_the_mean():
    target = torch.arange(12.0)
    states = torch.randn(400, 12, 5, generator=torch.Generator().manual_seed(0))
    assert linear_probe(states, target) == pytest.approx((target - target.mean()).abs().mean().item(), rel=0.02)


def test_it_is_tested_on_other_sequences_than_it_was_fitted_to():
    states = torch.randn(2, 6, 30, generator=torch.Generator().manual_seed(0))  # more numbers than steps
    assert linear_probe(states, torch.arange(6.0)) > 0.3


def blobs(count, centres, seed):
    """Points around centres (K, D), and which one each belongs to."""
    generator = torch.Generator().manual_seed(seed)
    y = torch.randint(len(centres), (count,), generator=generator)
    return centres[y] + torch.randn(count, centres.shape[1], generator=generator), y


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("penalty", [0.01, 1.0])
def test_classes_are_told_apart_by_the_least_cost(classes, penalty):
    """Against what the docstring says, minimised by torch."""
    centres = torch.randn(classes, 6, generator=torch.Generator().manual_seed(0))
    (x, y), (test_x, test_y) = blobs(60, centres, 1), blobs(2000, centres, 2)
    moved = x.double() - x.double().mean(0)
    scale = moved.square().sum(1).mean().sqrt()
    weight, bias = (torch.zeros(shape).double().requires_grad_() for shape in ((classes, 6), (classes,)))
    search = torch.optim.LBFGS([weight, bias], max_iter=1000, tolerance_grad=1e-8, line_search_fn="strong_wolfe")

    def cost():
        search.zero_grad()
        fit = F.cross_entropy(F.linear(moved / scale, weight, bias), y, reduction="sum")
        total = fit + penalty / 2 * weight.square().sum()
        total.backward()
        return total

    search.step(cost)
    guesses = F.linear((test_x.double() - x.double().mean(0)) / scale, weight, bias).argmax(1)
    expected = (guesses == test_y).double().mean().item()
    assert class_probe(x, y, test_x, test_y, penalty=penalty) == pytest.approx(expected, abs=1.5e-3)


def test_the_size_of_features_does_not_count():
    centres = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    (x, y), (test_x, test_y) = blobs(40, centres, 1), blobs(500, centres, 2)
    found = class_probe(x, y, test_x, test_y)
    assert 0.6 < found < 0.95 and class_probe(1000 * x + 7, y, 1000 * test_x + 7, test_y) == found
    with torch.no_grad():
        assert class_probe(x, y, test_x, test_y) == found
    assert class_probe(torch.zeros(4, 3), torch.tensor([1, 1, 0, 1]), torch.ones(2, 3), torch.tensor([1, 0])) == 0.5


X, Y = torch.zeros(4, 3), torch.tensor([0, 1, 1, 0])
test_what_does_not_fit = refusals(
    [
        (lambda: linear_probe(torch.zeros(1, 4, 2), torch.arange(4.0)), "sequences of states must be at least 2"),
        (lambda: linear_probe(torch.zeros(2, 4, 2), torch.arange(5.0)), "target must have shape"),
        (lambda: class_probe(X, Y, torch.zeros(2, 5), Y[:2]), r"test_x must have shape .* got \(2, 5\)"),
        (lambda: class_probe(X, Y[:3], X, Y), r"the classes of x must have shape \(4,\), got \(3,\)"),
        (lambda: class_probe(X, Y, X, -Y), "the classes of test_x must hold ids from 0 on, got -1"),
        (lambda: class_probe(X, Y, X, Y, penalty=0.0), "penalty must be above 0 and finite, got 0.0"),
    ]
)


def test_neighbours_share_a_label_as_often_as_was_made():
    """Words 5 to 8 have class 0 and two directions, 9 class 1 and that of 5 and 6; 10 is too rare, [UNK] no word."""
    x = torch.tensor([[1, 5, 6, 7, 8, 9, 10, 9], [1, 5, 6, 7, 8, 9, 0, 9]])
    y = torch.tensor([[1, 0, 0, 0, 0, 0, 1, 1], [1, 0, 0, 0, 0, 1, -100, 1]])
    task = SimpleNamespace(output_size=2, batches=lambda split, size: [(x[:1], y[:1]), (x[1:], y[1:])])
    one, other = torch.eye(2)
    vectors = torch.stack([*torch.zeros(5, 2), one, one + 0.1 * other, other, 3 * other, one - 0.02 * other, other])
    found = neighbours(vectors, task, first=5, count=1, least=2)  # 9, 5, 8, 7 and 5 are the nearest of 5 to 9
    assert found == {"accuracy": pytest.approx(3 / 5), "share of all": pytest.approx(12 / 20)}
    with pytest.raises(ValueError, match="words with labels must be at least 6, got 5"):
        neighbours(vectors, task, first=5, count=5, least=2)
