"""Two trainings at equal time by the clock."""

import itertools
import math
import time

import pytest
import torch
from support.exploding import Exploding
from torch import nn

from rtx_book.runs.side_by_side import Side, fit_side_by_side
from rtx_lib.layers import RNN, Readout
from rtx_lib.tasks import AddingProblem, CharacterText
from rtx_lib.training import TrainingDiverged, fit
from rtx_lib.training.schedules import warmup_cosine


class Clock:
    """Time moves only when a model works."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)


class Costly(nn.Module):
    """A model each of whose training steps takes so many seconds; it notes the learning rates it sees."""

    def __init__(self, clock, seconds):
        super().__init__()
        self.clock, self.seconds, self.model = clock, seconds, Readout(RNN(2, 4), 1)

    def forward(self, x, state=None):
        self.clock.now += self.seconds if self.training else 100.0
        return self.model(x, state)


def side(clock, seconds, task=None, **settings):
    torch.manual_seed(0)
    model = Costly(clock, seconds)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    return Side(model, task or AddingProblem(6), optimizer, batch_size=8, clip=1.0, **settings)


def test_both_get_the_same_time_and_end_their_schedule_together(monkeypatch):
    clock = Clock(monkeypatch)
    slow, quick = side(clock, 3.0, schedule=warmup_cosine(12)), side(clock, 1.0, schedule=warmup_cosine(12))
    fit_side_by_side(slow, quick, steps=12, eval_every=4)
    assert len(slow.history.step) == 12 and quick.history.step == list(range(1, 37))
    assert slow.history.seconds == quick.history.seconds == 36, "evaluations cost nothing"
    rows = zip(slow.history.evaluations, quick.history.evaluations, strict=True)
    assert [(ours["step"], theirs["step"]) for ours, theirs in rows] == [(4, 9), (8, 21), (12, 36)]
    assert quick.history.lr[0] == slow.history.lr[1] and quick.history.lr[-1] == slow.history.lr[-1] == 0
    assert all(a >= b for a, b in itertools.pairwise(quick.history.lr))


def test_streams_are_read_as_in_a_run_alone(monkeypatch):
    """Both sides carry their states, and begin anew with each pass over the text."""
    clock = Clock(monkeypatch)
    text = CharacterText("pydoc", length=4)
    text._data["train"] = text._data["train"][:100]  # six pieces a pass

    def reading():
        torch.manual_seed(0)
        model = Readout(RNN(text.vocabulary, 4), text.vocabulary, vocabulary=text.vocabulary)
        return Side(model, text, torch.optim.Adam(model.parameters(), lr=0.01), batch_size=4, stream_length=4)

    one, other, alone = reading(), reading(), reading()
    for side_ in (one, other):
        side_.model.register_forward_hook(lambda *_: setattr(clock, "now", clock.now + 1.0))
    fit_side_by_side(one, other, steps=9)
    history = fit(
        alone.model, text, steps=9, batch_size=4, optimizer=alone.run.optimizer, stream_length=4, progress=False
    )
    assert one.history.loss == other.history.loss == history.loss


def test_a_loss_that_is_not_finite_stops_both(monkeypatch):
    clock = Clock(monkeypatch)
    with pytest.raises(TrainingDiverged, match="loss is inf at step 6"):
        fit_side_by_side(side(clock, 1.0), side(clock, 1.0, Exploding(math.inf)), steps=8)


@pytest.mark.parametrize(("name", "value"), [("steps", 0), ("eval_every", 0)])
def test_bad_arguments_side_by_side(monkeypatch, name, value):
    clock = Clock(monkeypatch)
    with pytest.raises(ValueError, match=f"{name} must be positive, got {value}"):
        fit_side_by_side(side(clock, 1.0), side(clock, 1.0), **{"steps": 2, name: value})
