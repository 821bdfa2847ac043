"""The built site and the browser, each made once for all tests of a run."""

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import page_checks
from pages.html_checks import Pages
from support import built, views

from rtx_book.build import serving

PREFIX = "/book/"


class Handler(serving.Handler):
    """The handler of `make serve`, as GitHub Pages serve: the book one folder down, a page for 404."""

    protocol_version = "HTTP/1.1"

    def translate_path(self, path: str) -> str:
        inside = "/" + path.removeprefix(PREFIX) if path.startswith(PREFIX) else "/no such file"
        return super().translate_path(inside)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve the folder on this machine; the address of its top, with a slash at the end."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder))) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="session")
def site():
    """The site, built with warnings as errors from the notebooks executed in this run."""
    execution = built.execution()
    assert execution.returncode == 0, execution.text
    result = built.site()
    assert result.returncode == 0, result.text
    return result


@pytest.fixture(scope="session")
def pages(site):
    return Pages(site.folder)


@pytest.fixture(scope="session")
def contexts(browser):
    """One context for each way of reading: light, dark, and on a phone."""
    settings = {
        "light": {"viewport": page_checks.DESKTOP, "color_scheme": "light"},
        "dark": {"viewport": page_checks.DESKTOP, "color_scheme": "dark"},
        "phone": {"viewport": page_checks.PHONE, "color_scheme": "light", "has_touch": True, "is_mobile": True},
    }
    made = {name: browser.new_context(**options) for name, options in settings.items()}
    yield made
    for context in made.values():
        context.close()


@pytest.fixture(scope="session")
def axe_script(site):
    """axe-core, which npm installs for the tests when the site is built."""
    assert built.AXE.is_file(), f"axe-core is missing: npm installs it from book/package.json\n{site.text}"
    return built.AXE


@pytest.fixture(scope="session")
def address(site):
    """Where the site is served."""
    with serve(site.folder) as top:
        yield top


@pytest.fixture(scope="session")
def views_address(address):
    """The address of the page of the tests."""
    return f"{address}{views.PAGE}.html"


@pytest.fixture
def opened(contexts):
    """Open addresses in the browser; by the end of the test nothing may have gone wrong on these pages."""
    with contextlib.ExitStack() as stack:
        visits = []

        def open_page(address, look="light"):
            visits.append(stack.enter_context(page_checks.visit(contexts[look], address)))
            return visits[-1].page

        yield open_page
        assert not [fault for one in visits for fault in one.faults]


@pytest.fixture
def planted(tmp_path):
    """Serve small pages made by a test: a function from a body (and a head) to an address."""
    with serve(tmp_path) as top:

        def write(body, head=""):
            name = f"page{len(list(tmp_path.iterdir()))}.html"  # a new address each time: the browser keeps pages
            head = f'<title>Page</title><link rel="icon" href="data:,">{head}'
            html = f'<html lang="en"><head>{head}</head><body>{body}</body></html>'
            (tmp_path / name).write_text(f"<!doctype html>{html}")
            return top + name

        yield write
