"""Jupyter Book over a staged tree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from rtx_book.build.execute import BuildError


def check_jupyter_book(version: str) -> None:
    """Refuse Jupyter Book 2, which is another program under the same name."""
    if int(version.split(".")[0]) != 1:
        cure = "pip install 'jupyter-book>=1.0.4.post1,<2'"
        raise BuildError(f"This environment has jupyter-book {version}; the book needs 1.x: {cure}")


def run_sphinx(root: Path, staged: Path, log: Path) -> Path:
    """Build the staged tree with warnings as errors; the folder of the pages."""
    shutil.rmtree(staged / "_build", ignore_errors=True)  # a fresh build: Sphinx does not see every change
    start = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
    path = os.pathsep.join([str(root), str(root / "book"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    with log.open("w") as file:
        command = [sys.executable, "-c", start, "build", "-W", "-n", "--keep-going", str(staged)]
        done = subprocess.run(command, cwd=root, env=environment, stdout=file, stderr=subprocess.STDOUT)
    text = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text())
    if done.returncode:
        found = [line for line in text.splitlines() if re.search(r"WARNING|ERROR|CRITICAL|Error:|Exception", line)]
        lines = (found or text.splitlines()[-20:])[:40]
        shown = "\n".join("  " + line.replace(f"{staged}/", "")[:300] for line in lines)
        raise BuildError(f"jupyter-book found faults (all of its output: {log}):\n{shown}")
    return staged / "_build" / "html"
