"""Piano rolls: the files, frames that do not count, windows, and what the baselines are worth."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from support import small_tasks as small
from support.compare import generator
from support.data import reads
from torch import Tensor

from rtx_lib.tasks import PolyphonicMusic


@pytest.fixture
def chorales(place):
    return lambda length=None, **options: place(small.music(), PolyphonicMusic, "jsb", length=length, **options)


TRUE = {
    "nottingham": ((694, 173, 170), (176_561, 45_513, 44_463), (10.2607, 5.1532)),
    "jsb": ((229, 76, 77), (13_807, 4_602, 4_725), (11.0923, 10.4919)),
    "muse": ((524, 135, 124), (245_202, 82_755, 64_339), (11.5143, 8.5592)),
    "piano": ((87, 12, 25), (75_911, 8_540, 19_036), (11.0518, 8.2644)),
}


@pytest.mark.parametrize("source", [pytest.param(source, marks=reads(PolyphonicMusic, source)) for source in TRUE])
def test_true_files(source: str) -> None:
    tunes, frames, baselines = TRUE[source]
    task = PolyphonicMusic(source, length=50)
    for split, count, total in zip(("train", "valid", "test"), tunes, frames, strict=True):
        weights = [task.weight(y) for _, y in task.batches(split, 1)]
        assert len(weights) == count and sum(weights) == total - count  # the first frame of a tune is read only
    assert tuple(task.baselines().values()) == pytest.approx(baselines, abs=1e-4)
    x, y = task.batch("train", 16, generator())
    assert x.shape == y.shape == (16, 50, 88) and task.name == f"{source}-50"
    assert set(x.unique().tolist()) == {0, 1} and set(y.unique().tolist()) <= {-1, 0, 1}


def rows(x: Tensor, y: Tensor) -> list[tuple[Tensor, Tensor]]:
    """The frames that count of every row, after a look at those that do not."""
    assert x.shape == y.shape and x.dtype == y.dtype == torch.float32 and x.shape[-1] == 88
    counts = (y >= 0).all(-1)
    assert torch.equal(counts, (y >= 0).any(-1)) and counts.any(0).all() and counts[:, 0].all()
    assert (x[~counts] == 0).all() and (y[~counts] == -1).all()
    assert (counts.int().diff(dim=1) <= 0).all()  # they come first
    return [(a[c], b[c]) for a, b, c in zip(x, y, counts, strict=True)]


@pytest.mark.parametrize("length", [None, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_batches_run_through_whole_tunes(chorales, length: int | None, size: int) -> None:
    task = chorales(length)
    for split, tunes in zip(("train", "valid", "test"), small.rolls().values(), strict=True):
        batches = list(task.batches(split, size))
        assert all(len(y) == size for _, y in batches[:-1])
        found = [row for x, y in batches for row in rows(x, y)]
        for (x, y), tune in zip(found, tunes, strict=True):
            assert x.tolist() == tune[:-1].tolist() and y.tolist() == tune[1:].tolist()
        assert sum(task.weight(y) for _, y in batches) == sum(len(tune) - 1 for tune in tunes)


def place(tunes: list[np.ndarray], x: Tensor, y: Tensor) -> tuple[int, int]:
    """Which tune a row is of, and from which of its frames on; frames of the small tunes all differ."""
    whole = torch.cat([x, y[-1:]]).numpy()
    places = [(number, start) for number, tune in enumerate(tunes) for start in range(len(tune) - len(x))]
    (found,) = [place for place in places if np.array_equal(tunes[place[0]][place[1] :][: len(whole)], whole)]
    assert torch.equal(x[1:], y[:-1])
    return found


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_batch_draws_whole_tunes_alike(chorales, split: str) -> None:
    tunes = small.rolls()[f"{split}data"]
    drawn = [place(tunes, *row) for row in rows(*chorales().batch(split, 2_000, generator(1)))]
    counts = np.bincount([number for number, _ in drawn], minlength=len(tunes))
    assert {start for _, start in drawn} == {0}
    np.testing.assert_allclose(counts / 2_000, 1 / len(tunes), atol=0.05)


@pytest.mark.parametrize("length", [1, 3, 5, 100])
def test_batch_draws_windows_from_everywhere(chorales, length: int) -> None:
    tunes = small.rolls()["traindata"]
    predictions = np.array([len(tune) - 1 for tune in tunes])
    found = rows(*chorales(length).batch("train", 4_000, generator(2)))
    drawn = np.zeros((len(tunes), 10))
    for x, y in found:
        number, start = place(tunes, x, y)
        assert len(x) == min(length, predictions[number])
        drawn[number, start] += 1 / len(found)
    for number, count in enumerate(predictions):
        starts = max(count - length, 0) + 1
        np.testing.assert_allclose(drawn[number, :starts], count / predictions.sum() / starts, atol=0.04)
        assert (drawn[number, :starts] > 0).all() and not drawn[number, starts:].any()


def some_logits(x: Tensor) -> Tensor:
    """Some model of the frame it reads."""
    table = torch.randn(88, 88, generator=generator(3), dtype=torch.float64)
    return x.double() @ table / 3


def plain_loss(prediction: Tensor, y: Tensor) -> tuple[float, int]:
    """NLL over the frames that count, note by note, and their number."""
    total, frames = 0.0, 0
    for logits, notes in zip(prediction.flatten(0, 1).tolist(), y.flatten(0, 1).tolist(), strict=True):
        if notes[0] >= 0:
            frames += 1
            total -= sum(math.log(1 / (1 + math.exp(-z if on else z))) for z, on in zip(logits, notes, strict=True))
    return total, frames


def test_loss_is_the_likelihood_of_the_frames_that_count(chorales) -> None:
    task = chorales()
    x, y = next(task.batches("test", 3))
    prediction = some_logits(x)
    total, frames = plain_loss(prediction, y)
    assert frames == task.weight(y) == 5 + 1 + 7
    assert task.loss(prediction, y).item() == pytest.approx(total / frames, rel=1e-12)
    assert task.metrics(prediction, y) == {"loss": pytest.approx(total / frames, rel=1e-12)}
    summed = chorales(summed=True)
    assert summed.name == "jsb-summed"
    assert summed.loss(prediction, y).item() == pytest.approx(total, rel=1e-12)
    assert summed.metrics(prediction, y) == {"loss": pytest.approx(total / frames, rel=1e-12)}


def strategy() -> tuple[float, float]:
    """NLL per frame on "test" of counting notes and pairs of them in "train", one added to every count."""
    rolls = small.rolls()
    now, after = np.ones((88, 2)), np.ones((88, 2, 2))
    for tune in rolls["traindata"]:
        for before, frame in pairwise(tune):
            for key in range(88):
                now[key, frame[key]] += 1
                after[key, before[key], frame[key]] += 1
    frequencies = transitions = frames = 0.0
    for tune in rolls["testdata"]:
        for before, frame in pairwise(tune):
            frames += 1
            for key in range(88):
                frequencies -= math.log(now[key, frame[key]] / now[key].sum())
                transitions -= math.log(after[key, before[key], frame[key]] / after[key, before[key]].sum())
    return frequencies / frames, transitions / frames


def test_baselines_are_what_their_strategies_reach(chorales) -> None:
    baselines = chorales().baselines()
    assert list(baselines) == ["note frequencies", "note transitions"]
    assert tuple(baselines.values()) == pytest.approx(strategy(), rel=1e-12)
