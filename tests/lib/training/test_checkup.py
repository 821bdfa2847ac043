"""checkup: each planted mistake is seen by its line, nothing sound fails, and the model stays as it was."""

import copy
import functools
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from support.helpers import drawn
from support.mistakes import MISTAKES, SOUND, TASKS, Net, plant
from torch import nn

from rtx_lib import checkup
from rtx_lib.tasks import Lag, SequentialDigits
from rtx_lib.training.by_heart import RATES
from rtx_lib.training.checkup import _rates

LINES = ["start", "by heart", "causal", "rows", "gradients", "reach", "padding", "modes", "rates"]
# Each of these takes a second; the rest is weekly.
ALWAYS = {
    "GRU, parity",
    "RNN, lag",
    "plain GPT, lag",
    "Transformer, digits",
    "torch's GRU, batch first, digits",
    "a matrix indexed by ids, copy",
    "a causal convolution, text",
    "torch's Transformer, both ways, tags",
}


@functools.cache
def task_of(name):
    return {"lstm": lambda: Lag(6, lag=1), "gpt": lambda: Lag(6, lag=1), "gru": TASKS["digits"], **TASKS}[name]()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name, entry in MISTAKES.items() for kind in entry[1]])
def test_a_planted_mistake_is_seen(name, kind):
    line = MISTAKES[name][0]
    model, task, options = plant(name, kind, task_of(kind))
    steps = 300 if line == "rates" else 9  # no other line that is meant hangs on training
    assert line in checkup(model, task, steps=steps, seconds=600, **options).failed


@pytest.mark.slow
@pytest.mark.parametrize("name", [n if n in ALWAYS else pytest.param(n, marks=pytest.mark.weekly) for n in SOUND])
def test_nothing_sound_fails(name):
    build, task, options = SOUND[name]
    report = checkup(drawn(0, build, task_of(task)), task_of(task), seconds=600, **options)
    assert [line.name for line in report.lines] == LINES and report.failed == []


def test_the_model_stays_as_it_was():
    model = nn.Sequential(nn.Embedding(16, 8), nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(8, 16))
    model[3].bias.requires_grad_(False)
    model[2].eval()
    model[3].weight.grad = torch.ones_like(model[3].weight)
    before, random = copy.deepcopy(model), torch.get_rng_state()
    first = checkup(model, Lag(6, lag=1), steps=9)
    assert torch.equal(torch.get_rng_state(), random)
    assert checkup(model, Lag(6, lag=1), steps=9).lines == first.lines
    assert [part.training for part in model.modules()] == [part.training for part in before.modules()]
    assert all(torch.equal(entry, before.state_dict()[name]) for name, entry in model.state_dict().items())
    assert [p.requires_grad for p in model.parameters()] == [p.requires_grad for p in before.parameters()]
    assert [p.grad is None for p in model.parameters()] == [True, True, True, False, True]
    assert (model[3].weight.grad == 1).all()


def test_a_pair_will_do_and_the_report_prints_itself():
    x = torch.randint(9, (5, 4), generator=torch.Generator().manual_seed(0))
    model = drawn(0, nn.Sequential, nn.Embedding(9, 16), nn.Linear(16, 9))
    report = checkup(model, (x, x), loss=lambda p, y: F.cross_entropy(p.flatten(0, 1), y.flatten()), steps=30)
    assert report.failed == ["causal", "reach"]  # the target is the input, and no step sees another
    text, table = repr(report), report._repr_html_()
    assert all(name in text and name in table for name in LINES) and "2 of 9 fail" in text
    assert text.count("FAILS") == table.count("FAILS") == 2 and "transformer" in text


def test_without_time_nothing_is_said_of_training():
    report = checkup(drawn(0, Net, "lstm", Lag(6, lag=1)), Lag(6, lag=1), seconds=1e-9, lr=1e-9)
    assert [line.name for line in report.lines if line.passes is None] == ["by heart", "rates"] and not report.failed


@pytest.mark.parametrize(
    ("lr", "end", "best", "meaning"),
    [
        (0.1, 0.4, 0.1, "too high: what is left knows only how often each answer comes"),
        (0.1, 0.6, 0.1, "too high"),
        (0.1, 0.3, 0.1, "on eight examples; on all of them the best may be lower"),
        (0.1, 0.4, 0.4, "on eight examples; on all of them the best may be lower"),  # no rate beats the constant
        (1e-4, 0.4, 0.1, "on eight examples; on all of them the best may be lower"),  # slow, but on its way
    ],
)
def test_a_rate_that_ends_at_the_best_constant_is_too_high(lr, end, best, meaning):
    ends = dict.fromkeys(RATES, best) | {lr: end}  # from 1; the best constant has 0.4
    runs = [SimpleNamespace(rate=rate, end=own, fall=1 - own, late=False) for rate, own in ends.items()]
    passes, _, said = _rates(SimpleNamespace(lr=lr, guess=0.4, runs=runs))
    assert passes == said.startswith("on eight") and said.endswith(meaning)


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ((torch.zeros(2, 3), torch.zeros(2)), {}, r"task must be a task with batch\(.*got tuple"),
        (nn.Linear(1, 1), {}, "task must be .* got Linear"),
        (SequentialDigits(), {"lr": 0.0}, "lr must be above 0"),
    ],
)
def test_bad_arguments(task, options, message):
    with pytest.raises(ValueError, match=message):
        checkup(nn.Linear(1, 10), task, **options)
