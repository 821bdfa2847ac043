"""A cache with small files in place of the true ones."""

import hashlib

import pytest

from rtx_lib.tasks.files import FILES, DataFile


@pytest.fixture
def place(monkeypatch, tmp_path):
    """Put files into a folder, as if they were the true ones; where a task finds them."""

    def put(files: dict[str, bytes]):
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
            monkeypatch.setitem(FILES, name, DataFile(hashlib.sha256(content).hexdigest(), len(content), ()))
        return {"root": tmp_path, "download": False}

    return put
