"""The environment: which Python makes it, and when it is made anew, with programs that write down what is asked."""

import os
import re
import shutil
import subprocess

import pytest
from support.helpers import ROOT

SCRIPT = "book/rtx_book/build/environment.sh"
INPUTS = ("requirements.txt", "tests/requirements.txt", "pyproject.toml")
# Says its version; makes an environment with itself in it; installs, unless there is a file `broken`.
PYTHON = """#!/bin/sh
[ "$PYTHONUTF8" = 1 ] || exit 1 # Python starts with no other value but 0
case "$*" in
    "-c "*) printf %s {version} ;;
    "-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *) echo "$*" >>log; [ ! -e broken ] || {{ echo "no such package" >&2; exit 1; }} ;;
esac
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the programs of these tests are shell scripts")


@pytest.fixture
def call(tmp_path):
    """`make setup` with the Pythons that are named: status, what was said, and what pip was asked."""
    for name in (SCRIPT, *INPUTS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "Makefile", tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("make", "sh", "cat", "cksum", "grep", "rm", "mkdir", "cp", "dirname"):
        (programs / name).symlink_to(shutil.which(name))

    def run(*arguments, broken=False, **versions):
        for name, version in versions.items():
            (programs / name.replace("_", ".")).write_text(PYTHON.format(version=version))
            (programs / name.replace("_", ".")).chmod(0o755)
        (tmp_path / "log").write_text("")
        (tmp_path / "broken").touch() if broken else (tmp_path / "broken").unlink(missing_ok=True)
        line = ["make", "--silent", *(arguments or ["setup"])]
        done = subprocess.run(line, cwd=tmp_path, env={"PATH": str(programs)}, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr, (tmp_path / "log").read_text().splitlines()

    run.folder = tmp_path
    return run


def test_the_range_is_that_of_the_metadata():
    named = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text())
    tried = re.findall(r"python(3\.\d+)", re.search(r"PYTHON:-(.*)}", (ROOT / SCRIPT).read_text())[1])
    assert named == tried[::-1] == ["3.10", "3.11", "3.12", "3.13", "3.14"]


def test_python3_makes_it_or_the_newest_that_is_supported(call):
    assert "python3, Python 3.11" in call(python3="3.11", python3_12="3.12")[1]
    status, said, _ = call(python3="3.15", python3_11="3.11", python3_13="3.9")
    assert status == 0 and "programs/python3.12, Python 3.12" in said, "a new version makes a new environment"


@pytest.mark.parametrize("named", [["PYTHON=python3"], []])
def test_a_python_that_was_named_or_has_no_better_is_refused_in_one_sentence(call, named):
    status, said, asked = call("setup", *named, python3="3.15", **({"python3_12": "3.12"} if named else {}))
    assert status == 2 and not asked and not (call.folder / ".venv").exists()
    assert said.splitlines()[0].startswith("This book needs Python 3.10 to 3.14") and "make PYTHON=" in said


def test_the_stamp_is_renewed_when_something_changed_and_only_then(call):
    assert len(call(python3="3.11")[2]) == 1
    assert call() == (0, "", [])
    assert call("setup-tests")[2][0].endswith("-r tests/requirements.txt -e .")
    assert call("setup") == call("setup-tests") == (0, "", []), "the tests' packages include the book's"
    for name in INPUTS:
        (call.folder / name).write_text((call.folder / name).read_text() + "# changed\n")
        assert len(call()[2]) == 1 and call()[2] == []


def test_an_environment_that_does_not_start_or_was_copied_is_made_again(call):
    call(python3="3.11")
    (call.folder / ".venv" / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
    assert "Creating .venv" in call()[1] and call()[2] == []
    stamp = call.folder / ".venv" / "rtx-stamp"
    stamp.write_text(stamp.read_text().replace(str(call.folder), "/elsewhere"))
    assert len(call()[2]) == 1, "what is installed is that of another folder"


def test_an_installation_that_failed_is_told_and_done_again(call):
    status, said, _ = call(python3="3.11", broken=True)
    assert status == 2 and said.index("no such package") < said.index("it says above why")
    assert len(call()[2]) == 1 and call()[2] == []


def test_torch_from_another_index_comes_first(call):
    first, second = call("setup", "TORCH_INDEX=https://wheels.example/cpu", python3="3.11")[2]
    assert "--index-url https://wheels.example/cpu torch==" in first and "--index-url" not in second
