"""What depends on a training, read from a notebook's code."""

import pytest
from support.helpers import code_cell

from rtx_book.build import dependence


def notebook(*cells):
    return {"cells": [cell if isinstance(cell, dict) else code_cell(cell) for cell in cells]}


TRAINED = "model = GRU()\nhistory = fit(model, task, steps=10)"

JUDGED = {
    "the history of a training": (TRAINED, "assert history.loss[-1] < 1"),
    "a number drawn from it": (TRAINED, "end = history.loss[-1]\nbest = min(end, 3)", "assert best < 1"),
    "the trained model": (TRAINED, "y = model(x)", "assert y.mean() > 0"),
    "a function that trains": (
        "def learn(k):\n    return fit(build(k), task)",
        "ends = {k: learn(k) for k in (1, 2)}",
        "assert ends[1] < ends[2]",
    ),
    "a loop of steps by hand": (
        "def learn(m):\n    loss.backward()\n    rule.step()\n    return m",
        "m = learn(GRU())",
        "assert m(x) < 1",
    ),
    "a list that a callback fills": (
        "trace = []\ndef watch(step, model, loss):\n    trace.append(loss)",
        "fit(GRU(), task, after_step=watch)",
        "assert trace[0] > trace[-1]",
    ),
    "a dictionary filled in a loop": (
        "ends = {}",
        "for k in (1, 2):\n    ends[k] = evaluate(GRU(k), task)",
        "assert ends[1] < 1",
    ),
    "a function that looks at a trained model": (TRAINED, "def far(x):\n    return model(x)", "assert far(x) < 1"),
    "a record": ("runs = load_records('adding')", "assert runs[0]['metrics']['mse'] < 1"),
    "a model that a function trains": (
        "def train(model, steps):\n    fit(model, task, steps=steps)",
        "reader = GRU()",
        "train(reader, 10)",
        "y = reader(x)",
        "assert y.max() < 1",
    ),
    "a model that a function within a function trains": (
        "def inner(one):\n    fit(one, task)",
        "def outer(model):\n    inner(one=model)",
        "reader = GRU()",
        "outer(reader)",
        "assert reader(x) < 1",
    ),
    "a model whose optimiser steps": (
        "model = GRU()",
        "rule = SGD(model.parameters())",
        "for x in data:\n    model(x).backward()\n    rule.step()",
        "y = model(x)",
        "assert y < 1",
    ),
    "the call itself": ("assert evaluate(model, task)['mse'] < 1",),
    "an assert in a loop": (TRAINED, "for loss in history.loss:\n    assert loss < 9"),
    "a condition on the profile": ("x = 1", "if profile != 'smoke':\n    assert x == 1"),
    "a profile in the assert": ("x = 1", "assert profile == 'smoke' or x == 1"),
}


@pytest.mark.parametrize("what", JUDGED)
def test_an_assert_on_a_training_is_seen(what):
    (fault,) = dependence.judged_trainings(notebook(*JUDGED[what]))
    assert f"cell {len(JUDGED[what])} asserts" in fault


PROVEN = {
    "two routes": (TRAINED, "x = torch.randn(3)\nassert error(loop(x), scan(x)) < 1e-12"),
    "a new object under the old name": (TRAINED, "model = GRU().double()\nassert error(model(x), loop(x)) < 1e-12"),
    "a loop over new objects": (TRAINED, "for model in (GRU(), RNN()):\n    assert error(model(x), loop(x)) < 1e-12"),
    "a comprehension's own name": (TRAINED, "assert all(model > 0 for model in (1, 2))"),
    "a count of parameters": ("assert sum(p.numel() for p in GRU().parameters()) == 12",),
    "a trained model in a cell tagged proof": (TRAINED, code_cell("assert error(model(x), loop(x)) < 1e-12", "proof")),
    "an argument that a function leaves alone": (
        "def train(model, size):\n    fit(model, task, steps=size)",
        "size = 10",
        "train(GRU(), size)",
        "assert size == 10",
    ),
    "a cell that does not parse": ("%matplotlib inline", "x = 1\nassert x"),
}


@pytest.mark.parametrize("what", PROVEN)
def test_a_proof_may_stay(what):
    assert dependence.judged_trainings(notebook(*PROVEN[what])) == []


def test_a_cell_tagged_proof_may_not_train():
    faults = dependence.judged_trainings(notebook(code_cell("fit(model, task)\nassert model(x) < 1", "proof")))
    assert faults == ["cell 1 is tagged proof and trains"]
