"""The environment: which Python makes it, and that an interrupted installation is taken up again."""

import os
import re
import sys

import pytest
from support.helpers import ROOT

from rtx_book.build import environment

ANSWERS = 'case "$*" in *ensurepip*) echo "(3, {minor})";; *) echo "python3.{minor} $*";; esac'
NEWER = (3, environment.NEWEST[1] + 1)


def test_the_range_is_that_of_the_metadata():
    text = (ROOT / "pyproject.toml").read_text()
    named = [int(minor) for minor in re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', text)]
    assert named == [*range(environment.OLDEST[1], environment.NEWEST[1] + 1)]
    assert 'requires-python = ">={}.{}"'.format(*environment.OLDEST) in text
    assert environment.supported(sys.version_info) and not environment.supported(NEWER)


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A path with nothing on it but what a test puts there: names and what these programs do."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def put(**programs):
        for name, does in programs.items():
            program = tmp_path / name.replace("_", ".")
            program.write_text(does if does.startswith("#!") else f"#!/bin/sh\n{does}\n")
            program.chmod(0o755)
        return tmp_path

    return put


@pytest.fixture
def call(monkeypatch, capfd):
    """`python3.15 book/rtx_book/build/environment.py ...`: its status, what it printed and its errors."""

    def run(*arguments):
        monkeypatch.setattr(environment.sys, "version_info", NEWER)
        monkeypatch.setattr(environment.sys, "argv", ["environment.py", *arguments])
        monkeypatch.setattr(environment, "install", None)
        return environment.main(), *capfd.readouterr()

    return run


@pytest.mark.skipif(os.name == "nt", reason="the programs of these tests are shell scripts")
def test_the_newest_python_that_runs_goes_on_in_place_of_one_that_is_too_new(path, call):
    answers = {f"python3_{minor}": ANSWERS.format(minor=minor) for minor in (11, 12)}
    folder = path(**answers, python3_13="exit 127", python3_14="echo '(3, 11)'")
    status, said, _ = call("--tests", "--search")
    assert status == 0 and f"no wheels for Python 3.{NEWER[1]}: taking {folder}/python3.12" in said
    assert said.splitlines()[-1] == "python3.12 environment.py --tests --search"


@pytest.mark.skipif(os.name == "nt", reason="the programs of these tests are shell scripts")
@pytest.mark.parametrize("named", [True, False])
def test_a_python_that_was_named_or_has_no_better_is_refused_in_one_sentence(path, call, named):
    broken = {"python3_13": "exit 127", "python3_14": "#!/no/such/program"}
    path(**({"python3_12": ANSWERS.format(minor=12)} if named else broken))
    status, said, errors = call("--tests", *([] if named else ["--search"]))
    assert (status, said) == (1, "") and len(errors.splitlines()) == 1
    assert f"needs Python 3.10 to 3.14, and this is 3.{NEWER[1]}" in errors and "make PYTHON=" in errors


def test_an_interrupted_installation_leaves_no_stamp(tmp_path, monkeypatch):
    python = environment.interpreter(tmp_path)
    python.parent.mkdir()
    python.touch()
    stamp = tmp_path / "rtx-stamp"
    stamp.write_text("an older one")
    monkeypatch.setattr(environment, "works", lambda venv: True)
    calls = []

    def pip(command, check):
        calls.append(command)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(environment.subprocess, "run", pip)
    with pytest.raises(KeyboardInterrupt):
        environment.install(tmp_path, "tests", "")
    assert not stamp.exists() and not environment.is_ready(tmp_path, "tests", "")
    environment.install(tmp_path, "tests", "")
    assert environment.is_ready(tmp_path, "tests", "") and environment.is_ready(tmp_path, "book", "")
    assert not environment.is_ready(tmp_path, "tests", "https://index.example/cpu")


def test_torch_from_another_index_comes_first(tmp_path, monkeypatch):
    calls, index = [], "https://wheels.example/cpu"
    monkeypatch.setattr(environment, "works", lambda venv: True)
    monkeypatch.setattr(environment.subprocess, "run", lambda command, check: calls.append([str(x) for x in command]))
    environment.install(tmp_path, "book", index)
    first, second = calls
    assert first[-3:-1] == ["--index-url", index] and first[-1].startswith("torch==")
    assert "--index-url" not in second
