"""Which notebooks run again, and what a failing, hanging or interrupted one leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path

import execute
import psutil
import pytest
from execute import BuildError

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
    monkeypatch.setattr(execute.metadata, "version", lambda name: "99")
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
    assert report.startswith("one.ipynb, cell 3: AssertionError: planted mistake")
    assert "| assert x == 2" in report and "Traceback" in report
    assert len(report.splitlines()) < 40
    kept = tree.root / "failed/one.ipynb"
    assert str(kept) in report and "before" in kept.read_text()
    assert tree.executed() == old


def test_hanging_cell_meets_the_timeout(tree):
    tree.notebook("one", "1", "import threading\nthreading.Event().wait()")
    with pytest.raises(BuildError, match=r"one\.ipynb, cell 3: timeout: not finished after 5 s"):
        tree.runner(timeout=5).run(ONE)
    assert (tree.root / "failed/one.ipynb").exists()


def test_after_a_failure_what_runs_is_finished_and_nothing_new_is_started(tree, monkeypatch):
    monkeypatch.setattr(execute, "as_completed", partial(execute.as_completed, timeout=600))  # once it waited forever
    tree.notebook("bad", "1 / 0")
    names = ["bad", "one", "two", "three", "four"]
    for name in names[2:]:
        tree.notebook(name, "1")
    said = []
    with pytest.raises(BuildError, match="ZeroDivisionError"):
        tree.runner(jobs=2, say=said.append).run([Path(f"notebooks/{name}.ipynb") for name in names])
    assert not any("four" in line for line in said)
    assert tree.runner().run(ONE) == {}


@pytest.mark.parametrize("step", [1, 2])
def test_interruption_between_the_steps_of_publishing(tree, monkeypatch, step):
    """Stopped before the page or before its key is moved: the page is whole, and counts as not current."""
    final, partial = tree.write("executed/one.ipynb", "old"), tree.write("new.ipynb", "new")
    tree.write("executed/one.key", "old key")
    real, calls = os.replace, []

    def stop(source, target):
        calls.append(target)
        if len(calls) == step:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(execute.os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        execute.publish(partial, final, "new key")
    assert final.read_text() == ("old" if step == 1 else "new")
    assert not tree.runner().is_current(ONE[0], "new key") and not tree.runner().is_current(ONE[0], "old key")


def test_ctrl_c_ends_workers_and_kernels_and_keeps_what_was_finished(tree):
    """Two notebooks, one at a time: the second says when it runs, and is interrupted there."""
    mark = str(tree.root / "running")
    tree.notebook("two", f"open({mark!r}, 'w').close()\nimport threading\nthreading.Event().wait()")
    script = tree.write(
        "drive.py",
        textwrap.dedent(f"""
        import sys; sys.path.insert(0, {str(Path(execute.__file__).parent)!r})
        from pathlib import Path
        from execute import Runner
        root = Path({str(tree.root)!r})
        data = [root / "data/file.txt"]
        runner = Runner(root, root / "executed", root / "failed", {{"profile": "smoke"}}, data, jobs=1)
        runner.run([Path("notebooks/one.ipynb"), Path("notebooks/two.ipynb")])
        """),
    )
    driver = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    for line in driver.stdout:
        if "two: started" in line:
            break
    while driver.poll() is None and not (tree.root / "running").exists():
        os.sched_yield()
    family = psutil.Process(driver.pid).children(recursive=True)
    assert len(family) >= 2
    driver.send_signal(signal.SIGINT)
    driver.communicate(timeout=600)
    assert driver.returncode != 0
    _gone, alive = psutil.wait_procs(family, timeout=600)
    assert not alive
    assert sorted(p.name for p in (tree.root / "executed").iterdir()) == ["one.findings.json", "one.ipynb", "one.key"]
    assert tree.runner().run(ONE) == {}


def test_the_kernel_is_this_interpreter_in_an_empty_folder(tree):
    tree.notebook("one", "import os, sys; print(sys.executable, os.listdir('.'), os.environ['OMP_NUM_THREADS'])")
    tree.runner().run(ONE)
    assert f"{sys.executable} [] 1" in tree.executed()


def test_toc_that_names_a_missing_notebook(tree):
    (tree.root / "notebooks/one.ipynb").unlink()
    with pytest.raises(BuildError, match=r"notebooks/one\.ipynb, which does not exist"):
        execute.notebooks_in_toc(tree.root)
