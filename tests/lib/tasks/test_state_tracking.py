"""Parity and words of a group: labels by hand, and what can be known without keeping the state."""

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from support.compare import generator

from rtx_lib.tasks import GroupWords, Parity


def certain(labels: torch.Tensor, classes: int) -> torch.Tensor:
    return 50.0 * F.one_hot(labels, classes).double()


def test_parity_is_that_of_all_bits_so_far() -> None:
    x, y = Parity(40).batch("train", 200, generator())
    assert x.dtype == y.dtype == torch.int64 and set(x.flatten().tolist()) == {0, 1}
    for row, labels in zip(x.tolist(), y.tolist(), strict=True):
        assert labels == [sum(row[: t + 1]) % 2 for t in range(40)]


@pytest.mark.parametrize("group", ["S3", "S5"])
def test_products_by_moving_things(group: str) -> None:
    task = GroupWords(12, group=group)
    things = int(group[1])
    assert task.permutations == tuple(itertools.permutations(range(things)))
    assert task.vocabulary == task.output_size == math.factorial(things)
    x, y = task.batch("train", 100, generator(1))
    for row, labels in zip(x.tolist(), y.tolist(), strict=True):
        shelf = tuple(range(things))
        for symbol, label in zip(row, labels, strict=True):
            shelf = tuple(shelf[place] for place in task.permutations[symbol])
            assert task.permutations[label] == shelf


def test_metrics_are_shares_of_steps_of_late_steps_and_of_whole_sequences() -> None:
    task = Parity(8)
    _, y = task.batch("train", 4, generator())
    guess = y.clone()
    guess[0, 0] ^= 1  # one early error
    guess[1, 6:] ^= 1  # the last quarter wrong
    found = task.metrics(certain(guess, 2), y)
    assert found.pop("loss") > 1
    assert found == {"accuracy": 29 / 32, "last quarter": 6 / 8, "exact": 2 / 4}
    _, y = Parity(256).batch("train", 3, generator())
    guess = y.clone()
    guess[:, :192] ^= 1
    assert Parity(256).metrics(certain(guess, 2), y)["last quarter"] == 1  # steps 193 to 256
    short = Parity(3)
    assert short.metrics(certain(torch.tensor([[1, 0, 1]]), 2), torch.tensor([[0, 1, 1]]))["last quarter"] == 1


@pytest.mark.parametrize("task", [Parity(5), GroupWords(3)])
def test_baselines_are_the_best_that_can_be_without_a_state(task) -> None:
    """Over all words: the last symbol says all at the first step and nothing later."""
    x, y = task.splits._lay_out(torch.cartesian_prod(*[torch.arange(task.vocabulary)] * task.length))
    n, right = task.vocabulary, 0
    for t in range(task.length):
        counts = torch.zeros(n, n).index_put((x[:, t], y[:, t]), torch.ones(len(x)), accumulate=True)
        right += counts.max(1).values.sum().item() / len(x)
    bars = task.baselines()
    assert bars["last symbol"] == pytest.approx(right / task.length, rel=1e-12)
    assert bars["uniform guess"] == 1 / n and bars["uniform guess loss"] == math.log(n)
    assert bars.get("sign alone", 1 / 3) == 1 / 3
