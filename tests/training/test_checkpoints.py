"""Files in one step, and checkpoints that are read on another machine than they were written on."""

import os
import pickle

import pytest
import torch

from rtx_lib.training import checkpoints
from rtx_lib.training.checkpoints import Unreadable, in_one_step, load, save

RUN = {"processes": 1, "precision": "no"}


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    order, sync, move = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: order.append("sync") or sync(number))
    monkeypatch.setattr(os, "replace", lambda source, target: order.append("name") or move(source, target))
    with in_one_step(tmp_path / "a.json") as temporary:
        temporary.write_text("{}")
    assert order == ["sync", "name"] and [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_damaged_file_is_told_from_one_that_the_machine_cannot_read(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    for damage in (b"", b"no checkpoint"):
        path.write_bytes(damage)
        with pytest.raises(Unreadable, match=r"run\.ckpt cannot be read .*; delete it to start anew") as told:
            load(path, RUN)
        sent = pickle.loads(pickle.dumps(told.value))
        assert sent.path == path and str(sent) == str(told.value), "another process is told the same"

    def refused(*_, **settings):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(torch, "load", refused)
    with pytest.raises(PermissionError, match=r"run\.ckpt"):
        load(path, RUN)


def test_a_checkpoint_of_more_gpus_than_there_are(tmp_path, monkeypatch):
    path, given = tmp_path / "run.ckpt", []
    cuda = checkpoints.torch.cuda
    monkeypatch.setattr(cuda, "is_available", lambda: True)
    monkeypatch.setattr(cuda, "get_rng_state_all", lambda: [torch.get_rng_state()] * 4)
    save(path, {"run": RUN})
    monkeypatch.setattr(cuda, "device_count", lambda: 2)
    monkeypatch.setattr(cuda, "set_rng_state_all", lambda states: given.extend(states))
    load(path, RUN)
    assert len(given) == 2
