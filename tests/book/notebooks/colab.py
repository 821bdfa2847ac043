"""An environment with Colab's packages only, and a notebook run in it as a Colab reader would run it.

Each runtime is a file of pins beside this one. Its packages are installed once into `.venv-colab`, which nothing
changes afterwards. Each run lays a thin environment of its own over it: what the notebook's bootstrap cell installs
lands there and goes with it.

With TORCH_INDEX, an index of CPU builds, torch and Python are Colab's too, if such a Python runs here; else both are
the book's own, since the usual index has nothing but gigabytes.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from filelock import FileLock
from support import data
from support.helpers import ROOT

PINS = {path.stem: path for path in sorted(Path(__file__).parent.glob("colab-*.txt"))}
TORCH = next(line for line in (ROOT / "requirements.txt").read_text().splitlines() if line.startswith("torch=="))
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


def python_of(pins: str) -> str | None:
    """Colab's Python, if one of its version is on the path and runs."""
    version = re.search(r"Python (3\.\d+)", pins)[1]
    path = shutil.which(f"python{version}")
    works = path and subprocess.run([path, "-c", "import ensurepip, venv"], capture_output=True).returncode == 0
    return path if works else None


def base(runtime: str) -> Path:
    """The folder of this runtime in `.venv-colab`, made now unless a finished one of the same content is there."""
    text, index, venv = PINS[runtime].read_text(), os.environ.get("TORCH_INDEX"), ROOT / ".venv-colab" / runtime
    python = python_of(text) if index else None
    if python is None:
        text, python = re.sub(r"torch==.*", TORCH, text), sys.executable
        text = re.sub(r"setuptools==.*\n", "", text)  # a newer torch asks for a newer one
    venv.parent.mkdir(exist_ok=True)
    with FileLock(venv.with_suffix(".lock")):
        stamp = venv / "stamp.txt"
        if not (stamp.exists() and stamp.read_text() == f"{python}\n{text}"):
            subprocess.run([python, "-m", "venv", "--clear", venv], check=True)
            asked, torch = venv / "pins.txt", re.search(r"^torch==.*$", text, flags=re.M)[0]
            asked.write_text(text)
            pip = [interpreter(venv), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
            for step in ([["--index-url", index, torch]] if index else []) + [["-r", asked]]:
                answer = subprocess.run([*pip, *step], env=clean_environment(), capture_output=True, text=True)
                assert answer.returncode == 0, f"pip could not install Colab's packages:\n{answer.stderr[-2000:]}"
            stamp.write_text(f"{python}\n{text}")
    return venv


def thin(venv: Path, folder: Path) -> Path:
    """An environment in `folder` that sees the packages of `venv` and can be written to."""
    subprocess.run([interpreter(venv), "-m", "venv", "--without-pip", folder], check=True)
    (below,) = venv.glob("lib/python*/site-packages")
    (mine,) = folder.glob("lib/python*/site-packages")
    (mine / "below.pth").write_text(f"{below}\n")
    return folder


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
    ours = {"RTX_REPO": str(repository), "RTX_DATA": data.CACHE, "RTX_DOWNLOAD": "0", "OMP_NUM_THREADS": "1"}
    jupyters = {"JUPYTER_PATH": str(spec.parent.parent), "IPYTHONDIR": str(output.parent / "ipython")}
    environment = clean_environment(**ours, **jupyters)
    answer = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
    return "" if answer.returncode == 0 else answer.stderr[-3000:]
