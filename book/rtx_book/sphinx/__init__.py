"""The book's own Sphinx extension."""

from typing import Any

from sphinx.application import Sphinx

from rtx_book.sphinx import book_site, chapters, citing, further, generated, live_figure, looks, previews


def setup(app: Sphinx) -> dict[str, Any]:
    for part in (book_site, citing, chapters, further, generated, live_figure, looks, previews):
        part.setup(app)
    return {"version": "3", "parallel_read_safe": True, "parallel_write_safe": True}
