"""Files in one step, and checkpoints that are read on another machine than they were written on."""

import os

import pytest
import torch

from rtx_lib.training.checkpoints import NotWritten, generators, in_one_step, load, save, set_generators

RUN = {"processes": 1, "precision": "no"}


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    order, sync, move = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: order.append("sync") or sync(number))
    monkeypatch.setattr(os, "replace", lambda source, target: order.append("name") or move(source, target))
    with in_one_step(tmp_path / "a.json") as temporary:
        temporary.write_text("{}")
    assert order == ["sync", "name"] and [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    def broken(contents, file):
        file.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(torch, "save", broken)
    path = tmp_path / "run.ckpt"
    path.write_bytes(b"old")
    with pytest.raises(NotWritten, match="disk full"):
        save(path, {})
    assert [file.name for file in tmp_path.iterdir()] == ["run.ckpt"] and path.read_bytes() == b"old"


def test_a_damaged_file_is_told_from_one_that_the_machine_cannot_read(tmp_path, monkeypatch):
    path = tmp_path / "run.ckpt"
    for damage in (b"", b"no checkpoint"):
        path.write_bytes(damage)
        with pytest.raises(ValueError, match=r"run\.ckpt cannot be read .*; delete it to start anew"):
            load(path, RUN)

    def refused(*_, **settings):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(torch, "load", refused)
    with pytest.raises(PermissionError, match=r"run\.ckpt"):
        load(path, RUN)


def test_the_generators_of_a_gpu_are_set_only_there(monkeypatch):
    """A checkpoint that was written on a GPU may be read by a run on the CPU."""
    given, state = [], torch.get_rng_state()
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda device: f"of {device}")
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: given.append((state, device)))
    saved = generators("cuda:1")
    first = torch.rand(1)
    for device in ("cuda:1", "cpu"):
        set_generators(saved, device)
        assert torch.equal(torch.rand(1), first)
    assert given == [("of cuda:1", "cuda:1")] and torch.equal(saved[0], state) and len(generators("cpu")) == 1
