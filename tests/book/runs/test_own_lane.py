"""The lane of the reader's own module: the race's size, the race's run, and refusals that name the slip."""

import json
from dataclasses import replace
from typing import NamedTuple

import pytest
import torch
from torch import nn

from rtx_book.runs import MODELS, own_lane, run
from rtx_book.runs.builders import task_of
from rtx_book.runs.own_lane import OwnLane, budget, enter_race, fitting_size
from rtx_book.runs.recipes import race as plan
from rtx_lib.layers import GRU, RNN
from rtx_lib.shapes import map_tensors
from rtx_lib.training import parameter_count

SHORT = {"steps": 3, "eval_every": 3}


def gru(input_size, size):
    return GRU(input_size, size, backend="torch")


@pytest.mark.parametrize("task", ["adding", "copy", "digits", "parity", "recall", "selective"])
def test_the_size_found_is_that_of_the_race(task):
    recipe = plan.race(task, "transformer", 0.01)
    data = task_of(recipe, 0)
    assert fitting_size(gru, data, budget(task)) in range(plan.SIZES["gru"][task] - 1, plan.SIZES["gru"][task] + 2)
    assert parameter_count(MODELS[recipe.model](data, **recipe.model_arguments)) == budget(task)


def test_a_lane_of_the_race_entered_as_ones_own_gives_its_record(tmp_path):
    recipe = replace(plan.race("digits", "gru", 0.01), **SHORT, warmup=0)  # a share of the steps
    theirs = json.loads(run(recipe, 7, out=tmp_path, progress=False).read_text())
    size = plan.SIZES["gru"]["digits"]
    ours = enter_race(
        lambda inputs, n: GRU(inputs, size if n > 64 else n, backend="torch"), "digits", lr=0.01, seed=7, **SHORT
    )
    for part in ("curves", "evaluations", "metrics", "parameters", "baselines", "diverged"):
        assert ours[part] == theirs[part], part


def test_the_rate_is_the_one_whose_trial_is_best(monkeypatch):
    """By the validation loss, as the other lanes chose theirs; a trial that diverged is the worst."""
    loss = dict.fromkeys(plan.RATES, 3.0) | {0.003: float("nan"), 0.01: 1.0, 0.03: 0.5}
    seen = []

    def trained(recipe, model, task, seed, *, device):
        seen.append((recipe.lr, seed))
        assert recipe.steps == 400 or len(seen) == 8
        fell = {"step": 1, "reason": "nan"} if recipe.lr in (0.003, 0.03) else None
        return {"evaluations": [{"loss": loss[recipe.lr]}], "diverged": fell}

    monkeypatch.setattr(own_lane, "trained", trained)
    enter_race(lambda d, n: RNN(d, n), "digits", seed=9)
    assert seen == [(rate, 0) for rate in plan.RATES] + [(0.01, 9)]


class Stateless(nn.Module):
    """A module of the contract without a state, whose output is wider than any task's."""

    def __init__(self, input_size, size):
        super().__init__()
        self.linear = nn.Linear(input_size, size)

    def forward(self, x, state=None):
        return self.linear(x).cumsum(1), None


class Ids:
    """A task of ids, as the text is."""

    input_size, output_size, vocabulary = 5, 7, 11

    def batch(self, split, size, generator):
        return torch.randint(11, (size, 6), generator=generator), None


@pytest.fixture
def read(monkeypatch):
    """The pieces in which the text was read."""
    seen = []
    monkeypatch.setattr(own_lane, "task_of", lambda recipe, seed: Ids())
    monkeypatch.setattr(own_lane, "trained", lambda recipe, *rest, **how: seen.append(recipe.stream_length) or {})
    monkeypatch.setattr(own_lane, "budget", lambda task: 4000)
    return seen


def test_text_is_read_in_windows_and_as_a_stream_where_there_is_a_state(read):
    for task in ("text", "stream"):
        enter_race(gru, task, lr=0.01)
    enter_race(Stateless, "text", lr=0.01)
    assert read == [None, 64, None]
    with pytest.raises(ValueError, match="make must build a module that returns its state to read a stream"):
        enter_race(Stateless, "stream", lr=0.01)


def test_ids_are_embedded_and_the_width_may_be_any():
    y, state = OwnLane(Stateless(5, 9), 5, 3, vocabulary=11)(torch.randint(11, (2, 6)))
    assert y.shape == (2, 6, 3) and state is None


class Kept(NamedTuple):
    h: torch.Tensor


@pytest.mark.parametrize("keep", [lambda h: {"h": h}, Kept, lambda h: [None, Kept(h)]])
def test_a_state_of_any_form_is_carried_along_a_stream(keep, monkeypatch):
    class Keeping(GRU):
        def forward(self, x, state=None):
            found = []
            map_tensors(state, lambda h: found.append(h) or h)
            y, h = super().forward(x, found[0] if found else None)
            return y, keep(h)

    stream = plan.race("stream", "gru", 0.01)
    stream = replace(stream, task_arguments=stream.task_arguments | {"source": "pydoc"})
    monkeypatch.setattr(plan, "race", lambda *_: stream)
    monkeypatch.setattr(own_lane, "budget", lambda task: 4000)
    ran = [enter_race(make, "stream", lr=0.01, **SHORT)["curves"] for make in (Keeping, GRU)]
    assert ran[0] == ran[1]


def test_what_constrains_the_module_is_called(monkeypatch):
    calls = []

    class Constrained(Stateless):
        def constrain_(self):
            calls.append(1)

    monkeypatch.setattr(own_lane, "budget", lambda task: 4000)
    enter_race(Constrained, "digits", lr=0.01, **SHORT)
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda d, n: nn.Linear(d, n),
            r"make must build a module that returns \(y, state\).* got a tensor \(1, 2, 2\)",
        ),
        (lambda d, n: GRU(d, 4), "make must have a size with about .* parameters, closest were"),
        (lambda d, n: GRU(d, 4000), "make must have a size with about"),
    ],
)
def test_a_module_that_cannot_race_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        enter_race(make, "adding", lr=0.01)


def test_an_unknown_task_is_refused():
    with pytest.raises(ValueError, match=r"task must be one of \['adding', .*'selective'\], got 'chess'"):
        enter_race(gru, "chess")
