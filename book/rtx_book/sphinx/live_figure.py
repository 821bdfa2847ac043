"""Live figures on the site: the directive ``live`` for prose pages, and the scripts that all of them load.

The scripts come from the library, one file each below ``_static/live``. Only a page that has a live figure loads
``live-loader.js``, and that loads nothing before the reader comes near the figure.

    ```{live} train
    :title: The line above the figure, as HTML: its finding.
    :options: {"cell": "gru"}

    The caption, as Markdown.
    ```
"""

import functools
import json
import shutil
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from rtx_book.page import live
from rtx_book.page.figure import as_json, boxed, svg_tree
from rtx_book.page.live.packing import pack
from rtx_book.page.live_rope import LANES, describe_rope, draw_rope
from rtx_book.page.live_runs import describe_live_runs, draw_live_runs, ghosts, own_text
from rtx_book.records.records import load
from rtx_book.runs import told
from rtx_lib.plots import style

RECORDS = {"train": "results/live/trainer.json", "rope": "results/live/rope.npz", "own": "own/text.out"}
"""Of each kind that a page may have, the file in the folder `book` that its still picture, or its models, come from."""


def _train(path: Path) -> tuple[Any, str, dict[str, Any]]:
    record = json.loads(path.read_text(encoding="utf-8"))
    return draw_live_runs(record), describe_live_runs(record), {"ghosts": ghosts(record)}


def _rope(path: Path) -> tuple[Any, str, dict[str, Any]]:
    records = load(path.parents[1])
    return draw_rope(records), describe_rope(records), {"lanes": LANES}


@functools.cache
def _packed(path: Path) -> dict[str, tuple[str, str]]:
    """By name of the rope's models the hash of its weights, and their script."""
    return {name: pack(name, own, "int8") for name, own in told.ropes().items()} if path.exists() else {}


class LiveFigure(SphinxDirective):
    """Before the scripts run a picture of recorded runs stands there."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"title": directives.unchanged_required, "options": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        kind = self.arguments[0]
        if kind not in RECORDS:
            raise self.error(f"live: the kind must be one of {list(RECORDS)}, got {kind!r}")
        try:
            options = json.loads(self.options.get("options", "{}"))
        except ValueError as error:
            raise self.error(f"live: the options must be JSON: {error}") from error
        path = Path(self.env.srcdir, "book", RECORDS[kind])
        self.env.note_dependency(str(path))
        with style():
            picture, words, data = {"train": _train, "rope": _rope, "own": own_text}[kind](path)
            still = boxed(svg_tree(picture), words)
        hashes = {name: digest for name, (digest, _) in _packed(path).items()} if kind == "rope" else {}
        whole = live.figure(kind, still, as_json(options | data), hashes, self.options.get("title"), "|")
        head, _, tail = whole.partition("|</figcaption>")
        opening, closing = (nodes.raw("", text, format="html") for text in (head, f"</figcaption>{tail}"))
        return [opening, *self.parse_content_to_nodes(), closing]


def load_near(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Give a page with live figures the script that waits for the reader."""
    if live.FIGURE in (context.get("body") or ""):
        app.add_js_file("live-loader.js")


def copy_scripts(app: Sphinx, error: Exception | None) -> None:
    """Put scripts and style sheets of the library below ``_static/live``, and the weights of prose pages."""
    if error or app.builder.format != "html":
        return
    code = shutil.ignore_patterns("*.py", "*.json", "__pycache__")
    target = shutil.copytree(live.folder(), Path(app.outdir, "_static", "live"), ignore=code, dirs_exist_ok=True)
    for digest, text in _packed(Path(app.srcdir, "book", RECORDS["rope"])).values():
        (target / f"weights-{digest}.js").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_directive("live", LiveFigure)
    app.connect("html-page-context", load_near)
    app.connect("build-finished", copy_scripts)
