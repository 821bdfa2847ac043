"""What live figures (book/rtx_book/page/live) need on the site.

In a notebook an output carries every script and all weights of its figure. A page carries the figure alone: weights go
to `_static/live/weights-HASH.js`, each once, and the scripts, which are the same for all, come from the library
(book/rtx_book/sphinx/live_figure.py).
"""

from typing import Any

from rtx_book.page.live import FIGURE, for_site

FOLDER = "book/assets/live"


def take_out(page: dict[str, Any]) -> dict[str, bytes]:
    """Leave the figures of a notebook without scripts, styles and weights; the weights by the paths of their files."""
    found: dict[str, bytes] = {}
    for cell in page["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            text = "".join(data.get("text/html", ""))
            if FIGURE in text:
                data["text/html"], weights = for_site(text)
                found |= {f"{FOLDER}/{name}": script.encode() for name, script in weights.items()}
    return found
