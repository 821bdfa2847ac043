"""What all tests share: one thread, real data, and a run that cannot be green by having run nothing."""

import os

import pytest
import torch

# With RTX_REQUIRE_ALL=1 a run is red unless a test of each of these folders passed.
REQUIRED = ("tests/notebooks/", "tests/site/")
passed: set[str] = set()

torch.set_num_threads(1)


def pytest_collection_modifyitems(items):
    """Leave out tests of real data where there is none, unless RTX_REQUIRE_DATA=1: then they run and fail."""
    from rtx_lib.tasks.download import available

    if os.environ.get("RTX_REQUIRE_DATA") == "1" or available("mnist"):
        return
    reason = "the MNIST files are not in the cache: set RTX_DATA"
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_runtest_logreport(report):
    """Remember which folders had a test that passed."""
    if report.when == "call" and report.passed:
        passed.update(folder for folder in REQUIRED if report.nodeid.startswith(folder))


def pytest_sessionfinish(session):
    """Turn a run without notebook or browser tests red where all are required."""
    missing = [folder for folder in REQUIRED if folder not in passed]
    if os.environ.get("RTX_REQUIRE_ALL") == "1" and missing and session.exitstatus == 0:
        print(f"\nno test passed in {', '.join(missing)}: this run proves nothing about them")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def double():
    """Run a test in float64."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)
