"""The notebooks, executed once for all tests of a run."""

import pytest
from support import built


@pytest.fixture(scope="session")
def execution():
    """All notebooks of the toc, executed afresh in `smoke` by the code behind `make book`."""
    return built.execution()
