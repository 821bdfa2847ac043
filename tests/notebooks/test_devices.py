"""Every chapter runs where there is a GPU: tried on a pretended one, since few machines that test have a true one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.built import NOTEBOOKS
from support.helpers import ROOT

SCRIPT = Path(__file__).with_name("far_chapter.py")
PLANTED = {
    "an array of what is far": "import torch\ny = torch.ones(2, device=device)\ny.numpy()",
    "two devices": "import torch\ntorch.ones(2, device=device) + torch.ones(2)",
}


def run(folder, *paths):
    """Chapters in a process of their own, in an empty folder."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "RTX_DOWNLOAD": "0", "IPYTHONDIR": str(folder)}
    return subprocess.run([sys.executable, SCRIPT, *paths], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_chapter_runs_on_another_device(tmp_path, name):
    done = run(tmp_path, NOTEBOOKS[name])
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    operations = int(done.stdout.split(f"{name}: 0 faults, ")[1].split()[0])
    assert operations > 1000, "its models were on the device"


def test_planted_mistakes_of_chapters_are_seen(tmp_path):
    paths = []
    for name, text in PLANTED.items():
        cells = [
            {"cell_type": "code", "source": source, "metadata": {"tags": tags}}
            for source, tags in (('device = "cpu"', ["parameters"]), (text, []))
        ]
        paths.append(tmp_path / f"{name}.ipynb")
        paths[-1].write_text(json.dumps({"cells": cells}))
    done = run(tmp_path, *paths)
    assert done.returncode == len(PLANTED), done.stdout + done.stderr
    for name in PLANTED:
        assert f"{name}: 1 faults" in done.stdout
