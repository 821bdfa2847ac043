"""The captioners of the book: their file is small, and they say what they said when they were trained."""

import torch

from rtx_book.runs import load_records, told
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
    monkeypatch.setattr(told, "weights_file", lambda: path)
    told.keep({way: model.state_dict() for way, model in models.items()})
    for way, model in told.load().items():
        assert all(torch.equal(value, models[way].state_dict()[name]) for name, value in model.state_dict().items())
