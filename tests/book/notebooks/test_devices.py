"""Every chapter runs where there is a GPU: tried on a pretended one, since few machines that test have a true one."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.built import NOTEBOOKS
from support.helpers import PACKAGES

SCRIPT = Path(__file__).with_name("far_chapter.py")
FIGURE = (
    "import rtx_book, torch\nfrom matplotlib import pyplot\n"
    "far, (fig, ax) = torch.ones(2, device=device), pyplot.subplots()\n(line,) = ax.plot([0, 1])\n"
)
PLANTED = {
    "two devices": "import torch\ntorch.ones(2, device=device) + torch.ones(2)",
    "a process that ends": "import os\nos.kill(os.getpid(), 9)",
    "a line that is moved": f"{FIGURE}line.set_data(far, far)\nrtx_book.show(fig, 'a line')",
    "names of ticks": FIGURE
    + "ax.xaxis.set_major_formatter(lambda x, _: str(far.numpy()))\nrtx_book.show(fig, 'a line')",
}

pytestmark = pytest.mark.weekly


def run(folder, *paths):
    """Chapters in a process of their own, in an empty folder."""
    environment = os.environ | {"PYTHONPATH": PACKAGES, "RTX_DOWNLOAD": "0", "IPYTHONDIR": str(folder)}
    return subprocess.run([sys.executable, SCRIPT, *paths], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def chapters(request, tmp_path_factory):
    """The chapters that this run asks for, each run on the device: what was said of all."""
    asked = {item.callspec.params["name"] for item in request.session.items if "chapters" in item.fixturenames}
    return run(tmp_path_factory.mktemp("chapters"), *(NOTEBOOKS[name] for name in NOTEBOOKS if name in asked))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_chapter_runs_on_another_device(chapters, name):
    ran = re.search(rf"^{name}: 0 faults, (\d+) operations", chapters.stdout, flags=re.M)
    assert ran, chapters.stdout[-3000:] + chapters.stderr[-1000:]
    assert int(ran[1]) > 1000, "its models were on the device"


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
        assert f"{name}: 1 faults" in done.stdout or name == "a process that ends", done.stdout
