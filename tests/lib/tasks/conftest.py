"""A cache with small files in place of the true ones."""

import hashlib

import pytest

from rtx_lib.tasks import digits
from rtx_lib.tasks.files import FILES, DataFile


@pytest.fixture
def place(monkeypatch, tmp_path):
    """Put files into the cache, as if they were the true ones, and make the task that reads them."""
    monkeypatch.setenv("RTX_DATA", str(tmp_path))
    monkeypatch.setenv("RTX_DOWNLOAD", "0")
    monkeypatch.setattr(digits, "MNIST_VALID", 20)
    monkeypatch.setitem(digits.MNIST.__init__.__kwdefaults__, "valid", 20)

    def put(files, task, *arguments, **settings):
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
            monkeypatch.setitem(FILES, name, DataFile(hashlib.sha256(content).hexdigest(), len(content), ()))
        return task(*arguments, **settings)

    return put
