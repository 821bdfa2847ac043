"""The forecasters of the panel: their file is small, and they forecast as when they were trained."""

import pytest
import torch

from rtx_book.runs import forecasters, load_records
from rtx_book.runs.made_series import MadeSeries
from rtx_book.runs.recipes.drawn import ABOUT


@torch.no_grad()
def test_the_panels_forecasters_are_those_of_the_records():
    assert forecasters.weights_file().stat().st_size < 400_000
    task, models = MadeSeries(), forecasters.load()
    x, y = (part[:1000] for part in task.splits.finite("test"))
    for name, (about, _) in ABOUT.items():
        (recorded,) = (record for record in load_records(f"drawn-{name}") if record["seed"] == 0)
        found = task.metrics(models[about](x)[0], y)
        assert {metric: found[metric] for metric in found} == pytest.approx(recorded["metrics"], abs=0.05)


def test_series_of_the_panel_have_its_length():
    given = forecasters.panel()
    assert given["reads"].keys() == forecasters.load().keys()
    assert all(len(one["values"]) == forecasters.LENGTH for one in given["series"].values())
