"""Several processes: the numbers of one, whatever the slices; killed and resumed; no process waits for a dead one."""

import copy
import json
import os
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
import torch
from support import small_tasks, two_processes
from support.data import reads
from support.helpers import PACKAGES, ROOT
from support.two_processes import ALIKE, CASES, TINY, Murmur, half, interrupted, train

from rtx_book.__main__ import main
from rtx_book.records.records import SCHEMA
from rtx_book.runs import TASKS, run
from rtx_lib.tasks import AddingProblem
from rtx_lib.training.processes import Processes, join


def launch(what: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Two CPU processes, as `accelerate launch` starts them, on a port that it finds free."""
    command = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    command += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0"]
    variables = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    environment = {**os.environ, "PYTHONPATH": PACKAGES, **variables}
    script = ROOT / "tests" / "support" / "two_processes.py"
    how = {"capture_output": True, "text": True, "timeout": 600}
    return subprocess.run([*command, script, what, folder], env=environment, **how)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder with the checkpoint of a run of which one process was killed."""
    if sys.platform == "win32":
        pytest.skip("a process of this test is killed by SIGKILL, which Windows lacks")
    folder = tmp_path_factory.mktemp("two")
    return folder, launch("die", folder)


@pytest.fixture(scope="module")
def found(killed):
    """What both processes say."""
    folder, _ = killed
    done = launch("train", folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in (0, 1)]


def distance(a, b):
    """max|a - b| / max|b|."""
    a, b = torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64)
    return float((a - b).abs().max() / b.abs().max())


@pytest.mark.parametrize("name", ALIKE)
def test_two_processes_give_the_numbers_of_one(found, name):
    history, model = train(name)
    loss, norm, evaluations, lr, sums = found[0]["cases"][name]
    assert len(loss) == 12 and distance(loss, history.loss) < 1e-8
    assert distance(norm, history.gradient_norm) < 1e-8 and lr == history.lr
    assert distance(sums, two_processes.numbers(model)) < 1e-8
    assert [row["step"] for row in evaluations] == [row["step"] for row in history.evaluations]
    for row, alone in zip(evaluations, history.evaluations, strict=True):
        assert row["split"] == alone["split"] and row["mse"] == pytest.approx(alone["mse"], rel=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_all_processes_say_the_same(found, name):
    """To the last bit: what they compute from these numbers, such as the parameters, must never part."""
    assert [saying["count"] for saying in found] == [2, 2] and [saying["rank"] for saying in found] == [0, 1]
    assert found[0]["cases"][name] == found[1]["cases"][name]


def test_parameters_without_gradient_are_left_alone(found):
    """Weight decay moves every parameter that has a gradient, be it 0."""
    *_, sums = found[0]["cases"]["without gradient"]
    assert sums[0] == 3 and dict(train("without gradient")[1].named_parameters())["model.never"].tolist() == [1, 1, 1]


def test_a_killed_process_ends_the_run_and_the_resumed_one_gives_the_same_numbers(killed, found):
    folder, done = killed
    assert done.returncode != 0 and "Signal 9 (SIGKILL)" in done.stderr and not list(folder.glob("*.part"))
    assert found[0]["resumed"] == found[0]["whole"] == found[1]["resumed"] and len(found[0]["whole"]) == 10


def test_a_checkpoint_of_other_processes_or_precision_is_refused(killed):
    folder, _ = killed
    others = {"'processes': (2, 1)": Processes(), "'precision': ('no', 'bf16')": Processes(0, 2, precision="bf16")}
    for what, processes in others.items():
        with pytest.raises(ValueError, match=r"another run .*" + re.escape(f": {{{what}}}")):
            interrupted(processes, folder / "run.ckpt")


def test_a_loss_that_is_not_finite_in_one_process_stops_all(found):
    assert [saying["broken"] for saying in found] == ["loss is nan at step 3; no checkpoint was written"] * 2


def test_fewer_sequences_than_processes(found):
    message = "batch_size must be at least 2, got 1"
    assert [saying["few"] for saying in found] == [message] * 2
    with pytest.raises(ValueError, match=message.replace("2", "4").replace("1", "3")):
        Processes(0, 4).part(Murmur(), torch.zeros(3, 2), torch.zeros(3, 2))


def test_the_record_names_the_processes(killed, found):
    assert [saying["status"] for saying in found] == [0, 0]
    folder = killed[0] / "records"
    record = json.loads((folder / "tiny-s0.json").read_text())
    jsonschema.validate(record, SCHEMA)
    assert record["device"] == {"name": "CPU", "threads": 1, "processes": 2, "precision": "no"}
    assert [file.name for file in folder.iterdir()] == ["tiny-s0.json"]
    alone = json.loads(run(TINY, out=killed[0] / "alone", progress=False).read_text())
    assert "processes" not in alone["device"]
    assert record["curves"]["loss"] == pytest.approx(alone["curves"]["loss"], rel=1e-5)
    assert record["metrics"] == pytest.approx(alone["metrics"], rel=1e-5)


def test_two_processes_in_bf16(found):
    loss = found[0]["half"]
    assert sum(loss[-10:]) < 0.8 * sum(loss[:10]) and loss == found[1]["half"]


LOSSES = {"music": {"summed": True}, "number-words": {"label_smoothing": 0.1}, "ptb": {"length": 9, "context": 3}}
SETTINGS = small_tasks.SETTINGS | LOSSES
NAMES = sorted(TASKS)


@pytest.mark.parametrize("name", [pytest.param(n, marks=reads(TASKS[n], **SETTINGS.get(n, {}))) for n in NAMES])
def test_the_parts_of_every_task_make_the_whole_loss(name, double):
    """The loss is what the parts say, weighted by their shares: that is so if a task weighs its loss right."""
    task = TASKS[name](**SETTINGS.get(name, {}))
    x, y = task.batch("train", 7, torch.Generator().manual_seed(0))
    length = (x[1] if isinstance(x, tuple) else x).shape[1]
    prediction = torch.randn(7, length, task.output_size, generator=torch.Generator().manual_seed(1))
    shards = [Processes(rank, 3).part(task, (x, prediction), y) for rank in range(3)]
    assert [len(part) for _, part, _ in shards] == [3, 2, 2]
    total = sum(float(task.loss(part[1], labels)) * share for part, labels, share in shards)
    assert total == pytest.approx(float(task.loss(prediction, y)), rel=1e-10)


def test_mixed_precision_in_one_process():
    history, model = half()
    full, _ = train("gru", torch.float32, steps=60)
    assert history.loss != full.loss and distance(history.loss[:10], full.loss[:10]) < 0.05
    assert sum(history.loss[-10:]) < 0.8 * sum(history.loss[:10])
    assert all(p.dtype == p.grad.dtype == torch.float32 for p in model.parameters())
    x = AddingProblem(8).batch("train", 2, torch.Generator())[0]
    assert torch.equal(model(x)[0], copy.deepcopy(model).eval()(x)[0]), "outside fit it computes in full precision"


def test_a_run_at_equal_time_is_for_one_process(tmp_path):
    recipe = replace(TINY, equal_time="yardstick")
    for processes in (Processes(0, 2), Processes(precision="bf16")):
        with pytest.raises(ValueError, match=r"processes must be one, without mixed precision, for tiny at equal time"):
            run(recipe, out=tmp_path / "unused", processes=processes)
    assert not (tmp_path / "unused").exists()


def test_wrong_arguments(monkeypatch):
    for name in ("ACCELERATE_MIXED_PRECISION", "WORLD_SIZE", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match=r"precision must be one of \['no', 'bf16'\], got 'fp16'"):
        join(precision="fp16")
    monkeypatch.setitem(sys.modules, "accelerate", None)  # it cannot be imported, and nobody minds
    runpy.run_path(str(ROOT / "rtx_lib" / "training" / "processes.py"))
    assert join() == Processes() and join("cuda:1") == Processes(device="cuda:1")
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "bf16")
    with pytest.raises(ModuleNotFoundError, match="pip install accelerate"):
        join()
    with pytest.raises(SystemExit):
        main(["run", "adding-rnn-t10", "--mixed-precision", "half"])
