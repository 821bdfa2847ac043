"""A table of one's own: what counts, what is scaled by what, who is in which split, and what is refused."""

import json
import math
from functools import partial

import numpy as np
import pytest
import torch
from support.compare import generator
from support.helpers import refusals
from support.small_tasks import Frame

from rtx_lib.tasks import TableTask

RNG = np.random.default_rng(0)
X = [RNG.normal([5, 100], [2, 30], (size, 2)) for size in RNG.integers(2, 8, 40)]
SIGN = np.asarray(["over" if x[:, 0].mean() > 5 else "under" for x in X])
TOTAL = [1000 + x.sum() for x in X]
LABELS = {"classes": SIGN, "numbers": TOTAL}
STEPS = {"classes": [list(x[:, 0] > 5) for x in X], "numbers": [x.cumsum(0)[:, 1] for x in X]}
CASES = [(kind, every) for kind in LABELS for every in (0, 1)]


@pytest.fixture(params=CASES, ids=str)
def task(request):
    kind, every = request.param
    return TableTask(X, (STEPS if every else LABELS)[kind], kind)


def whole(task, split="train"):
    return next(task.batches(split, 99))


def test_padding_counts_nowhere(task):
    """A batch gives what its sequences give one by one, whatever is predicted behind their ends."""
    x, y = whole(task)
    prediction = torch.randn(*x.shape[:2], task.output_size, generator=generator())
    singles, counts = [], []
    for at, (one, label) in enumerate(task.batches("train", 1)):
        singles.append(task.loss(prediction[at : at + 1, : one.shape[1]], label).item())
        counts.append(task.weight(label))
        assert torch.equal(x[at, : one.shape[1]], one[0]) and not x[at, one.shape[1] :].any()
        prediction[at, one.shape[1] :] = 1e6
    assert task.loss(prediction, y).item() == pytest.approx(np.average(singles, weights=counts), rel=1e-5)
    assert task.weight(y) == sum(counts) == task.loss_weight(y)
    assert (task.weight(y) == len(y)) != task.every and task.metrics(prediction, y)["loss"] < 10


def test_the_last_real_step_is_what_is_asked():
    task = TableTask(X, TOTAL, "numbers")
    x, y = whole(task)
    for row, at in enumerate(task.rows["train"]):
        prediction = torch.zeros(*x.shape[:2], 1)
        prediction[row, len(X[at]) - 1] = 3.0
        labels = (torch.tensor(TOTAL)[task.rows["train"]] - task.mean) / task.spread
        guess = torch.zeros(len(y)).index_fill(0, torch.tensor(row), 3.0)
        assert task.loss(prediction, y).item() == pytest.approx((guess - labels).square().mean().item(), rel=1e-4)


def test_scales_come_from_training_alone():
    near = TableTask(X, TOTAL, "numbers")
    task = TableTask([x + 1e6 * (at in near.rows["test"]) for at, x in enumerate(X)], TOTAL, "numbers")
    assert torch.equal(whole(near)[0], whole(task)[0]) and whole(task, "test")[0].max() > 1e4
    rows = np.concatenate([X[at] for at in task.rows["train"]])
    assert np.allclose(task.middle, rows.mean(0)) and np.allclose(task.width, rows.std(0))
    _, y = whole(near)
    assert y.nanmean().item() == pytest.approx(0, abs=1e-5)
    assert near.loss(torch.zeros(*y.shape, 1), y).item() == pytest.approx(1, rel=1e-4)
    found = near.finish(near.metrics(torch.zeros(*y.shape, 1), y))
    assert found["rmse"] == pytest.approx(np.std([TOTAL[at] for at in near.rows["train"]]), rel=1e-4)
    assert TableTask(np.ones((9, 3)), range(9), "numbers").batch("train", 2, generator())[0].abs().max() == 0


def test_arrays_tensors_frames_and_lists_are_one():
    x, y = RNG.normal(size=(30, 4, 2)), RNG.integers(0, 3, 30)
    tensors, frames = (torch.tensor(x), torch.tensor(y)), ([Frame(a) for a in x], Frame(y[:, None]))
    for same, labels in (tensors, (x.tolist(), y.tolist()), frames):
        for one, two in zip(whole(TableTask(x, y)), whole(TableTask(same, labels)), strict=True):
            assert torch.equal(one, two)
    assert torch.equal(whole(TableTask(Frame(x[..., 0]), y))[0], whole(TableTask(x[..., :1], y))[0])
    assert TableTask(x, np.tile(y[:, None], 4)).every and not TableTask(x, y).every


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (["a", "b"] * 15, "2 classes (a, b)"),
        ([True, False] * 15, "2 classes (False, True)"),
        (np.arange(30.0) // 10, "3 classes (0, 1, 2)"),
        (np.arange(30), "numbers"),
        (np.arange(30) / 2 % 2, "numbers"),
    ],
)
def test_the_kind_is_decided_and_said(capsys, y, kind):
    task = TableTask(np.ones((30, 4)), y)
    said = f"TableTask: 22 train, 4 valid, 4 test by row; 4 steps of 1 numbers; {kind}, one a sequence"
    assert capsys.readouterr().out.strip() == said == str(task)
    TableTask(np.ones((30, 4)), y, task.kind)
    assert not capsys.readouterr().out


def test_rows_of_each_class_are_spread_over_the_splits():
    y = [0] * 60 + [1] * 39 + [2]
    for seed in range(5):
        task = TableTask(np.ones((100, 3)), y, seed=seed)
        counts = [np.bincount(np.asarray(y)[task.rows[split]], minlength=3) for split in task.rows]
        assert [sum(count) for count in counts] == [70, 15, 15] and counts[0][2] == 1
        assert all(abs(count[1] - 0.39 * sum(count)) < 3 for count in counts)
        assert sorted(torch.cat(list(task.rows.values())).tolist()) == list(range(100))
    first, same, other = (TableTask(np.ones((100, 3)), y, seed=seed).rows["test"] for seed in (1, 1, 2))
    assert torch.equal(first, same) and not torch.equal(first, other)


def test_groups_stay_together_and_time_does_not_run_backwards():
    machine = np.asarray(list("abcdefghij") * 4)
    task = TableTask(X, SIGN, groups=machine)
    held = [set(machine[task.rows[split]]) for split in task.rows]
    assert [len(part) for part in held] == [6, 2, 2] and len(set.union(*held)) == 10
    for groups in (None, machine[np.arange(40) % 4]):
        task = TableTask(X, TOTAL, groups=groups, by="time")
        for name in [None] if groups is None else set(groups):
            own = [[at for at in task.rows[split] if groups is None or groups[at] == name] for split in task.rows]
            assert max(own[0]) < min(own[1]) <= max(own[1]) < min(own[2])


@pytest.mark.parametrize("split", [None, "row", "time"])
def test_a_long_table_is_cut_and_no_sequence_has_rows_of_two_groups(split):
    rows, groups = np.stack([np.arange(120), np.arange(120) % 5], 1), np.arange(120) % 5  # the groups stand mixed
    task = TableTask(rows, rows[:, 0] / 7, "numbers", length=7, groups=groups, by=split)
    assert task.every and task.by == (split or "group")
    seen = []
    for part in task.rows:
        for x, _ in task.batches(part, 1):
            values = x[0].double() * torch.tensor(task.width) + torch.tensor(task.middle)
            assert (values[:, 1] - values[0, 1]).abs().max() < 1e-4 and len(values) in (7, 24 % 7)
            assert torch.allclose(values[1:, 0] - values[:-1, 0], torch.tensor(5.0).double(), atol=1e-3)
            seen += values[:, 0].round().int().tolist()
    assert sorted(seen) == list(range(120)) and TableTask(rows, groups, length=7, splits=(0.6, 0.2, 0.2)).by == "time"


def test_weights_change_the_loss_and_no_metric():
    y = [0] * 30 + [1] * 10
    plain, even = (TableTask(X, y, weights=weights) for weights in (None, "balanced"))
    x, labels = whole(plain)
    told = torch.tensor(y)[plain.rows["train"]]
    prediction = torch.randn(*x.shape[:2], 2, generator=generator())
    last = prediction[labels >= 0]
    weights = len(told) / 2 / told.bincount()
    assert even.loss(prediction, labels) == torch.nn.functional.cross_entropy(last, told, weights)
    assert even.loss_weight(labels) == pytest.approx(weights[told].sum().item())
    assert even.metrics(prediction, labels) == plain.metrics(prediction, labels)


def test_baselines_by_hand():
    y = np.asarray([[0, 0, 1], [1, 1, 1], [0, 1, 0]] * 3)
    task = TableTask(np.ones((9, 3)), y, by="time", splits=(1 / 3, 1 / 3, 1 / 3))  # 5 of 9 in training are 1
    third = {"most frequent class": 5 / 9, "label before": 4 / 9, "uniform guess loss": math.log(2)}
    assert task.baselines() == pytest.approx(third)
    x = np.asarray([[1.0, 2], [3, 6], [4, 9], [7, 8]])
    found = TableTask(x, [3.0, 7.0, 9.0, 6.5], "numbers", by="time").baselines()
    assert found == pytest.approx({"mean rmse": 1.5, "last value rmse": 1.5})


def test_new_sequences_and_a_task_without_its_data(task):
    kept = TableTask.from_configuration(json.loads(json.dumps(task.configuration())))
    x, lengths = kept.encode(X[:3])
    assert str(kept) == str(task) and lengths.tolist() == [len(part) for part in X[:3]]
    prediction = torch.randn(*x.shape[:2], task.output_size, generator=generator())
    labels = kept.decode(prediction, lengths)
    assert labels == task.decode(prediction, lengths) and len(labels) == 3
    assert [len(part) for part in labels] == lengths.tolist() if task.every else type(labels[0]) in (str, float)
    with pytest.raises(ValueError, match=r"task must hold data for this, got 'table-.*' as loaded from a file"):
        kept.batch("train", 2, generator())
    with pytest.raises(ValueError, match="x must have 2 numbers per step, as in training, got 1"):
        task.encode([[1, 2, 3]])


SPOILED = Frame([[1, math.inf if at == 7 else 2] for at in range(40)], "ab")
WRONG = {
    "y must have an entry for each of the 40 of x, got 39": {"y": SIGN[:-1]},
    "y must have no gaps, got nan": {"y": [float("nan"), *SIGN[1:]]},
    "y must have no gaps, got inf": {"y": [math.inf, *TOTAL[1:]]},
    "y must have no gaps, got None": {"y": [None, *SIGN[1:]]},
    "y must hold two classes at least, got 'a' only": {"y": ["a"] * 40},
    "y must have each class in training too; .*, got 'rare' in": {"y": [*SIGN[:-1], "rare"], "by": "time"},
    r"y\[0\] must have shape \(\d,\), a label for each step of x\[0\], got \(9,\)": {"y": [[0] * 9] * 40},
    "kind must be one of .*, got 'class'": {"kind": "class"},
    "kind must be 'classes' for labels such as '(over|under)', got 'numbers'": {"kind": "numbers"},
    "x must be an array, a frame or a list with one entry at least, got none": {"x": []},
    "x must be .*, got str": {"x": "rows.csv"},
    r"x must hold finite numbers, got nan in x\[3\]": {"x": np.where(np.arange(40)[:, None] == 3, np.nan, np.ones(5))},
    r"x must hold finite numbers, got inf in x\[7\], column 'b'": {"x": SPOILED, "length": 5},
    "x must hold numbers, got 'Rome'": {"x": [["1", "Rome"]] * 40},
    r"x must have shape \(N, T, D\) or \(N, T\), or length be given, got \(40,\)": {"x": TOTAL},
    r"x must have shape \(R, D\) or \(R,\), .*, got \(40, 3, 2\)": {"x": np.ones((40, 3, 2)), "length": 4},
    r"x\[39\] must have shape \(T, D\), T at least 1 and D as x\[0\], got \(0, 2\)": {"x": [*X[:-1], np.ones((0, 2))]},
    "x must be .*, got rows of unequal length": {"length": 4},
    "x must have at least 3 sequences, one for each of splits, got 2": {"x": X[:2], "y": SIGN[:2]},
    "x must have at least 3 groups, one for each of splits, got 2": {"groups": [0, 1] * 20},
    r"groups must have shape \(40,\), one for each entry of x, got \(2,\)": {"groups": [0, 1]},
    "groups must be given with by='group', got None": {"by": "group"},
    "splits must be three positive numbers whose sum is 1, got": {"splits": (0.5, 0.5)},
    "weights must be one of .*, got 'even'": {"weights": "even"},
    "weights must be None for numbers, got 'balanced'": {"y": TOTAL, "weights": "balanced"},
}
GOOD = {"x": X, "y": SIGN}
test_what_is_refused = refusals({message: partial(TableTask, **GOOD | WRONG[message]) for message in WRONG})
