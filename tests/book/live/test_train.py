"""A network learns in the page what it learns in torch; the task, the scan and the events that are reported."""

from pathlib import Path

import pytest
import torch
from live.parity import error, flat
from live.test_cells import CELLS, page_name

TRAINING = ("random", "scan", "cells", "adding", "trainer")

# Trains from the page's own start and tells what torch needs to do the same.
LEARN = Path(__file__).with_name("train-learn.js").read_text()


def learn_in_torch(kind, told, hidden, length, clip):
    """The same training with autograd and torch's Adam: the losses and the weights at the end."""
    model = CELLS[kind](hidden, length).double()
    named = {page_name(name): parameter for name, parameter in model.named_parameters()}
    with torch.no_grad():
        for name, parameter in named.items():
            parameter.copy_(torch.tensor(told["start"][name]).view_as(parameter))
    groups = [{"params": [p], "lr": told["rate"] * told["rates"][name]} for name, p in named.items()]
    adam, losses = torch.optim.Adam(groups), []
    for batch in told["batches"]:
        x = torch.tensor(batch["x"]).view(length, -1, 2).transpose(0, 1)
        loss = (model(x)[0][:, -1, 0] - torch.tensor(batch["target"])).square().mean()
        adam.zero_grad()
        loss.backward()
        norm = torch.stack([p.grad.norm() for p in named.values()]).norm()
        for p in named.values():
            p.grad *= min(1.0, clip / norm.item())
        adam.step()
        if kind == "indrnn":
            model.constrain_()
        losses.append(loss.item())
    return losses, {name: flat(p) for name, p in named.items()}


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("clip", [0.05, 1.0])
def test_whole_training_is_torchs(live, double, kind, clip):
    """Thirty steps with clipping, Adam, IndRNN's slow rates and bound on u; Adam makes small errors grow, so 1e-8."""
    settings = {"length": 9, "hidden": 6, "batch": 4, "seed": 1}
    told = live(*TRAINING).evaluate(LEARN, {"kind": kind, "settings": settings, "steps": 30, "clip": clip})
    slow = {name for name in told["rates"] if kind == "indrnn" and (name[0] == "u" or name.endswith("_l1"))}
    assert told["rates"] == {name: 1 / 3 if name in slow else 1 for name in told["rates"]}  # 3 of 9 steps
    losses, end = learn_in_torch(kind, told, 6, 9, clip)
    assert error(told["losses"], losses) < 1e-8
    assert max(error(told["end"][name], end[name]) for name in end) < 1e-8


def test_sequences(live):
    """Two marks in each, never at one step, everywhere equally often; the target is the sum of the two values."""
    length, batch = 5, 2000
    x, target = live("random", "scan", "cells", "adding").evaluate(
        """({length, batch}) => {
          const x = RTX.matrix(length * batch, 2), target = new Float64Array(batch)
          RTX.addingBatch(batch, length, RTX.random(1), x, target)
          return [[...x.v], [...target]]
        }""",
        {"length": length, "batch": batch},
    )
    x, target = torch.tensor(x).view(length, batch, 2), torch.tensor(target)
    values, marks = x.unbind(-1)
    assert set(marks.flatten().tolist()) == {0.0, 1.0} and (marks.sum(0) == 2).all()
    assert torch.allclose((values * marks).sum(0), target)
    assert ((marks.mean(1) - 2 / length).abs() < 0.05).all()
    assert abs(target.mean() - 1) < 0.03 and abs(target.var() - 1 / 6) < 0.01


def test_training_with_the_scan(live):
    """Forward by the scan, back by the steps: the same losses as with the loop, but for rounding."""
    page = live(*TRAINING)
    settings = {"length": 40, "hidden": 8, "batch": 4, "seed": 1}
    given = {"kind": "indrnn", "steps": 12, "clip": 1}
    told = [page.evaluate(LEARN, {**given, "settings": {**settings, "scan": scan}}) for scan in (False, True)]
    assert error(*(one["losses"] for one in told)) < 1e-8
    assert page.evaluate("() => [1, 2, 3, 100, 128, 129].map(RTX.rounds)") == [0, 1, 2, 7, 7, 8]


def test_events_are_those_of_the_curves(live):
    """The steps that the trainer reports, found again in the curves of a run made for it: errors that fall by rule."""
    script = """() => {
      const learner = new RTX.Learner({kind: 'gru', length: 4, hidden: 2, batch: 2}), errors = []
      const made = (s) => 2 ** -(s / 20) / 6
      learner.model.train = () => { learner.model.steps++; return {loss: made(learner.steps - 1), norm: 1} }
      learner.model.stateGradients = () => [10 ** (learner.steps / 10 - 8), 1, 1, 1]
      while (learner.state === 'learning') { learner.step(0.01, 1); errors.push(learner.error()) }
      return {errors, events: learner.events, state: learner.state}
    }"""
    told = live(*TRAINING).evaluate(script)
    below = {name: next(i + 1 for i, e in enumerate(told["errors"]) if e < bar and i >= 19)
             for name, bar in {"moved": 0.8 / 6, "half": 0.05, "learned": 0.004}.items()}  # fmt: skip
    opened = told["events"].pop("opened")
    assert told["events"] == below and told["state"] == "learned"
    assert 50 <= opened <= 56  # the share passes 1e-3 at step 50, and its mean over some steps soon after


def test_divergence_stops_a_cell(live):
    state, steps = live(*TRAINING).evaluate("""() => {
      const learner = new RTX.Learner({kind: 'irnn', length: 60, hidden: 8, batch: 4, scale: 3})
      while (learner.state === 'learning' && learner.steps < 200) learner.step(1, 0)
      return [learner.state, learner.steps]
    }""")
    assert state == "diverged" and steps < 200


def test_starts(live):
    """nn.Linear's rule for what is drawn, so that a start in the page is a start in torch."""
    starts = live(*TRAINING).evaluate("""() => Object.fromEntries(Object.keys(RTX.CELLS).map((kind) => {
      const named = Object.entries(new RTX.Adder({kind, length: 50, hidden: 16}).named())
      return [kind, Object.fromEntries(named.map(([name, p]) => [name, [...p.v]]))]
    }))""")
    for kind, start in starts.items():
        model = CELLS[kind](16, 50)
        shapes = {page_name(name): parameter.numel() for name, parameter in model.named_parameters()}
        assert {name: len(v) for name, v in start.items()} == shapes
    assert max(map(abs, starts["gru"]["weight_hh_l0"])) == pytest.approx(0.25, rel=0.02)  # 1 / sqrt(16)
    assert set(starts["lstm"]["bias_ih_l0"][16:32]) == {1} and set(starts["lstm"]["bias_hh_l0"][16:32]) == {0}
    assert torch.equal(torch.tensor(starts["irnn"]["weight_hh_l0"]).view(16, 16), torch.eye(16))
    assert all(0.9 ** (1 / 50) <= u <= 2 ** (1 / 50) for u in starts["indrnn"]["u_l1"])
