"""A record compares runs on the same test rows: a change of one of these numbers is a change of the task."""

import pytest
import torch

from rtx_lib import tasks

KNOWN = [
    (tasks.AddingProblem(100), "test", 264359576.06615877),
    (tasks.CopyMemory(20), "test", 494_417_361),
    (tasks.Lag(100), "test", 4_806_761_514),
    (tasks.SequentialDigits(), "test", 3_777_666),
    (tasks.Parity(40), "test", 199_509_209),
    (tasks.GroupWords(20), "test", 497_772_153),
    (tasks.GroupWords(12, group="S5"), "test", 7_127_437_443),
    (tasks.AssociativeRecall(), "test", -14_764_944_399),
    (tasks.AssociativeRecall(length=96), "test", -38_722_891_931),
    (tasks.SelectiveCopying(), "test", -13_371_772_537),
    (tasks.SelectiveCopying(places=60), "test", -29_338_216_948),
    (tasks.NextSymbol(), "test", -3_743_547_662),
    (tasks.LookUp(), "test", -3_801_206_982),
    (tasks.WordPairs(), "test", -1_341_375_360),
    (tasks.WordPairs("permutation"), "test", 523_173_597),
    (tasks.Stories("two facts"), "test", 2_087_561_426),
    (tasks.Stories("deduction"), "test", 1_446_036_996),
    (tasks.GeneratedSentiment(), "test", 850_763_115),
    (tasks.NumberWords(), "test", 2_036_788_296),
    (tasks.NumberWords(count=(2, 2), largest=999_999), "valid", 258_328_072),
]


@pytest.mark.parametrize(("task", "split", "known"), KNOWN)
def test_generated_rows_are_the_same_for_everybody(task, split, known):
    """The sum of all numbers, each times its place, which starts anew after 997 of them."""
    batches = task.batches(split, 10_000)
    parts = [part for x, y in batches for part in (*(x if isinstance(x, tuple) else (x,)), y) if part is not None]
    found = sum(float((part.double().flatten() * (1 + torch.arange(part.numel()) % 997)).sum()) for part in parts)
    assert found == pytest.approx(known, rel=1e-9)
