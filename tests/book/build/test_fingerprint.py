"""What may decide a finding changes a chapter's fingerprint, and nothing else does."""

import ast

import pytest
from support.helpers import code_cell

from rtx_book.build import fingerprint as fp


def notebook(*cells):
    return {"cells": [code_cell(cell) for cell in cells]}


FINDING = 'evidence.finding("a-b", "It learns.", {}, "< 1")'


def deciding(*cells, value="end"):
    code = fp.deciding(notebook(*cells, FINDING.format(value)))
    return [ast.unparse(ast.fix_missing_locations(one)) for one in code]


def test_what_decides_a_finding_is_taken_and_what_does_not_is_left():
    found = deciding(
        "import torch",
        "from rtx_lib.plots import lines, new",
        "steps = 10",
        "def learn(k):\n    'Doc.'\n    return fit(build(k), task, steps=steps)",
        "other = 3  # decides nothing",
        "history = learn(2)",
        "fig, ax = plt.subplots()\nax.plot(history.loss)\nlines(ax, history)",
        "for one in history:\n    ax.plot(one)",
        "alt = f'{history}'",
        "panel = new(history)",
        "end = history.loss[-1]\nprint(end)",
        "assert end < 2",
    )
    assert found == [
        "steps = 10",
        "def learn(k):\n    return fit(build(k), task, steps=steps)",
        "history = learn(2)",
        "end = history.loss[-1]",
        "finding('a-b', end)",
    ]


def test_what_a_call_changes_is_followed():
    found = deciding(
        "trace = []",
        "def watch(step, model, loss):\n    trace.append(loss)",
        "model = GRU()",
        "model.load_state_dict(old)",
        "fit(model, task, after_step=watch)",
        value="trace[-1]",
    )
    assert found == [
        "trace = []",
        "def watch(step, model, loss):\n    trace.append(loss)",
        "model = GRU()",
        "model.load_state_dict(old)",
        "fit(model, task, after_step=watch)",
        "finding('a-b', trace[-1])",
    ]


def test_only_the_last_binding_before_the_finding_counts():
    second = "end = fit(B(), task)\n" + FINDING.format("end + 1")
    found = deciding("end = fit(A(), other)", second, "end = 3", value="0.5")
    assert found == ["end = fit(B(), task)", "finding('a-b', end + 1)", "finding('a-b', 0.5)"]


def hashed(*cells, recipes=None, value="end"):
    return fp.fingerprint(notebook(*cells, FINDING.format(value)), recipes or {})


TRAINING = "end = fit(build(RECIPES['adding']), task, steps=steps)"
BASE = ("steps = {'smoke': 1, 'book': 10}[profile]", TRAINING, "show(fig)")


@pytest.mark.parametrize(
    "cells",
    [
        (BASE[0] + "  # of ten", BASE[1], BASE[2]),
        ("steps = {'smoke': 2, 'book': 10, 'paper': 9}[profile]", BASE[1], BASE[2]),
        (BASE[0], 'end = fit(\n    build(RECIPES["adding"]), task, steps=steps\n)', BASE[2]),
        (BASE[0], BASE[1], "show(other)", "import numpy"),
        ("from rtx_lib.elsewhere import fit, build", *BASE),
        (BASE[0], "x = 3\nprint(x)", BASE[1], BASE[2]),
    ],
)
def test_figures_comments_and_layout_keep_the_study(cells):
    start = ("from rtx_lib.training import fit, build", *BASE) if "elsewhere" in cells[0] else BASE
    assert hashed(*cells) == hashed(*start)


def test_a_change_of_what_decides_makes_the_study_stale():
    rate = {"adding": "a rate"}
    start = hashed(*BASE, recipes=rate)
    assert hashed("steps = {'smoke': 1, 'book': 11}[profile]", *BASE[1:], recipes=rate) != start
    assert hashed(*BASE, recipes=rate, value="2 * end") != start
    assert hashed(*BASE, recipes={"adding": "another rate"}) != start
    assert hashed(*BASE, recipes=rate | {"copy": "not named"}) == start


STEPS = ("rule = SGD(model.parameters())", "for _ in range(9):\n    rule.step()")
TRAINS = "def train(model, steps=9):\n    return fit(model, task, steps=steps)"


@pytest.mark.parametrize(
    "cells, old, new",
    [
        ((TRAINS, "reader = GRU()", "train(reader)", "end = reader(x)"), "train(reader)", "pass"),
        ((TRAINS, "reader = GRU()", "train(reader)", "end = reader(x)"), "train(reader)", "train(reader, steps=1)"),
        (("torch.manual_seed(seed)", "model = GRU()", "end = model(x)"), "seed(seed)", "seed(0)"),
        (("model = GRU()", *STEPS, "end = model(x)"), "range(9)", "range(8)"),
        (("from here import GRU as Net", "end = fit(Net(), task)"), "import GRU", "import LSTM"),
        (("model = GRU()", "improve(model)", "end = model(x)"), "improve(", "spoil("),
        (("model = GRU()", "ax.plot(fit(model, task).loss)", "end = model(x)"), "fit(", "fit_side_by_side("),
        (("model = GRU()", "ax.plot(model.eval()(x))", "end = model(x)"), "eval", "train"),
        (("x = torch.randn(3)", "print(torch.randn(9))", "end = torch.randn(3)"), "randn(9)", "randn(8)"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_training_behind_a_function_an_optimiser_or_a_figure_counts(cells, old, new):
    changed = [cell.replace(old, new) for cell in cells]
    assert changed != list(cells) and hashed(*changed) != hashed(*cells)


def test_what_stands_around_a_finding_counts():
    code = "if there:\n    raced = load_records('a')\n    " + FINDING.format("raced")
    one, other = (fp.fingerprint(notebook(cell), {}) for cell in (code, code.replace("'a'", "'b'")))
    assert one != other


def test_the_fingerprint_is_one_for_all_versions_of_python():
    """The parsers differ in fields that say nothing here, the writers in brackets."""
    tree = ast.parse("def f(x):\n    a, b = x\n    return f'{a!r}' + u'b'")
    written = str(fp.plain(tree))
    assert "type_params" not in written and "kind" not in written and "Store" not in written
    assert hashed("def f(x):\n    a, b = x\n    return b", "end = f(3)") == "39ee6a838d99a311"
