"""Recall and selective copying: rows by their rules, and that nothing else helps."""

import pytest
import torch
import torch.nn.functional as F
from support.compare import generator

from rtx_lib.tasks import AssociativeRecall, SelectiveCopying
from rtx_lib.tasks.next_symbol import LookUp
from rtx_lib.tasks.recall import BLANK

# Associative recall


def test_every_key_is_asked_for_once_and_answered_with_its_value() -> None:
    task = AssociativeRecall(3, keys=8, values=5, length=12)
    x, y = task.batch("train", 500, generator(1))
    assert x.shape == y.shape == (500, 12) and task.vocabulary == 14
    for row, labels in zip(x.tolist(), y.tolist(), strict=True):
        said = dict(zip(row[:6:2], row[1:6:2], strict=True))
        assert len(said) == len(set(said.values())) == 3
        assert set(said) <= set(range(1, 9)) and set(said.values()) <= set(range(9, 14))
        asked = [symbol for symbol in row[6:] if symbol != BLANK]
        assert sorted(asked) == sorted(said)
        assert labels == 6 * [-100] + [said.get(symbol, -100) for symbol in row[6:]]
    assert task.weight(y) == 1500


@pytest.mark.parametrize(
    ("task", "guesses"),
    [
        (AssociativeRecall(), {"a value": 1 / 32, "a shown value": 1 / 8}),
        (LookUp(4, questions=3), {"a shown value": 1 / 4}),
    ],
)
def test_who_sees_the_dictionary_and_not_its_keys_pays_what_the_baseline_says(task, guesses) -> None:
    x, y = next(task.batches("test", 10_000))
    logits = torch.full((*x.shape, task.vocabulary), -1e4).double()
    logits.scatter_(2, x[:, None, 1 : 2 * task.pairs : 2].expand(-1, x.shape[1], -1), 0.0)
    bars = task.baselines()
    assert task.metrics(logits, y)["loss"] == pytest.approx(bars["a shown value loss"], rel=1e-9)
    assert guesses.items() <= bars.items()
    guess = F.one_hot(x[:, None, 1].expand_as(x), task.vocabulary).double()
    assert abs(task.metrics(guess, y)["accuracy"] - bars["a shown value"]) < 0.015


# Selective copying


def test_the_answer_is_what_was_not_blank_in_order() -> None:
    task = SelectiveCopying(3, places=9, symbols=5)
    x, y = task.batch("train", 500, generator(1))
    assert x.shape == y.shape == (500, task.length) == (500, 12) and task.vocabulary == 7
    for row, labels in zip(x.tolist(), y.tolist(), strict=True):
        read = [symbol for symbol in row[:9] if symbol != BLANK]
        assert len(read) == 3 and set(read) <= set(range(1, 6)) and row[9:] == [6, 6, 6]
        assert labels == 9 * [-100] + read
    assert task.weight(y) == 1500


def test_who_read_nothing_pays_what_the_baseline_says() -> None:
    task = SelectiveCopying()
    x, y = next(task.batches("test", 10_000))
    logits = torch.full((*x.shape, task.vocabulary), -1e4).double()
    logits[..., 1:-1] = 0
    bars = task.baselines()
    assert task.metrics(logits, y)["loss"] == pytest.approx(bars["a symbol loss"], rel=1e-9)
    one = F.one_hot(torch.full_like(x, 3), task.vocabulary).double()
    assert abs(task.metrics(one, y)["accuracy"] - bars["a symbol"]) < 0.007
