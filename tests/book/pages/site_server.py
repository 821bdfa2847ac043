"""A host for a folder of pages that behaves as GitHub Pages does: the book one folder down, a page for 404."""

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rtx_book.build import serving

PREFIX = "/book/"


class Handler(serving.Handler):
    """The handler of `make serve`, with the book below `PREFIX`."""

    protocol_version = "HTTP/1.1"

    def translate_path(self, path: str) -> str:
        inside = "/" + path.removeprefix(PREFIX) if path.startswith(PREFIX) else "/no such file"
        return super().translate_path(inside)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
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
