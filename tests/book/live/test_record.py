"""The record of the trainer belongs to the scripts that are here: its first steps, made again, are the same."""

import json

import pytest
from live.bars import FIRST, MOST, RECORD, SEEDS, TRAIN
from live.test_train import TRAINING


@pytest.fixture(scope="module")
def record():
    return json.loads(RECORD.read_text())


@pytest.mark.parametrize("kind", MOST)
def test_first_steps_are_those_of_the_record(live, record, kind):
    """Another browser may round exp in another way, so not to the last digit."""
    settings = {key: record["setting"][key] for key in ("length", "hidden", "batch")}
    told = live(*TRAINING).evaluate(TRAIN, {"cells": [kind], "settings": {**settings, "seed": 0}, "most": FIRST})
    assert told["where"] == "worker"
    assert told["cells"][kind]["losses"] == pytest.approx(record["first"][kind], rel=1e-5)


def test_record_is_whole_and_small(record):
    assert all(len(record["below"][kind]) == SEEDS for kind in MOST)
    assert not record["commit"].endswith("-dirty")
    assert RECORD.stat().st_size < 20_000
    assert all(len(curve["step"]) == len(curve["error"]) <= 101 for curve in record["curves"].values())
