"""The tests of the third assignment, beside `lane.py`."""

import math

import lane
import pytest
import torch

from rtx_book.checks.grading import limited, seeds
from rtx_book.runs import builders, enter_race
from rtx_book.runs.own_lane import budget, fitting_size
from rtx_book.runs.recipes import race


@pytest.fixture(params=seeds())
def model(request):
    """The model in float64, and an input for it."""
    with torch.random.fork_rng(devices=[]), limited():
        torch.manual_seed(request.param)
        x = torch.randn(3, 11, 5, dtype=torch.float64)
        return lane.make(5, 16).double().eval(), x


def test_one_piece_or_two_with_the_state_carried_over(model):
    model, x = model
    whole, state = model(x)
    assert whole.shape[:2] == (3, 11)
    if state is not None:
        first, state = model(x[:, :4])
        pieces = torch.cat([first, model(x[:, 4:], state)[0]], 1)
        torch.testing.assert_close(pieces, whole, rtol=1e-9, atol=1e-9)


def test_it_reads_from_left_to_right_and_each_row_for_itself(model):
    model, x = model
    y = model(x)[0]
    torch.testing.assert_close(model(x[:, :7])[0], y[:, :7], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(model(x[1:2])[0], y[1:2], rtol=1e-9, atol=1e-9)
    other = torch.cat([x[:, :1] + 1, x[:, 1:]], 1)
    assert not torch.allclose(model(other)[0][:, 1:], y[:, 1:]), "nothing is remembered"


def test_every_parameter_has_a_gradient(model):
    model, x = model
    model(x)[0].square().sum().backward()
    idle = [name for name, one in model.named_parameters() if one.grad is None]
    assert not idle, f"never used: {idle}"


def test_what_is_expected_is_said_before_the_runs():
    assert lane.TASK in race.TASKS and lane.RIVAL in race.SIZES, "TASK, RIVAL"
    median, why = lane.PREDICTED
    assert median > 0 and len(why.split()) >= 10, "a number, and ten words at least"


@pytest.mark.parametrize("seed", seeds()[-1:])
def test_it_has_the_size_of_the_others_and_runs(seed):
    task = lane.TASK or "parity"
    data = builders.task_of(race.race(task, "rnn", 0.01), seed)
    assert fitting_size(lane.make, data, budget(task)) > 1
    record = enter_race(lane.make, task, lr=3e-3, seed=seed, steps=3, eval_every=3)
    assert not record["diverged"]
    assert all(math.isfinite(value) for value in record["metrics"].values())
