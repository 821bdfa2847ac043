"""The front door of the press, the order of its chapters, and which code a record calls its own."""

import os
import shutil
import subprocess
import sys

import pytest
from support import needs
from support.helpers import ROOT

import rtx_book
from rtx_book.paths import chapters_of, in_order
from rtx_book.runs import runs


def test_every_name_of_the_front_door_is_there():
    assert {"Evidence", "ask", "explorer", "load_records", "play", "show", "slider"} <= set(rtx_book.__all__)
    assert all(callable(getattr(rtx_book, name)) for name in rtx_book.__all__)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        rtx_book.no_such_name  # noqa: B018


TESTS_ALONE = ["accelerate", "bs4", "playwright", "pytest", "snakemake", "tokenizers", "triton"]
IMPORT_ALL = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))  # their import fails
for package in map(importlib.import_module, ("rtx_lib", "rtx_book")):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
"""


def test_every_module_imports_on_a_fresh_machine():
    """`make book` documents them all, and installs nothing of tests/requirements.txt."""
    subprocess.run([sys.executable, "-c", IMPORT_ALL, *TESTS_ALONE], cwd=ROOT, check=True)


def test_chapters_stand_in_the_order_of_the_toc(tmp_path):
    (tmp_path / "_toc.yml").write_text("- file: notebooks/two\n- file: book/page\n- file: notebooks/one\n")
    assert chapters_of(tmp_path) == ["two", "one"]
    assert in_order({"one", "two", "zero", "attic"}, tmp_path) == ["two", "one", "attic", "zero"]
    assert in_order(["b", "a"], tmp_path / "nowhere") == ["a", "b"]
    assert chapters_of(ROOT)[0] == "recurrence" and chapters_of(ROOT)[-1] == "race"


@pytest.mark.parametrize("place", ["rtx_lib", "book/rtx_book"])
def test_a_change_of_either_package_makes_a_commit_dirty(tmp_path, monkeypatch, place):
    if not shutil.which("git"):
        needs.lack("git")
    for name in [name for name in os.environ if name.startswith("GIT_")]:  # a hook names its own repository
        monkeypatch.delenv(name)

    def git(*arguments):
        mine = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *mine, *arguments], cwd=tmp_path, check=True)

    for name in ("rtx_lib", "book/rtx_book"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "a.py").touch()
    git("init", "--quiet"), git("add", "."), git("commit", "--quiet", "-m", "start")
    monkeypatch.setattr(runs, "PACKAGE", tmp_path / "book" / "rtx_book")
    (tmp_path / "README.md").touch()
    assert len(runs.commit()) == 40
    (tmp_path / place / "a.py").write_text("1\n")
    assert runs.commit().endswith("-dirty")
