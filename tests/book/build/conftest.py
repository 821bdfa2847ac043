"""A tiny book in a temporary folder."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.helpers import code_cell

from rtx_book.build import execute


class Tree:
    """Writes and changes the files of a small book under `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("_toc.yml", "format: jb-book\nroot: book/intro\nparts:\n- chapters:\n  - file: notebooks/one\n")
        self.write("requirements.txt", "pytest==0\n")
        self.write("rtx_lib/__init__.py", "NUMBER = 1\n")
        self.write("book/results/run-s0.json", '{"value": 1}')
        self.write("data/file.txt", "data")
        self.notebook("one", "import rtx_lib; print(profile, rtx_lib.NUMBER)")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def notebook(self, name: str, *sources: str) -> Path:
        cells = [code_cell("profile = 'book'\nseed: int = 0", "parameters"), *map(code_cell, sources)]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        content = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}
        return self.write(f"notebooks/{name}.ipynb", json.dumps(content))

    def runner(self, **changes: Any) -> execute.Runner:
        options: dict[str, Any] = {"parameters": {"profile": "smoke"}, "data": [self.root / "data/file.txt"]}
        options |= {"timeout": 600, "say": lambda line: None} | changes
        return execute.Runner(self.root, self.root / "executed", self.root / "failed", **options)

    def executed(self, name: str = "one") -> str:
        return (self.root / "executed" / f"{name}.ipynb").read_text()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)
