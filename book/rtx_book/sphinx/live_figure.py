"""Live figures on the site: the directive ``live`` for prose pages, and the scripts that all of them load.

The scripts come from the library, one file each below ``_static/live``. Only a page that has a live figure loads
``live-loader.js``, and that loads nothing before the reader comes near the figure.

    ```{live} train
    :title: The line above the figure, as HTML: its finding.
    :options: {"cell": "gru"}

    The caption, as Markdown.
    ```
"""

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
from rtx_book.page.live_runs import describe_live_runs, draw_live_runs, ghosts
from rtx_lib.plots import style

RECORD = "book/results/live/trainer.json"


class LiveFigure(SphinxDirective):
    """Before the scripts run the trainer's recorded runs stand there: of the other kinds no page has a figure."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"title": directives.unchanged_required, "options": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        kind = self.arguments[0]
        if kind != "train":
            raise self.error(f"live: the kind must be 'train', got {kind!r}")
        try:
            options = json.loads(self.options.get("options", "{}"))
        except ValueError as error:
            raise self.error(f"live: the options must be JSON: {error}") from error
        path = Path(self.env.srcdir, RECORD)
        self.env.note_dependency(str(path))
        record = json.loads(path.read_text(encoding="utf-8"))
        with style():
            still = boxed(svg_tree(draw_live_runs(record)), describe_live_runs(record))
        told = as_json(options | {"ghosts": ghosts(record)})
        whole = live.figure(kind, still, told, {}, self.options.get("title"), "|")
        head, _, tail = whole.partition("|</figcaption>")
        opening, closing = (nodes.raw("", text, format="html") for text in (head, f"</figcaption>{tail}"))
        return [opening, *self.parse_content_to_nodes(), closing]


def load_near(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Give a page with live figures the script that waits for the reader."""
    if live.FIGURE in (context.get("body") or ""):
        app.add_js_file("live-loader.js")


def copy_scripts(app: Sphinx, error: Exception | None) -> None:
    """Put scripts and style sheets of the library below ``_static/live``."""
    if error or app.builder.format != "html":
        return
    code = shutil.ignore_patterns("*.py", "*.json", "__pycache__")
    shutil.copytree(live.folder(), Path(app.outdir, "_static", "live"), ignore=code, dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    app.add_directive("live", LiveFigure)
    app.connect("html-page-context", load_near)
    app.connect("build-finished", copy_scripts)
