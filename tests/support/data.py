"""A test sees the data files of the tasks and recipes that it names, and no other: without a name the cache is empty.

So whatever reads a file and does not say so fails on every machine, not only on one that lacks the file.
"""

import functools
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from support import needs

from rtx_lib.tasks.files import available, cache_folder, files_of, names_of

# The machine's own cache; workers inherit the name. The book is built with it, on whatever data is there.
CACHE = os.environ.setdefault("RTX_TEST_CACHE", str(cache_folder()))


def reads(task: Callable[..., Any], *arguments: Any, **settings: Any) -> pytest.MarkDecorator:
    """The mark of a test, or of a parameter, that makes ``task(*arguments, **settings)``."""
    return pytest.mark.data(*files_of(task, *arguments, **settings))


def needed(item: pytest.Item) -> frozenset[str]:
    """The files that a test has named."""
    return frozenset(name for mark in item.iter_markers("data") if mark.args for name in names_of(*mark.args))


def leave_out(items: Iterable[pytest.Item]) -> None:
    """Skip the tests of files that the machine's cache lacks."""
    os.environ["RTX_DATA"] = CACHE
    there = functools.cache(available)
    for item in items:
        if not all(map(there, needed(item))):
            item.add_marker(pytest.mark.skip(reason=needs.reason("data files")))
    os.environ["RTX_DATA"] = NOTHING


def show(item: pytest.Item) -> None:
    """Make the cache one that holds the files that a test has named, and no other."""
    os.environ["RTX_DATA"] = _holding(needed(item)).name


@functools.cache
def _holding(names: frozenset[str]) -> tempfile.TemporaryDirectory[str]:
    folder = tempfile.TemporaryDirectory(prefix="rtx-data-")
    for name in names:
        path = Path(folder.name, name)
        path.parent.mkdir(exist_ok=True)
        path.symlink_to(Path(CACHE, name).absolute())
    return folder


NOTHING = os.environ["RTX_DATA"] = _holding(frozenset()).name  # the files of tests see nothing while they are read
