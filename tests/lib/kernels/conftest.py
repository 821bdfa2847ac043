"""What the tests of the kernels share."""

import sys

import pytest

from rtx_lib.kernels import backends


@pytest.fixture
def without(monkeypatch):
    """A function that makes a package impossible to import."""

    def remove(package):
        monkeypatch.setitem(sys.modules, package, None)
        backends.problem.cache_clear()

    yield remove
    monkeypatch.undo()
    backends.problem.cache_clear()
