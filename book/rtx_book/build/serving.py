"""The built site on this machine, as GitHub Pages would serve it."""

from __future__ import annotations

import functools
import http.server
import sys
from pathlib import Path


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site with its own page for missing addresses, as GitHub Pages does."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        page = Path(self.directory) / "404.html"
        if code != 404 or not page.is_file():
            return super().send_error(code, message, explain)
        body = page.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        return None


def serve(site: Path, port: int) -> None:
    """Show the site on this machine until Ctrl-C."""
    if not site.is_dir():
        sys.exit("There is no site yet: make book")
    handler = functools.partial(Handler, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends)", flush=True)
        server.serve_forever()


if __name__ == "__main__":  # with any Python
    serve(Path(__file__).resolve().parents[3] / "_build" / "site", 8000)
