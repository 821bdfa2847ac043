"""The captioners, forecasters and ropes of the book: their files are small, and they do what they did when trained."""

import pytest
import torch

from rtx_book.runs import load_records, told
from rtx_book.runs.made_series import MadeSeries
from rtx_book.runs.recipes import drawn, rope
from rtx_book.runs.rope import CopyBehindNoise
from rtx_lib.tasks import Scenes


@torch.no_grad()
def test_the_books_captioners_are_those_of_the_records(tmp_path, monkeypatch):
    assert told.weights_file().stat().st_size < 200_000
    task, models = Scenes(), told.load()
    x, y = next(task.batches("test", 300))
    for way, model in models.items():
        (recorded,) = (r for r in load_records(f"scenes-{way}") if r["seed"] == 0)
        found = task.metrics(model.eval()(x)[0], y)
        assert model.told == way and abs(found["accuracy"] - recorded["metrics"]["accuracy"]) < 0.03
    path = tmp_path / "scenes.npz"
    monkeypatch.setattr(told, "weights_file", lambda kind: path)
    told.keep({way: model.state_dict() for way, model in models.items()})
    for way, model in told.load().items():
        assert all(torch.equal(value, models[way].state_dict()[name]) for name, value in model.state_dict().items())


@torch.no_grad()
def test_the_books_forecasters_are_those_of_the_records():
    assert told.weights_file("drawn").stat().st_size < 200_000
    task, models = MadeSeries(), told.forecasters()
    x, y = (part[:1000] for part in task.splits.finite("test"))
    for name, (about, *_) in drawn.ABOUT.items():
        (recorded,) = (record for record in load_records(f"drawn-{name}") if record["seed"] == 0)
        assert task.metrics(models[about](x)[0], y) == pytest.approx(recorded["metrics"], abs=0.05)


@torch.no_grad()
def test_the_books_ropes_are_those_of_the_records():
    assert told.weights_file("rope").stat().st_size < 330_000
    task = CopyBehindNoise((6, 6), (60, 60))
    x, y = task.batch("test", 300, torch.Generator().manual_seed(0))
    for own, (way, lane) in zip(told.ropes().values(), rope.MODELS.items(), strict=True):
        (recorded,) = (r for r in load_records(f"rope-{way}") if r["seed"] == lane["seed"])
        wanted = recorded["elsewhere"]["pause 60"]["accuracy"]
        assert task.metrics(own.eval()(x)[0], y)["accuracy"] == pytest.approx(wanted, abs=0.05)
