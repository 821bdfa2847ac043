"""An environment with Colab's packages only, and a notebook run in it as a Colab reader would run it.

The packages are installed once into `.venv-colab`, which nothing changes afterwards. Each run lays a thin
environment of its own over it: what the notebook's bootstrap cell installs lands there and goes with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from support.helpers import ROOT

VENV = ROOT / ".venv-colab"
TORCH = next(line for line in (ROOT / "requirements.txt").read_text().splitlines() if line.startswith("torch=="))
# Colab's versions where they matter to us; torch is the book's own. The last ones come with Colab as well.
PACKAGES = ["ipywidgets==7.7.1", "ipython==7.34", "matplotlib==3.10.*", "numpy==2.1.3", TORCH]
PACKAGES += ["ipykernel", "pip", "pyyaml", "scikit-learn", "scipy", "setuptools", "tqdm"]
KERNEL = "colab-like"
LIST = "import json, importlib.metadata as m; print(json.dumps({d.name.lower(): d.version for d in m.distributions()}))"


def interpreter(venv: Path) -> Path:
    return venv / "bin" / "python"


def clean_environment(**more: str) -> dict[str, str]:
    """This process's variables without what would let the tree's own library through."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | more


def versions(venv: Path) -> dict[str, str]:
    """Packages that the environment sees, by name in small letters."""
    answer = subprocess.run(
        [interpreter(venv), "-c", LIST], env=clean_environment(), cwd=venv, capture_output=True, text=True, check=True
    )
    return json.loads(answer.stdout)


def base() -> Path:
    """`.venv-colab`, made now unless a finished one of the same content is there."""
    index = os.environ.get("TORCH_INDEX", "")
    stamp = VENV / "stamp"
    content = hashlib.sha256(repr((sys.version_info[:3], index, PACKAGES)).encode()).hexdigest()
    if not (stamp.exists() and stamp.read_text() == content):
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
        pip = [interpreter(VENV), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        steps = [[*pip, *PACKAGES]]
        if index:
            steps.insert(0, [*pip, "--index-url", index, TORCH])
        for step in steps:
            answer = subprocess.run(step, env=clean_environment(), capture_output=True, text=True)
            assert answer.returncode == 0, f"pip could not install Colab's packages:\n{answer.stderr[-2000:]}"
        stamp.write_text(content)
    return VENV


def thin(folder: Path) -> Path:
    """An environment in `folder` that sees the packages of `.venv-colab` and can be written to."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (below,) = VENV.glob("lib/python*/site-packages")
    (mine,) = folder.glob("lib/python*/site-packages")
    (mine / "below.pth").write_text(f"{below}\n")
    return folder


def repository(tree: Path) -> Path:
    """Commit the files of `tree`: a clone of the book as it is now, with the tag that the bootstrap asks for."""
    git = ["git", "-c", "user.name=reader", "-c", "user.email=reader@example.org", "-c", "core.hooksPath=/dev/null"]
    for step in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "as it is"], ["tag", "v0.1.0"]):
        subprocess.run([*git, *step], cwd=tree, check=True, capture_output=True)
    return tree


def run(notebook: Path, output: Path, venv: Path, repository: Path) -> str:
    """Run the notebook in `smoke` with papermill from here and the kernel from `venv`, in an empty folder.

    Returns what papermill said; empty when all went well.
    """
    spec = output.parent / "jupyter" / "kernels" / KERNEL
    empty = output.parent / "empty"
    for folder in (spec, empty):
        folder.mkdir(parents=True)
    argv = [str(interpreter(venv)), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (spec / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": KERNEL, "language": "python"}))
    command = [sys.executable, "-m", "papermill", notebook, output, "--kernel", KERNEL, "--cwd", empty]
    command += ["--no-progress-bar", "--execution-timeout", "600", "-p", "profile", "smoke"]
    environment = clean_environment(
        RTX_REPO=str(repository),
        RTX_DOWNLOAD="0",
        JUPYTER_PATH=str(spec.parent.parent),
        IPYTHONDIR=str(output.parent / "ipython"),
        OMP_NUM_THREADS="1",
    )
    answer = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
    return "" if answer.returncode == 0 else answer.stderr[-3000:]
