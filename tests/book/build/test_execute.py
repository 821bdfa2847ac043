"""Which notebooks run again, and what a failing, hanging or interrupted one leaves behind."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from rtx_book.build import execute
from rtx_book.build.execute import BuildError

ONE = [Path("notebooks/one.ipynb")]


def test_unchanged_notebook_is_skipped_and_a_changed_library_runs_it_again(tree):
    assert list(tree.runner().run(ONE)) == ["one"]
    assert "smoke 1" in tree.executed()
    before = (tree.root / "executed/one.ipynb").stat().st_mtime_ns
    assert tree.runner().run(ONE) == {}
    assert (tree.root / "executed/one.ipynb").stat().st_mtime_ns == before
    tree.write("rtx_lib/__init__.py", "NUMBER = 2\n")
    assert list(tree.runner().run(ONE)) == ["one"]
    assert "smoke 2" in tree.executed()


CHANGES = {
    "notebook": lambda tree: tree.notebook("one", "1 + 2"),
    "tag": lambda tree: (tree.root / ONE[0]).write_text((tree.root / ONE[0]).read_text().replace("parameters", "live")),
    "library": lambda tree: tree.write("rtx_lib/layers/cells.py", "x = 1"),
    "record": lambda tree: tree.write("book/results/run-s1.json", "{}"),
    "record in a folder": lambda tree: tree.write("book/results/rates/run-s1.json", "{}"),
    "advice": lambda tree: tree.write("book/guide.yml", "[]"),
    "data": lambda tree: tree.write("data/file.txt", "other"),
    "pin of another package": lambda tree: tree.write("requirements.txt", "pytest==0\nruff==0\n"),
}


def key(tree, parameters=None) -> str:
    shared = execute.shared_key(tree.root, parameters or {"seed": 0}, [tree.root / "data/file.txt"])
    return execute.notebook_key(tree.root / ONE[0], shared)


@pytest.mark.parametrize("what", CHANGES)
def test_key_follows(tree, what):
    before = key(tree)
    CHANGES[what](tree)
    assert key(tree) != before


def test_key_follows_parameters_and_installed_versions(tree, monkeypatch):
    before = key(tree)
    assert key(tree, {"seed": 1}) != before
    monkeypatch.setattr(execute.metadata, "distributions", lambda: [])
    assert key(tree) != before


def test_key_does_not_follow_outputs_or_counters(tree):
    before = key(tree)
    path = tree.root / ONE[0]
    content = json.loads(path.read_text())
    content["cells"][1] |= {"execution_count": 7, "outputs": [{"output_type": "stream", "name": "stdout", "text": "x"}]}
    path.write_text(json.dumps(content, indent=2))
    assert key(tree) == before


def test_failure_is_reported_and_its_copy_kept_while_the_old_page_stays(tree):
    tree.runner().run(ONE)
    old = tree.executed()
    tree.notebook("one", "print('before')", "x = 1\nassert x == 2, 'planted mistake'", "print('after')")
    with pytest.raises(BuildError) as caught:
        tree.runner().run(ONE)
    report = str(caught.value)
    assert report.startswith("one.ipynb: PapermillExecutionError") and "AssertionError: planted mistake" in report
    assert "> 2 assert x == 2" in report and "Traceback" in report
    assert len(report.splitlines()) < 40
    kept = tree.root / "failed/one.ipynb"
    assert str(kept) in report and "before" in kept.read_text()
    assert tree.executed() == old


@pytest.mark.weekly
def test_hanging_cell_meets_the_timeout(tree):
    tree.notebook("one", "1", "import threading\nthreading.Event().wait()")
    with pytest.raises(BuildError, match=r"one\.ipynb: CellTimeoutError\n(.*\n)*.*after 3 seconds"):
        tree.runner(timeout=3).run(ONE)
    assert (tree.root / "failed/one.ipynb").exists()


def test_after_a_failure_what_runs_is_finished_and_nothing_new_is_started(tree):
    tree.notebook("bad", "1 / 0")
    names = ["bad", "one", "two", "three"]
    for name in names[2:]:
        tree.notebook(name, "import threading; threading.Event().wait(3)" if name == "two" else "1")
    said = []
    with pytest.raises(BuildError, match="ZeroDivisionError"):
        tree.runner(jobs=2, say=said.append).run([Path(f"notebooks/{name}.ipynb") for name in names])
    assert not any("three" in line for line in said)
    assert tree.runner().run(ONE) == {}


def test_interruption_while_a_copy_is_moved_into_place(tree, monkeypatch):
    """The page is whole, and counts as not current."""
    final = tree.write("executed/one.ipynb", '{"metadata": {"key": "old"}}')

    def stop(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(execute.os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        execute.publish(tree.write("new", '{"metadata": {}}'), final, "new")
    assert tree.runner().is_current(ONE[0], "old")


# ---- what is stopped or killed

# Whoever starts the tests in the background makes all that they start deaf to Ctrl-C: the driver listens again.
DRIVER = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {book!r})
from rtx_book.build.execute import Runner
if __name__ == "__main__":
    root = Path({root!r})
    names = [Path("notebooks", name + ".ipynb") for name in sys.argv[1:]]
    data = [root / "data/file.txt"]
    Runner(root, root / "executed", root / "failed", {{"profile": "smoke"}}, data, jobs=1).run(names)
"""
RUNNING = "import os, pathlib, threading\npathlib.Path({mark!r}).write_text(str(os.getpid()))\nthreading.Event().wait()"
SOON = 60  # seconds, on a busy machine: alone it takes one or two


@pytest.fixture
def at_work(tree):
    """A driver that has finished one, is in two, and has three before it; two's worker and kernel."""
    mark = tree.root / "running"
    tree.notebook("two", RUNNING.format(mark=str(mark)))
    tree.notebook("three", "3")
    script = tree.write("drive.py", DRIVER.format(book=str(Path(execute.__file__).parents[2]), root=str(tree.root)))
    command = [sys.executable, script, "one", "two", "three"]
    driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    family = []
    try:
        end = time.monotonic() + SOON
        while not (mark.exists() and (number := mark.read_text())):
            assert driver.poll() is None and time.monotonic() < end, driver.communicate()
            time.sleep(0.05)
        kernel = psutil.Process(int(number))
        family += [*psutil.Process(driver.pid).children(recursive=True)]
        assert kernel in family
        yield driver, kernel.parent(), kernel
        driver.wait(SOON)
        _, alive = psutil.wait_procs(family, timeout=SOON)
        assert not alive, alive
    finally:
        for process in [driver, *family]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        driver.communicate()
    assert tree.runner().is_current(ONE[0], key(tree, {"profile": "smoke"}))  # what was finished is kept


@pytest.mark.weekly
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signals")
@pytest.mark.parametrize("whom", ["driver", "group"])
def test_ctrl_c_ends_workers_and_kernels(at_work, whom):
    driver, *_ = at_work
    (os.kill if whom == "driver" else os.killpg)(driver.pid, signal.SIGINT)
    assert driver.wait(SOON) != 0


@pytest.mark.weekly
def test_a_killed_driver_takes_its_workers_and_kernels_along(at_work):
    at_work[0].kill()


@pytest.mark.parametrize(
    ("place", "said"),
    [(1, "two.ipynb: its worker was killed"), pytest.param(2, "two.ipynb: DeadKernelError", marks=pytest.mark.weekly)],
)
def test_a_killed_worker_or_kernel_is_told(at_work, place, said):
    driver, victim = at_work[0], at_work[place]
    victim.kill()
    told, _ = driver.communicate(timeout=SOON)
    assert said in told.decode() and driver.returncode == 1


@pytest.mark.weekly
def test_where_all_are_to_run_the_others_go_on_after_a_killed_worker(tree):
    tree.notebook(
        "two", "import os, psutil; psutil.Process(os.getppid()).kill(); import threading; threading.Event().wait()"
    )
    paths = [Path(f"notebooks/{name}.ipynb") for name in ("two", "one")]
    orders = [execute.order(tree.root, path, tree.root / path.stem, {}) for path in paths]
    found = {what.output.stem: report for what, _, report in execute.run_all(orders, 1, all_of_them=True)}
    assert found == {"two": "two.ipynb: its worker was killed (out of memory?)", "one": ""}


# ---- what a kernel is


def test_the_kernel_is_this_interpreter_in_an_empty_folder(tree):
    tree.notebook("one", "import os, sys; print(sys.executable, os.listdir('.'), os.environ['OMP_NUM_THREADS'])")
    tree.runner().run(ONE)
    assert f"{sys.executable} [] 1" in tree.executed()


def test_toc_that_names_a_missing_notebook(tree):
    (tree.root / "notebooks/one.ipynb").unlink()
    with pytest.raises(BuildError, match=r"notebooks/one\.ipynb, which does not exist"):
        execute.notebooks_in_toc(tree.root)
