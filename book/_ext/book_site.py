"""What the site needs beyond Jupyter Book: no outside requests, reading times, links that lead somewhere."""

from __future__ import annotations

import pydoc
import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

PLACEHOLDER = "OWNER/REPOSITORY"
CDN = re.compile(r"https://cdn\.jsdelivr\.net/npm/(?:jquery|d3)@[\d.]+/dist/([\w.]+\.js)")
WORDS_PER_MINUTE = 200


def vendor(app: Sphinx) -> Path:
    """Where the staging step puts the browser libraries; absent in a plain `jupyter-book build .`."""
    return Path(app.confdir) / "book" / "assets" / "vendor"


def configure(app: Sphinx, config: Config) -> None:
    """Use the local libraries if they are there, and no button without a repository behind it."""
    if (vendor(app) / "mathjax").is_dir():
        config.mathjax_path = "vendor/mathjax/tex-mml-chtml.js"
    options = config.html_theme_options
    address = options.get("repository_url", "")
    if PLACEHOLDER in address or not address:
        for name in [*options]:
            if name.startswith(("repository", "use_repository", "use_issues", "launch_buttons")):
                del options[name]
    elif match := re.fullmatch(r"https://github\.com/([^/]+)/([^/]+?)/?", address):
        # Link previews need absolute addresses.
        config.ogp_site_url = f"https://{match[1].lower()}.github.io/{match[2]}/"


def other_libraries(app: Sphinx, env: Any, node: nodes.Node, content: nodes.Node) -> nodes.Node | None:
    """Names of other libraries that exist stay plain text: without inventories there is nothing to link to.

    They are looked up, not ignored, so that a slip in such a name is still a warning.
    """
    target = node.get("reftarget", "")
    foreign = node.get("refdomain") == "py" and "." in target and not target.startswith("rtx_lib")
    return content if foreign and pydoc.locate(target) is not None else None


class AsWritten:
    """Keeps napoleon from reading "The first of a: b" in an attribute's docstring as the attribute's type."""

    lines: tuple[str, ...] = ()

    def before(self, app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
        self.lines = tuple(lines)

    def after(self, app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
        if what in ("attribute", "data", "property"):
            lines[:] = self.lines


def reading_time(doctree: nodes.document) -> int:
    """Minutes for the words of the text; code and its outputs are not counted."""

    def is_prose(text: nodes.Text) -> bool:
        parent: nodes.Node | None = text
        while parent is not None:
            if isinstance(parent, (nodes.literal_block, nodes.raw, nodes.comment)):
                return False
            if isinstance(parent, nodes.container) and "cell_output" in parent.get("classes", []):
                return False
            parent = parent.parent
        return True

    words = sum(len(text.split()) for text in doctree.findall(nodes.Text) if is_prose(text))
    return max(1, round(words / WORDS_PER_MINUTE))


def finish_page(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Local addresses for the libraries in attention views, and the reading time under a chapter's title."""
    body = context.get("body") or ""
    if vendor(app).is_dir():
        body = CDN.sub("../" * pagename.count("/") + r"_static/vendor/\1", body)
    if doctree is not None and pagename.startswith("notebooks/"):
        minutes = reading_time(doctree)
        line = f'</h1>\n<p class="reading-time">About {minutes} minute{"s" * (minutes > 1)} to read</p>'
        body = body.replace("</h1>", line, 1)
    context["body"] = body


# In the finished pages: the theme prints a second h1 (for paper), docutils gives the bibliography a list role whose
# items are none, and the arrows in the sidebar that unfold the pages under a page have no name.
REPAIRS = (
    (re.compile(r'(id="jb-print-docs-body"[^>]*>\s*)<h1>(.*?)</h1>', re.S), r'\1<p class="print-title">\2</p>'),
    (re.compile(r'role="doc-biblioentry"'), 'role="listitem"'),
    (re.compile(r'(reference internal"[^>]*>([^<]+)</a><details[^>]*><summary)>'), r'\1 aria-label="Pages under \2">'),
)


def finish_site(app: Sphinx, error: Exception | None) -> None:
    """Repair what a screen reader would stumble over, and put the records beside the pages."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for page in out.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for pattern, replacement in REPAIRS:
            text = pattern.sub(replacement, text)
        page.write_text(text, encoding="utf-8")
    results = Path(app.confdir) / "book" / "results"
    for record in results.rglob("*.json*"):
        target = out / "book" / "results" / record.relative_to(results)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(record, target)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", configure, priority=100)
    docstrings = AsWritten()  # napoleon listens with priority 500
    app.connect("autodoc-process-docstring", docstrings.before, priority=400)
    app.connect("autodoc-process-docstring", docstrings.after, priority=600)
    app.connect("missing-reference", other_libraries)
    app.connect("html-page-context", finish_page, priority=900)
    app.connect("build-finished", finish_site)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
