"""`make gpu` on small trees: what fails is told, what is missing too, and nothing runs beyond its time."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from support.helpers import ROOT, code_cell

from rtx_book.bench import CASES
from rtx_book.build import gpu

BENCH = """import json, pathlib, sys
case, out = sys.argv[-1], pathlib.Path(sys.argv[-2])
record = {"case": case, "machine": {"gpu": "A card" if case == "rnn" else None}, "rows": [1]}
with out.open("a") as file:
    file.write(json.dumps(record) + "\\n")
sys.exit(case == "txl")
"""
TEST = "from kernels.cases import x\n\ndef test_on_a_gpu():\n    assert {}\n\ndef test_elsewhere():\n    assert False\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A project with two chapters, one of which fails, three files of tests, one of which fails, and speeds."""

    def write(name, text):
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def notebook(name, *texts):
        cells = [("stop", "bootstrap"), ("profile = device = ''", "parameters"), *((text,) for text in texts)]
        return write(f"notebooks/{name}.ipynb", json.dumps({"cells": [code_cell(*cell) for cell in cells]}))

    notebook("01_good", "from IPython.display import HTML\nassert (profile, device) == ('smoke', 'cpu')", "HTML('x')")
    notebook("02_bad", "x = 1", "assert x == 2, 'planted mistake'")
    for name in gpu.TESTS:
        write(f"tests/lib/kernels/test_{name}.py", TEST.format(name != "recurrence"))
    write("tests/lib/kernels/cases.py", "x = 1")
    write("_toc.yml", "- file: notebooks/01_good\n- file: notebooks/02_bad\n")
    write("rtx_lib/__init__.py", "")  # a package, and not ours
    write("book/rtx_book/__init__.py", "")
    write("book/rtx_book/__main__.py", BENCH)
    monkeypatch.setattr(gpu, "ROOT", tmp_path / "project")
    monkeypatch.setattr(gpu, "CASES", ["rnn", "txl"])
    return notebook


def test_what_fails_is_named_and_the_rest_is_kept(tree, tmp_path, capsys):
    out, results = tmp_path / "out", tmp_path / "results"
    assert gpu.everything(out, "cpu") == 1
    said = capsys.readouterr().out
    assert "tests: 2 passed, 1 failed, 0 skipped" in said and "chapters: 1 of 2" in said and "speed: 1 of 2" in said
    assert "FAILED chapters, 02_bad: AssertionError: planted mistake" in said and "FAILED speed, txl" in said
    assert "FAILED test test_recurrence.py::test_on_a_gpu" in said and said.count("FAILED") == 3
    assert "02_bad, cell 4" in (out / "log.txt").read_text()
    assert len([*out.iterdir()]) <= 8 and json.loads((out / "summary.json").read_text())["card"] == "CPU"

    results.mkdir()
    kept = [{"case": "rnn", "machine": {"gpu": gpu}, "rows": []} for gpu in (None, "An older card")]
    (results / "speed.jsonl").write_text("".join(json.dumps(one) + "\n" for one in kept))
    assert gpu.merge(out, results) == 0 and "txl: measured without a GPU" in capsys.readouterr().out
    found = [json.loads(line) for line in (results / "speed.jsonl").read_text().splitlines()]
    assert found == [kept[0], kept[1] | {"machine": {"gpu": "A card"}, "rows": [1]}]
    assert gpu.merge(tmp_path, results) == 1


def test_a_missing_package_is_one_line(tree, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "NEEDED", {"tests": ["no_such"], "chapters": ["nor_this"], "speed": []})
    monkeypatch.setattr(gpu, "CASES", ["rnn"])
    assert gpu.everything(tmp_path / "out", "cpu") == 0
    wanting = [line.partition("left out: ")[2] for line in capsys.readouterr().out.splitlines() if "left out" in line]
    assert wanting == ["tests, for want of no_such", "chapters, for want of nor_this"]


def test_a_step_ends_with_its_time_and_takes_along_what_it_started(tmp_path):
    mark = tmp_path / "child"
    child = f"import pathlib, time; pathlib.Path({str(mark)!r}).touch(); time.sleep(600)"
    command, start = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])", time.monotonic()
    steps = gpu.Steps(tmp_path)
    found = steps.run("slow", 3, "-c", command)
    assert not found["ok"] and found["said"] == "stopped after 3 s" and time.monotonic() - start < 60
    assert mark.exists() and str(mark) not in subprocess.run(["ps", "ax"], capture_output=True, text=True).stdout
    found = steps.run("killed", 60, "-c", "import os, time; print('before'); os.kill(os.getpid(), 9); time.sleep(9)")
    assert found["said"] == "ended by SIGKILL" and "before" in steps.said["killed"]


def test_a_step_that_starts_while_all_of_it_is_ended_ends_too(tmp_path, monkeypatch):
    steps, start = gpu.Steps(tmp_path), subprocess.Popen

    def late(*arguments, **options):
        process, steps.end = start(*arguments, **options), 0.0
        return process

    monkeypatch.setattr(gpu.subprocess, "Popen", late)
    assert not steps.run("late", 60, "-c", "import time; time.sleep(600)")["ok"]


def test_what_was_found_is_kept_when_it_is_ended(tree, tmp_path):
    tree("02_bad", "import time\ntime.sleep(600)")
    program, out = tmp_path / "project" / "book" / "rtx_book" / "build" / "gpu.py", tmp_path / "out"
    program.parent.mkdir(), shutil.copy(gpu.__file__, program)
    command = [sys.executable, program, "run", "--device", "cpu", "--out", out]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        log, until = out / "log.txt", time.monotonic() + 300
        while not log.exists() or "==== chapters-01_good" not in log.read_text():
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[0]
    assert process.returncode == 1 and "left out: what follows, as it was interrupted" in said
    assert "chapters: 1 of 2" in said and "speed, rnn: not reached" in said


def test_without_a_gpu_it_says_so_in_one_line(tmp_path):
    command = [sys.executable, gpu.__file__, "run", "--out", tmp_path / "out", "--device", "cuda"]
    done = subprocess.run(command, env={"CUDA_VISIBLE_DEVICES": "", "PATH": ""}, capture_output=True, text=True)
    assert done.returncode == 2 and len(done.stdout.splitlines()) == 1 and not (tmp_path / "out").exists()


def test_stand_ins_take_the_place_of_what_is_missing_and_show_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "STAND_INS", {f"no_{name.lower()}": text for name, text in gpu.STAND_INS.items()})
    monkeypatch.setenv("PYTHONPATH", os.fspath(tmp_path / "theirs"))
    code = (
        "import sys\nfrom no_ipython.display import HTML, display\nfrom no_ipython import get_ipython\n"
        "from no_tqdm import tqdm\nfrom no_bertviz import head_view\nbar = tqdm([1, 2], 'name', disable=True)\n"
        "bar.set_postfix(x=1), display(HTML('x'))\nassert [*bar] == [1, 2] and HTML('x').data == 'x'\n"
        "assert get_ipython() is None and '</script>' in head_view(layer=1).data\n"
        f"assert {os.fspath(tmp_path / 'theirs')!r} in sys.path"
    )
    assert gpu.Steps(tmp_path).run("code", 60, "-c", code)["ok"]


def test_all_that_a_gpu_is_owed_is_asked_for():
    assert sorted(gpu.CASES) == sorted(CASES)
    files = {path.stem: path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path.name != "test_gpu.py"}
    needing = {name: text for name, text in files.items() if "skipif(not torch.cuda.is_available()" in text}
    assert sorted(needing) == sorted(f"test_{name}" for name in gpu.TESTS)
    for text in needing.values():
        assert text.count("skipif(not torch.cuda") == text.count("def test_on_a_gpu(") == 1
