"""A host for a folder of pages that behaves as GitHub Pages does: the book one folder down, a page for 404."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "/book/"


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves `folder` below `PREFIX`, and `404.html` for everything else."""

    protocol_version = "HTTP/1.1"
    folder: Path

    def translate_path(self, path: str) -> str:
        if not path.startswith(PREFIX):
            return str(self.folder / "no such file")
        return super().translate_path("/" + path.removeprefix(PREFIX))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        page = self.folder / "404.html"
        body = page.read_bytes() if code == 404 and page.is_file() else b"not here"
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve the folder on this machine; the address of its top, with a slash at the end."""
    handler = type("FolderHandler", (Handler,), {"folder": folder})
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *arguments: handler(*arguments, directory=str(folder))
    )
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
