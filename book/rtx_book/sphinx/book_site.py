"""What the site needs beyond Jupyter Book: no outside requests, light pages, links that lead somewhere."""

import pydoc
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from rtx_book.race import race_csv
from rtx_book.records import records
from rtx_book.runs.recipes import race as plan

PLACEHOLDER = "OWNER/REPOSITORY"
CDN = re.compile(r"https://cdn\.jsdelivr\.net/npm/(?:jquery|d3)@[\d.]+/dist/([\w.]+\.js)")


def vendor(app: Sphinx) -> Path:
    """Where the staging step puts the browser libraries; absent in a plain `jupyter-book build .`."""
    return Path(app.confdir) / "book" / "assets" / "vendor"


def configure(app: Sphinx, config: Config) -> None:
    """No button without a repository behind it, no preview without an address."""
    options = config.html_theme_options
    address = options.get("repository_url", "")
    if PLACEHOLDER in address or not address:
        for name in [*options]:
            if name.startswith(("repository", "use_repository", "use_issues", "launch_buttons")):
                del options[name]
    elif match := re.fullmatch(r"https://github\.com/([^/]+)/([^/]+?)/?", address):
        config.html_baseurl = config.html_baseurl or f"https://{match[1].lower()}.github.io/{match[2]}/"
    config.ogp_site_url = config.html_baseurl
    if not config.html_baseurl:
        config.ogp_image, config.ogp_custom_meta_tags = None, []  # these need absolute addresses, as does search


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


def finish_page(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Local addresses for the libraries in attention views, and the reading time under a chapter's title."""
    body = context.get("body") or ""
    if vendor(app).is_dir():
        body = CDN.sub("../" * pagename.count("/") + r"_static/vendor/\1", body)
    if time := app.config.reading.get(pagename):
        body = body.replace("</h1>", f'</h1>\n<p class="reading-time">{time}</p>', 1)
    context["body"] = body


# In the finished pages: the theme prints a second h1 (for paper), docutils gives the bibliography a list role whose
# items are none, and the arrows in the sidebar that unfold the pages under a page have no name. The theme draws its
# icons twice, by a font and by 1.5 MB of script that puts pictures in their place: the font does. Without the site's
# address a link preview says none. What a notebook shows names records and files, since links of the site would lead
# nowhere in Jupyter or Colab: they are made here.
REPAIRS = (
    (re.compile(r'(id="jb-print-docs-body"[^>]*>\s*)<h1>(.*?)</h1>', re.S), r'\1<p class="print-title">\2</p>'),
    (re.compile(r'role="doc-biblioentry"'), 'role="listitem"'),
    (re.compile(r'(reference internal"[^>]*>([^<]+)</a><details[^>]*><summary)>'), r'\1 aria-label="Pages under \2">'),
    (re.compile(r"<title>(.*?) &#8212; \1</title>"), r"<title>\1</title>"),
    (re.compile(r'<meta property="og:url" content="(?!https?:)[^>]*>\n?'), ""),
    (re.compile(r"<script[^>]*/fontawesome\.js[^>]*></script>\n?"), ""),
    (re.compile(r'<link rel="preload"[^>]*/fontawesome\.js[^>]*/?>\n?'), ""),
    (re.compile(r'<span data-recipe="([^"]+)">(.*?)</span>'), r'<a href="../book/records.html#recipe-\1">\2</a>'),
    (re.compile(r'<span data-file="([^"]+)">(.*?)</span>'), r'<a href="../book/results/\1" download="\1">\2</a>'),
)
# The theme loads Sphinx's search on every page. It goes where previews.py has its own.
SEARCH = re.compile(r'[ \t]*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js"></script>\n?')
# What no page asks for: maps for debuggers and the theme's translations.
IDLE = ("*.map", "locales/**/*", "scripts/fontawesome.js*")


def repaired(text: str, searched: bool = True) -> str:
    """A finished page without the faults above, and without Sphinx's search where it is ``searched`` by ours."""
    for pattern, replacement in REPAIRS:
        text = pattern.sub(replacement, text)
    return SEARCH.sub("", text) if searched else text


def sitemap(address: str, pages: Iterable[str]) -> str:
    """The list of pages for search engines."""
    rows = "".join(f"<url><loc>{escape(address + page)}</loc></url>\n" for page in sorted(pages))
    head = '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    return f"{head}{rows}</urlset>\n"


def put_csv(results: Path, target: Path) -> None:
    """Write all runs of the race into one file, which the race's chapter offers; none where there are no runs."""
    found, chosen = records.load(results, plain=False), records.chosen(results)
    if rows := race_csv.race_rows(found, plan.LANES, plan.FINISH, records.load_costs(), chosen):
        target.write_text(race_csv.write_csv(rows), encoding="utf-8")


def finish_site(app: Sphinx, error: Exception | None) -> None:
    """Repair what a screen reader would stumble over, leave out what is idle, put the records beside the pages."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    searched = (vendor(app) / "minisearch.js").is_file()
    for page in out.rglob("*.html"):
        page.write_text(repaired(page.read_text(encoding="utf-8"), searched), encoding="utf-8")
    for path in {path for pattern in IDLE for path in (out / "_static").rglob(pattern) if path.is_file()}:
        path.unlink()
    if app.config.html_baseurl:
        text = sitemap(app.config.html_baseurl, (f"{page}.html" for page in app.env.found_docs))
        (out / "sitemap.xml").write_text(text, encoding="utf-8")
    results = Path(app.confdir) / "book" / "results"
    for record in results.rglob("*.json*"):
        target = out / "book" / "results" / record.relative_to(results)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(record, target)
    put_csv(results, out / "book" / "results" / "race.csv")


def setup(app: Sphinx) -> None:
    app.connect("config-inited", configure, priority=100)
    docstrings = AsWritten()  # napoleon listens with priority 500
    app.connect("autodoc-process-docstring", docstrings.before, priority=400)
    app.connect("autodoc-process-docstring", docstrings.after, priority=600)
    app.connect("missing-reference", other_libraries)
    app.connect("html-page-context", finish_page, priority=900)
    app.connect("build-finished", finish_site)
