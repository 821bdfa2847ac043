"""Schedules: their corners in closed form."""

import pytest
from support.helpers import refusals

from rtx_lib.training.schedules import drop_on_plateau, staircase, warmup_constant, warmup_cosine


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        (warmup_cosine(10), {0: 1, 5: 0.5, 10: 0}),  # a scheduler of torch asks for step 0, too
        (warmup_cosine(10, warmup=2), {1: 0.5, 2: 1, 6: 0.5, 10: 0}),
        (warmup_cosine(10, warmup=2, floor=0.1), {1: 0.5, 2: 1, 6: 0.55, 10: 0.1, 14: 0.1}),
        (warmup_constant(4), {1: 0.25, 4: 1, 9: 1}),
        (warmup_constant(), {1: 1}),
        (staircase(3, 10.0), {1: 1, 3: 1, 4: 0.1, 6: 0.1, 7: 0.01}),  # down after each flight
    ],
)
def test_factors_of_some_steps(factor, expected):
    assert {step: factor(step) for step in expected} == pytest.approx(expected)


def test_a_plateau_lowers_the_rate():
    factor = drop_on_plateau(2, 4.0)
    losses, factors = [5, 6, 5.5, 7, 6, 6.5, 6.5, 8, 1, 7], []
    for number in range(len(losses) + 1):
        factors.append(factor([{"loss": loss} for loss in losses[:number]]))
    # Lower than the worst of the two before it: 5.5 and 6. As bad as it, or worse: 7, 6.5, 6.5 and 8, and not 1 or 7.
    assert drop_on_plateau(2, 4.0, spared=7)([{"loss": loss} for loss in losses]) == 1 / 4, "only 8 is later"
    assert factors == [1, 1, 1, 1, 1 / 4, 1 / 4, 1 / 4, 1 / 16, 1 / 64, 1 / 64, 1 / 64]


test_bad_arguments = refusals(
    [
        (lambda: warmup_cosine(10, warmup=10), "warmup must be at least 0 and below 10, got 10"),
        (lambda: warmup_cosine(10, floor=1.5), "floor must be at least 0 and at most 1, got 1.5"),
        (lambda: warmup_constant(-1), "warmup must be at least 0"),
        (lambda: staircase(0), "every must be at least 1, got 0"),
        (lambda: drop_on_plateau(3, 0.5), "drop must be at least 1"),
    ]
)
