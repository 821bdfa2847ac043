"""Binary addition: that the sums are right, what is drawn, how far a carry travels, and what the baselines reach."""

import pytest
import torch
from support.compare import generator

from rtx_lib.tasks import BinaryAddition


def numbers(rows: list[list[int]]) -> list[tuple[int, int]]:
    """The two numbers of each row, written a second time."""
    pairs = {1: (0, 0), 2: (1, 0), 3: (0, 1), 4: (1, 1)}
    return [tuple(sum(pairs[s][k] << i for i, s in enumerate(row)) for k in (0, 1)) for row in rows]


def carries(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Whether a carry comes into each place: the digit is then not the one of the two alone."""
    return (y != ((x == 2) | (x == 3)).long()).long()


@pytest.mark.parametrize("bits, carry", [(1, None), (8, None), (64, None), (2, 1), (33, 32), (64, 20)])
@pytest.mark.parametrize("split", ["train", "test"])
def test_the_sums_are_right(bits: int, carry: int | None, split: str) -> None:
    x, y = BinaryAddition(bits, carry=carry).batch(split, 50, generator())
    assert x.dtype == y.dtype == torch.int64 and x.shape == y.shape
    for row, labels in zip(x.tolist(), y.tolist(), strict=True):
        places = sum(symbol > 0 for symbol in row)
        assert row[places - 1 :] == [1] + [0] * (len(row) - places) and labels[places:] == [-100] * (len(row) - places)
        ((a, b),) = numbers([row[:places]])
        assert a + b == sum(digit << i for i, digit in enumerate(labels[:places]))


def test_sums_of_ones_own_choice() -> None:
    task = BinaryAddition(5)
    x, y = task.sums([(13, 7), (31, 31)])
    assert x.tolist() == [[4, 3, 4, 2, 1, 1], [4] * 5 + [1]] and y.tolist() == [[0, 0, 1, 0, 1, 0], [0] + [1] * 5]
    assert numbers(BinaryAddition(70).sums([(2**70 - 1, 5)])[0].tolist()) == [(2**70 - 1, 5)]
    with pytest.raises(ValueError, match="pairs must hold pairs of numbers from 0 to 31"):
        task.sums([(1, 32)])
    with pytest.raises(ValueError, match="pairs must hold pairs of numbers"):
        task.sums([])


def test_training_has_every_length_and_tests_have_one() -> None:
    task, draws = BinaryAddition(8), generator(1)
    x, y = task.batch("train", 8_000, draws)
    lengths = (x != 0).sum(1) - 1
    # 1,000 of each expected, standard deviation 30.
    assert lengths.min() == 1 and (lengths.bincount()[1:] - 1_000).abs().max() < 150
    assert task.loss_weight(y) == int(lengths.sum()) + 8_000
    assert task.batch("train", 1, generator(3))[0].shape[1] < 9, "no more places than the longest sum needs"
    x, _ = task.batch("test", 10_000, draws)
    assert x.shape[1] == 9 and (x[:, :-1].flatten().bincount(minlength=5)[1:] - 20_000).abs().max() < 620


@pytest.mark.parametrize("bits, carry", [(2, 1), (9, 8), (12, 4), (33, 32)])
def test_one_carry_travels_so_far(bits: int, carry: int) -> None:
    """It starts at a 1+1, anywhere that it fits, and no other place has a carry."""
    x, y = next(BinaryAddition(bits, carry=carry).batches("test", 10_000))
    coming = carries(x, y)
    assert ((x == 4).sum(1) == 1).all() and (coming.sum(1) == carry + 1).all()
    start = (x == 4).long().argmax(1)
    assert torch.equal(coming.argmax(1), start + 1)
    assert set(start.tolist()) == set(range(bits - carry))
    if bits > carry + 1:
        assert set(x[start == 0][:, carry + 2].tolist()) == {1, 2, 3}
    train, _ = BinaryAddition(bits, carry=carry).batch("train", 50, generator())
    assert (train == 4).sum() > 1, "training is as ever"


@pytest.mark.parametrize("bits, carry", [(1, None), (4, None), (10, None), (10, 4), (9, 8)])
def test_baselines_are_what_adding_without_carries_reaches(bits: int, carry: int | None) -> None:
    task = BinaryAddition(bits, carry=carry)
    x, y = next(task.batches("test", 10_000))
    prediction = torch.nn.functional.one_hot(((x == 2) | (x == 3)).long(), 2).double()
    found, expected = task.metrics(prediction, y), task.baselines()
    # The standard error of either share is at most 0.005.
    assert found["accuracy"] == pytest.approx(expected["no carry"], abs=0.02 if carry is None else 1e-12)
    assert found["exact"] == pytest.approx(expected["no carry, whole sums"], abs=0.02 if carry is None else 0)


def test_one_wrong_digit_is_a_wrong_sum() -> None:
    task = BinaryAddition(3)
    _, y = task.sums([(1, 2), (7, 7)])
    prediction = 100.0 * torch.nn.functional.one_hot(y, 2)
    prediction[1, 0] = prediction[1, 0].flip(0)
    assert task.metrics(prediction, y) == {"loss": pytest.approx(12.5), "accuracy": 0.875, "exact": 0.5}
