"""The notebooks, executed once for all tests of a run, and how long each took."""

import built
import pytest


@pytest.fixture(scope="session")
def execution():
    """All notebooks of the toc, executed afresh in `smoke` by the code behind `make book`."""
    return built.execution()


def pytest_terminal_summary(terminalreporter):
    """Seconds of every notebook that this run executed."""
    if built.execution.cache_info().currsize:
        seconds = built.execution().seconds
        terminalreporter.section("seconds of the notebooks in smoke")
        for name in sorted(seconds):
            slow = "  over the 25 s of a chapter" if seconds[name] > 25 else ""
            terminalreporter.write_line(f"{seconds[name]:6.1f}  {name}{slow}")
