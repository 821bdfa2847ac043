"""What all tests share: one thread, real data, one order for any number of workers, and no green run of nothing."""

import os
import uuid
from pathlib import Path

import pytest
import torch
from support.workers import EXECUTED, LOOKS, ByFile, part

# With RTX_REQUIRE_ALL=1 a run is red unless a test of each of these kinds passed, and every file of tests was read.
REQUIRED = {
    EXECUTED: "no notebook was executed",
    "tests/site/test_browser.py::test_page[": "no page was opened in a browser",
    "tests/site/test_firefox.py::": "no page was opened in Firefox",
}
WORKER = "PYTEST_XDIST_WORKER" in os.environ
passed: set[str] = set()
read: set[str] = set()

torch.set_num_threads(1)
os.environ["RTX_DOWNLOAD"] = "0"  # no test asks a network for data


def pytest_configure():
    """Give the run a name, by which its workers know what one of them has built for all."""
    if not WORKER:
        os.environ["RTX_TEST_RUN"] = uuid.uuid4().hex


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    config.option.loadscopereorder = False  # the order is the tests' own
    return ByFile(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Put the tests in order, and leave out those of data that the cache lacks, unless RTX_REQUIRE_DATA=1."""
    items.sort(key=lambda item: part(item.nodeid))
    if os.environ.get("RTX_REQUIRE_DATA") == "1":  # then they run and fail
        return
    from rtx_lib.tasks import available

    for item in items:
        marker = item.get_closest_marker("data")
        if marker and not available(*marker.args):
            reason = f"the cache lacks {' and '.join(marker.args)}: set RTX_DATA"
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish(session):
    if not WORKER and not session.config.option.collectonly:
        take_turn(item.nodeid for item in session.items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node, ids):
    take_turn(ids)


def take_turn(names):
    """Runs that look at the book take turns; the process that waits lives longer than its workers."""
    if any(name.startswith(LOOKS) for name in names):
        from support import built

        built.take_turn()


def pytest_runtest_logreport(report):
    """Remember which kinds of tests passed; the process in charge hears of those of all workers."""
    read.add(report.nodeid.split("::")[0])
    if report.when == "call" and report.passed:
        passed.update(start for start in REQUIRED if report.nodeid.startswith(start))


def pytest_sessionfinish(session):
    """Turn a run without a notebook or a browser red where all are required."""
    if not WORKER and missing() and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Say why, and how long each notebook took."""
    for reason in missing():
        terminalreporter.write_line(f"ERROR: {reason}, so this run proves nothing about that")
    if EXECUTED in passed and not WORKER:
        from support import built

        terminalreporter.section("CPU seconds of the notebooks in smoke")
        for name, took in sorted(built.execution().took.items()):
            long = "  over the 25 s of a chapter" if took["cpu"] > 25 else ""
            terminalreporter.write_line(f"{took['cpu']:6.1f}  {name}{long}")


def missing():
    """What must have been done, and was not."""
    if os.environ.get("RTX_REQUIRE_ALL") != "1":
        return []
    here = Path(__file__).parent
    files = {path.relative_to(here.parent).as_posix() for path in here.rglob("test_*.py")}
    unread = [f"no test of {name} was collected" for name in sorted(files - read)]
    return [reason for start, reason in REQUIRED.items() if start not in passed] + unread


@pytest.fixture
def double():
    """Run a test in float64."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="session")
def browser():
    """Chromium, one for all tests of a worker: playwright allows no second."""
    import page_checks
    from playwright.sync_api import expect, sync_playwright

    page_checks.chromium_path()
    expect.set_options(timeout=page_checks.PATIENCE)
    with sync_playwright() as playwright:
        browser = page_checks.launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def firefox(tmp_path_factory):
    """Firefox, one for all tests of a worker; skipped where there is none, unless RTX_REQUIRE_ALL=1."""
    from support import firefox

    if firefox.path() is None:
        stop = pytest.fail if os.environ.get("RTX_REQUIRE_ALL") == "1" else pytest.skip
        stop(firefox.MISSING)
    with firefox.launch(tmp_path_factory.mktemp("firefox")) as browser:
        yield browser
