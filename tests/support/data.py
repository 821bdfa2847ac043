"""Which tests need data files."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from support import needs


def leave_out(items: Iterable[pytest.Item]) -> None:
    """Skip the tests whose files the cache lacks."""
    from rtx_lib.tasks import available

    for item in items:
        marker = item.get_closest_marker("data")
        if marker and not available(*marker.args):
            item.add_marker(pytest.mark.skip(reason=needs.reason("data files")))
