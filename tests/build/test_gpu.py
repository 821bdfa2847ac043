"""`make gpu` on small trees: what fails is told, what is missing too, and nothing runs beyond its time."""

import json
import subprocess
import sys
import time

import gpu
import pytest
from support.helpers import code_cell

BENCH = """import json, pathlib, sys
case, out = sys.argv[-1], pathlib.Path(sys.argv[-2])
out.mkdir(exist_ok=True)
record = {"case": case, "machine": {"gpu": None}, "rows": [1]}
(out / f"{case}-cpu.json").write_text(json.dumps(record))
sys.exit(case == "txl")
"""
TEST = "def test_on_a_gpu():\n    assert {}\n\ndef test_elsewhere():\n    assert False\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A project with two chapters, one of which fails, two files of tests, one of which fails, and speeds."""

    def write(name, text):
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def notebook(name, *texts):
        cells = [
            code_cell("stop", "bootstrap"),
            code_cell("profile = device = ''", "parameters"),
            *map(code_cell, texts),
        ]
        return write(f"notebooks/{name}.ipynb", json.dumps({"cells": cells}))

    notebook("01_good", "from IPython.display import HTML\nassert (profile, device) == ('smoke', 'cpu')", "HTML('x')")
    notebook("02_bad", "x = 1", "assert x == 2, 'planted mistake'")
    write("tests/kernels/test_linear.py", TEST.format("True"))
    write("tests/kernels/test_recurrence.py", TEST.format("False"))
    write("tests/kernels/test_matrix_state.py", TEST.format("True"))
    write("rtx_lib/__init__.py", "")
    write("rtx_lib/bench.py", BENCH)
    monkeypatch.setattr(gpu, "ROOT", tmp_path / "project")
    monkeypatch.setattr(gpu, "CASES", ["rnn", "txl"])
    return notebook


def test_what_fails_is_named_and_the_rest_is_kept(tree, tmp_path, capsys):
    out = tmp_path / "out"
    assert gpu.everything(out, "cpu") == 1
    said = capsys.readouterr().out
    assert "tests: 2 passed, 1 failed, 0 skipped" in said and "chapters: 1 of 2" in said and "speed: 1 of 2" in said
    assert "FAILED chapters, 02_bad: AssertionError: planted mistake" in said and "FAILED test test_on_a_gpu" in said
    assert "02_bad, cell 4" in (out / "log.txt").read_text()
    assert len([*out.iterdir()]) <= 8 and json.loads((out / "summary.json").read_text())["card"] == "CPU"

    (tmp_path / "results" / "speed").mkdir(parents=True)
    assert gpu.merge(out, tmp_path / "results") == 0
    made = json.loads((tmp_path / "results" / "speed" / "rnn-cpu.json").read_text())
    assert made == {"case": "rnn", "machine": {"gpu": None}, "rows": [1]}
    assert gpu.merge(tmp_path, tmp_path / "results") == 1


def test_a_missing_package_is_one_line(tree, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "NEEDED", {"the tests": ["no_such_package"], "the chapters": ["nor_this"]})
    monkeypatch.setattr(gpu, "CASES", ["rnn"])
    assert gpu.everything(tmp_path / "out", "cpu") == 0
    said = capsys.readouterr().out.splitlines()
    assert said.count("  left out: the tests, for want of no_such_package") == 1
    assert said.count("  left out: the chapters, for want of nor_this") == 1


def test_a_step_ends_with_its_time_and_takes_along_what_it_started(tmp_path):
    mark = tmp_path / "child"
    child = f"import pathlib, time; pathlib.Path({str(mark)!r}).touch(); time.sleep(600)"
    command = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    start = time.monotonic()
    found = gpu.Steps(tmp_path).run("slow", 3, "-c", command)
    assert not found["ok"] and found["said"] == "stopped after 3 s" and time.monotonic() - start < 60
    assert mark.exists() and str(mark) not in subprocess.run(["ps", "ax"], capture_output=True, text=True).stdout


def test_without_a_gpu_it_says_so_in_one_line(tmp_path):
    command = [sys.executable, gpu.__file__, "run", "--out", tmp_path / "out", "--device", "cuda"]
    hidden = {"CUDA_VISIBLE_DEVICES": "", "PATH": ""}
    done = subprocess.run(command, env=hidden, capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stdout.splitlines()) == 1 and not (tmp_path / "out").exists()


def test_stand_ins_take_the_place_of_what_is_missing(monkeypatch):
    for name in ("no_such", "no_such.display"):
        monkeypatch.setitem(sys.modules, name, None)
    gpu.stand_in("no_such.display")
    from no_such.display import HTML, display

    assert HTML("x").data == "x" and display(HTML("x"), HTML("y")) is not None
