"""What all tests share: one thread, real data, and a run that cannot be green by having run nothing."""

import os

import pytest
import torch

# With RTX_REQUIRE_ALL=1 a run is red unless a test of each of these folders passed.
REQUIRED = ("tests/notebooks/", "tests/site/")
passed: set[str] = set()

torch.set_num_threads(1)


def pytest_collection_modifyitems(items):
    """Leave out tests of data that the cache lacks, unless RTX_REQUIRE_DATA=1: then they run and fail."""
    if os.environ.get("RTX_REQUIRE_DATA") == "1":
        return
    from rtx_lib.tasks import available

    for item in items:
        marker = item.get_closest_marker("data")
        if marker and not available(*marker.args):
            reason = f"the cache lacks {' and '.join(marker.args)}: set RTX_DATA"
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_runtest_logreport(report):
    """Remember which folders had a test that passed."""
    if report.when == "call" and report.passed:
        passed.update(folder for folder in REQUIRED if report.nodeid.startswith(folder))


def pytest_sessionfinish(session):
    """Turn a run without notebook or browser tests red where all are required."""
    if missing() and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Say why."""
    for folder in missing():
        terminalreporter.write_line(f"ERROR: no test passed in {folder}, so this run proves nothing about it")


def missing():
    """The required folders in which nothing passed."""
    required = REQUIRED if os.environ.get("RTX_REQUIRE_ALL") == "1" else ()
    return [folder for folder in required if folder not in passed]


@pytest.fixture
def double():
    """Run a test in float64."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)
