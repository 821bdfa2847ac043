"""A cache with small files in place of the true ones."""

import hashlib

import pytest

from rtx_lib.tasks.files import FILES, DataFile


@pytest.fixture
def place(monkeypatch, tmp_path):
    """Put files into the cache, as if they were the true ones; how a task must be asked for them."""
    monkeypatch.setenv("RTX_DATA", str(tmp_path))

    def put(files: dict[str, bytes]) -> dict[str, bool]:
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
            monkeypatch.setitem(FILES, name, DataFile(hashlib.sha256(content).hexdigest(), len(content), ()))
        return {"download": False}

    return put
