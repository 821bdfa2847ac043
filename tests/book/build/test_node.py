"""Which Node the build takes: the system's if it is new enough and has npm, else that of PyPI."""

import os
import subprocess
import sys

import pytest

from rtx_book.build import node


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A path with nothing on it but what a test puts there: names and what these programs print."""
    node.command.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))

    def put(**programs):
        for name, says in programs.items():
            program = tmp_path / name
            program.write_text(f"#!/bin/sh\necho {says}\n")
            program.chmod(0o755)
        return tmp_path

    yield put
    node.command.cache_clear()


@pytest.mark.skipif(os.name == "nt", reason="the programs of these tests are shell scripts")
@pytest.mark.parametrize("version, taken", [("v18.18.0", True), ("v22.1.0", True), ("v18.13.0", False), ("x", False)])
def test_the_systems_is_taken_if_it_is_new_enough(path, monkeypatch, version, taken):
    folder = path(node=version, npm="1")
    monkeypatch.setattr(node.importlib.util, "find_spec", lambda name: name)
    assert (node.command("npm") == [str(folder / "npm")]) == taken


def test_without_one_pip_brings_it_once_and_a_failure_is_none(path, monkeypatch):
    calls = []
    for status, there, expected in ((1, None, None), (0, None, sys.executable), (0, "there", sys.executable)):
        node.command.cache_clear()
        monkeypatch.setattr(node.importlib.util, "find_spec", lambda name, there=there: there)
        done = subprocess.CompletedProcess([], status)
        monkeypatch.setattr(node.subprocess, "run", lambda command, done=done: calls.append(command) or done)
        found = node.command("node")
        assert found is None if expected is None else found[0] == expected
    assert [command[-1] for command in calls] == [node.WHEEL] * 2
