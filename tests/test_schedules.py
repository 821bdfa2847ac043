"""Schedules: their corners in closed form."""

import pytest

from rtx_lib.schedules import inverse_sqrt, warmup_constant, warmup_cosine


def test_cosine_falls_from_the_peak_to_its_floor():
    factor = warmup_cosine(10, warmup=2)
    assert [factor(step) for step in (1, 2, 6, 10)] == pytest.approx([0.5, 1, 0.5, 0])
    factor = warmup_cosine(10, warmup=2, floor=0.1)
    assert [factor(step) for step in (1, 2, 6, 10, 14)] == pytest.approx([0.5, 1, 0.55, 0.1, 0.1])


def test_inverse_sqrt_is_that_of_the_paper_up_to_its_constant():
    """Vaswani et al. (2017), eq. 3: D ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)."""
    width, warmup = 512, 40
    factor = inverse_sqrt(warmup)
    for step in (1, 20, 40, 41, 160, 1000):
        paper = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert factor(step) * (width * warmup) ** -0.5 == pytest.approx(paper, rel=1e-12)


def test_constant_after_warm_up():
    assert [warmup_constant(4)(step) for step in (1, 4, 9)] == [0.25, 1, 1]
    assert warmup_constant()(1) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: warmup_cosine(10, warmup=10), "warmup must lie in"),
        (lambda: warmup_cosine(10, floor=1.5), "floor must lie in"),
        (lambda: warmup_constant(-1), "warmup must be at least 0"),
        (lambda: inverse_sqrt(0), "warmup must be at least 1"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
