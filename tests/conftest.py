"""What all tests share: one thread, real data, one order for any number of workers, and no green run of nothing."""

import os
import random
import uuid
from pathlib import Path

import pytest
import torch
from support import data, needs
from support.workers import EXECUTED, LOOKS, ByFile, part

# With RTX_REQUIRE_ALL=1 a run is red unless nothing was left out, a test of each of these kinds passed, and every file
# of tests was read.
REQUIRED = {
    EXECUTED: "no notebook was executed",
    "tests/book/pages/test_browser.py::test_page[": "no page was opened in a browser",
}
SLOW = {"browser", "firefox", "site"}  # fixtures
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Put the tests in order; whatever waits for a browser or for the built site is slow."""
    for item in items:
        if SLOW & set(item.fixturenames):
            item.add_marker("slow")
    items.sort(key=lambda item: part(item.nodeid))
    data.leave_out(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """A test sees the data files that it names, and no other."""
    data.show(item)


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
    """Turn a run red that left out what is required of it."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not WORKER and session.exitstatus == 0 and reporter and missing(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    """Say how long each notebook took, and what was left out for want of something."""
    if EXECUTED in passed and not WORKER:
        from support import built

        terminalreporter.section("CPU seconds of the notebooks in smoke")
        for name, took in sorted(built.execution().took.items()):
            long = "  over the 25 s of a chapter" if took["cpu"] > 25 else ""
            terminalreporter.write_line(f"{took['cpu']:6.1f}  {name}{long}")
    for reason in missing(terminalreporter):
        terminalreporter.write_line(f"ERROR: {reason}, so this run proves nothing about that")
    terminalreporter.write_line(needs.line(left_out(terminalreporter)))


def left_out(reporter):
    """How many tests each thing was wanting to."""
    return needs.left_out(str(report.longrepr) for report in reporter.stats.get("skipped", ()))


def missing(reporter):
    """What must have been done, and was not."""
    if not needs.required():
        return []
    here = Path(__file__).parent
    weekly = "pytestmark = pytest.mark.weekly"
    found = [path for path in here.rglob("test_*.py") if weekly not in path.read_text(encoding="utf-8")]
    files = {path.relative_to(here.parent).as_posix() for path in found}
    unread = [f"no test of {name} was collected" for name in sorted(files - read)]
    whole = [reason for start, reason in REQUIRED.items() if start not in passed] + unread
    wanting = [f"{what} was wanting" for what in left_out(reporter) if what not in needs.NEVER_REQUIRED]
    return wanting + (whole if reporter.config.option.markexpr == "not weekly" else [])


@pytest.fixture(autouse=True)
def same_numbers():
    """No test depends on what ran before it."""
    torch.manual_seed(0)
    random.seed(0)


@pytest.fixture
def double():
    """Run a test in float64."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="session")
def browser():
    """Chromium, one for all tests of a worker: playwright allows no second."""
    from pages import page_checks
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=page_checks.PATIENCE)
    with sync_playwright() as playwright:
        browser = page_checks.launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def firefox(tmp_path_factory):
    """Firefox, one for all tests of a worker."""
    from support import browser, firefox

    path = browser.find("firefox") or needs.lack("Firefox")
    with firefox.launch(path, tmp_path_factory.mktemp("firefox")) as running:
        yield running
