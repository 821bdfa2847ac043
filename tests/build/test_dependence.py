"""What depends on a training, read from a notebook's code."""

import dependence
import pytest
from helpers import code_cell


def notebook(*cells):
    return {"cells": [cell if isinstance(cell, dict) else code_cell(cell) for cell in cells]}


TRAINED = "model = GRU()\nhistory = fit(model, task, steps=10)"

JUDGED = {
    "the history of a training": (TRAINED, "assert history.loss[-1] < 1"),
    "a number drawn from it": (TRAINED, "end = history.loss[-1]\nbest = min(end, 3)", "assert best < 1"),
    "the trained model": (TRAINED, "y = model(x)", "assert y.mean() > 0"),
    "a function that trains": ("def learn(k):\n    return fit(build(k), task)", "ends = {k: learn(k) for k in (1, 2)}",
                               "assert ends[1] < ends[2]"),
    "a loop of steps by hand": ("def learn(m):\n    loss.backward()\n    rule.step()\n    return m", "m = learn(GRU())",
                                "assert m(x) < 1"),
    "a list that a callback fills": ("trace = []\ndef watch(step, model, loss):\n    trace.append(loss)",
                                     "fit(GRU(), task, after_step=watch)", "assert trace[0] > trace[-1]"),
    "a dictionary filled in a loop": ("ends = {}", "for k in (1, 2):\n    ends[k] = evaluate(GRU(k), task)",
                                      "assert ends[1] < 1"),
    "a function that looks at a trained model": (TRAINED, "def far(x):\n    return model(x)", "assert far(x) < 1"),
    "a record": ("runs = load_records('adding')", "assert runs[0]['metrics']['mse'] < 1"),
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
    "a cell that does not parse": ("%matplotlib inline", "x = 1\nassert x"),
}


@pytest.mark.parametrize("what", PROVEN)
def test_a_proof_may_stay(what):
    assert dependence.judged_trainings(notebook(*PROVEN[what])) == []


def test_a_cell_tagged_proof_may_not_train():
    faults = dependence.judged_trainings(notebook(code_cell("fit(model, task)\nassert model(x) < 1", "proof")))
    assert faults == ["cell 1 is tagged proof and trains"]


# ------------------------------------------------------------------------------------------ what decides

FINDING = 'evidence.finding("a-b", "It learns.", {}, "< 1")'


def deciding(*cells, value="end"):
    return dependence.deciding(notebook(*cells, FINDING.format(value)))


def test_what_decides_a_finding_is_taken_and_nothing_else():
    found = deciding(
        "import torch", "steps = 10", "def learn(k):\n    'Doc.'\n    return fit(build(k), task, steps=steps)",
        "other = learn(3)  # decides nothing", "history = learn(2)", "fig, ax = plt.subplots()\nax.plot(history.loss)",
        "end = history.loss[-1]\nprint(end)")
    assert found == ["steps = 10", "def learn(k):\n    return fit(build(k), task, steps=steps)", "history = learn(2)",
                     "end = history.loss[-1]", "finding('a-b', end)"]


def test_what_a_call_changes_is_followed():
    found = deciding("trace = []", "def watch(step, model, loss):\n    trace.append(loss)", "model = GRU()",
                     "model.load_state_dict(old)", "fit(model, task, after_step=watch)", value="trace[-1]")
    assert found == ["trace = []", "def watch(step, model, loss):\n    trace.append(loss)", "model = GRU()",
                     "model.load_state_dict(old)", "fit(model, task, after_step=watch)", "finding('a-b', trace[-1])"]


def test_only_the_last_binding_before_the_finding_counts():
    second = "end = fit(B(), task)\n" + FINDING.format("end + 1")
    found = deciding("end = fit(A(), task)", second, "end = 3", value="0.5")
    assert found == ["end = fit(B(), task)", "finding('a-b', end + 1)", "finding('a-b', 0.5)"]


def fingerprint(*cells, recipes=None, **options):
    return dependence.fingerprint(notebook(*cells, FINDING.format(options.get("value", "end"))), recipes or {})


TRAINING = "end = fit(build(RECIPES['adding']), task, steps=steps)"
BASE = ("steps = {'smoke': 1, 'book': 10}[profile]", TRAINING, "show(fig)")


@pytest.mark.parametrize("cells", [
    (BASE[0] + "  # of ten", BASE[1], BASE[2]),
    ("steps = {'smoke': 2, 'book': 10, 'paper': 9}[profile]", BASE[1], BASE[2]),
    (BASE[0], "end = fit(\n    build(RECIPES[\"adding\"]), task, steps=steps\n)", BASE[2]),
    (BASE[0], BASE[1], "show(other)", "import numpy"),
    (BASE[0], "x = 3\nprint(x)", BASE[1], BASE[2]),
])
def test_figures_comments_and_layout_keep_the_study(cells):
    assert fingerprint(*cells) == fingerprint(*BASE)


@pytest.mark.parametrize("cells, options", [
    (("steps = {'smoke': 1, 'book': 11}[profile]", *BASE[1:]), {}),
    (BASE, {"value": "2 * end"}),
    (BASE, {"recipes": {"adding": "another rate"}}),
])
def test_a_change_of_what_decides_makes_the_study_stale(cells, options):
    start = dependence.fingerprint(notebook(*BASE, FINDING.format("end")), {"adding": "a rate"})
    assert fingerprint(*cells, **{"recipes": {"adding": "a rate"}} | options) != start
    assert fingerprint(*BASE, recipes={"adding": "a rate", "copy": "not named"}) == start
