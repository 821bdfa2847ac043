"""How the tests are shared by several workers, and that a run of nothing is red."""

import os
import shutil
import subprocess
import sys

import pytest
from support.helpers import ROOT
from support.workers import EXECUTED, part, scope

NOTEBOOK, BROWSER = "tests/book/notebooks/test_execution.py", "tests/book/pages/test_browser.py"
OTHER = "tests/book/build/test_other.py"
GREEN = """import pytest

@pytest.mark.parametrize("name", ["a", "b"])
def test_{}(name):
    pass
"""
FILES = {NOTEBOOK: GREEN.format("notebook_runs"), BROWSER: GREEN.format("page"), OTHER: GREEN.format("other")}
READS = """import pytest
from rtx_lib.tasks.files import fetch

@pytest.mark.data({})
def test_reads():
    assert fetch("one").read_text() == "true"
"""
# What the settings of the tests import, without what it takes long to import.
STAND_INS = {
    "tests/torch.py": "def set_num_threads(count):\n    pass\n\ndef manual_seed(seed):\n    pass\n",
    "rtx_lib/__init__.py": "",
    "rtx_lib/tasks/__init__.py": """import hashlib
from .files import FILES, DataFile

FILES |= dict.fromkeys(["one", "two"], DataFile(hashlib.sha256(b"true").hexdigest(), 4, ()))
""",
    "tests/support/built.py": """class execution:
    took = {"01_one": {"cpu": 3.0}, "02_two": {"cpu": 30.0}}

def take_turn():
    print("turn taken")
""",
}


def test_the_book_comes_first_and_the_browser_last_and_pages_are_opened_by_whoever_is_free():
    names = [f"{EXECUTED}[01]", f"{OTHER}::test_a", f"{NOTEBOOK}::test_same_seed", f"{BROWSER}::test_page[a]"]
    assert sorted(names[::-1], key=part) == names
    assert scope(f"{EXECUTED}[01]") == scope("tests/book/pages/test_pages.py::test_title[a]")
    assert scope(f"{BROWSER}::test_page[a]") != scope(f"{BROWSER}::test_page[b]")


@pytest.fixture
def copy(tmp_path):
    """Run pytest with this tree's settings on small files: a function from files to the finished process."""
    support = [f"tests/support/{name}.py" for name in ("workers", "needs", "data")]
    for name in ("tests/conftest.py", *support, "rtx_lib/tasks/files.py", "rtx_lib/tasks/files.txt", "pyproject.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)

    def run(files, *arguments, **environment):
        for name, text in (files | STAND_INS).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "RTX"))}
        command, how = [sys.executable, "-m", "pytest", *arguments], {"capture_output": True, "text": True}
        return subprocess.run(command, cwd=tmp_path, env=clean | environment, **how)

    return run


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_of_everything_is_green_with_any_number_of_workers(copy, workers):
    done = copy(FILES, "-n", workers, "-v", "-s", RTX_REQUIRE_ALL="1")
    assert done.returncode == 0 and "turn taken" in done.stdout, done.stdout + done.stderr
    assert "6 passed" in done.stdout and "30.0  02_two  over the 25 s of a chapter" in done.stdout


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_without_a_notebook_or_a_browser_or_that_overlooks_a_file_is_red(copy, workers):
    """Another file of the folder is not enough."""
    files = {name.replace("test_", "test_planted_"): text for name, text in FILES.items()}
    hidden = "tests/node_modules/test_hidden.py"
    done = copy(files | {hidden: GREEN.format("hidden")}, "-n", workers, RTX_REQUIRE_ALL="1")
    assert done.returncode == 1, done.stdout + done.stderr
    for reason in ("no notebook was executed", "no page was opened in a browser", f"no test of {hidden} was collected"):
        assert f"ERROR: {reason}" in done.stdout


@pytest.mark.parametrize("required", ["0", "1"])
def test_what_is_left_out_is_told_in_one_line_and_red_where_all_is_required(copy, required):
    lacks = "import pytest\nfrom support import needs\n\ndef test_opens():\n    needs.lack('a browser')\n"
    lacks += "\ndef test_is_not_named():\n    pytest.importorskip('no_such_module')\n"
    planted = {OTHER: READS.format("'one'"), "tests/book/build/test_page.py": lacks}
    done = copy(FILES | planted, "-n", "2", RTX_REQUIRE_ALL=required)
    assert done.returncode == int(required), done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("Left out: ")]
    assert "1 that need data files (make data)" in line and "1 that need a browser (install" in line
    assert "1 that need something else (pytest" in line
    for what in ("a browser", "something else"):
        assert (f"ERROR: {what} was wanting" in done.stdout) == (required == "1")


@pytest.mark.parametrize(("named", "workers"), [("'two', 'one'", "0"), ("'one'", "2"), ("'two'", "2"), ("", "0")])
def test_a_test_reads_no_file_but_those_that_it_names(copy, tmp_path, named, workers):
    """Though the others are in the cache: so a forgotten name is seen where the data are, too."""
    cache = {"cache/one": "true", "cache/two": "true"}
    done = copy(cache | {OTHER: READS.format(named)}, "-n", workers, RTX_DATA=str(tmp_path / "cache"))
    assert done.returncode == ("one" not in named), done.stdout + done.stderr
    assert ("DownloadError" if done.returncode else "1 passed") in done.stdout
