"""What a link to a page shows: the texts of book/descriptions.yml, in place of the page's first words.

A search in pages opened from a file shows them, too. And what the search finds: the terms of the glossary lead to the
chapter that their entry names first.
"""

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

GLOSSARY = "book/glossary"


def read(app: Sphinx) -> None:
    """Read the descriptions and the reading times."""
    for name in ("descriptions", "reading"):
        path = Path(app.confdir) / "book" / f"{name}.yml"
        app.config[name] = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}


def describe(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Hand the page's text to the extension that writes the tags; where there is none, it takes the first words."""
    if pagename == "search":
        app.add_js_file("descriptions.js")
    text = app.config.descriptions.get(pagename)
    if text and doctree is not None:
        context["meta"] = {**(context.get("meta") or {}), "og:description": text}
        tag = f'<meta name="description" content="{html.escape(text)}" />\n'
        context["metatags"] = context.get("metatags", "") + tag


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the script with all texts, for the search page."""
    if not error and app.builder.format == "html":
        script = f"window.DESCRIPTIONS = {json.dumps(app.config.descriptions, ensure_ascii=False)};\n"
        Path(app.outdir, "_static", "descriptions.js").write_text(script, encoding="utf-8")


def terms(doctree: nodes.document) -> Iterator[tuple[str, str]]:
    """Each term of the glossary with the document that its entry names first."""
    for section in doctree.findall(nodes.section):
        links = [link["reftarget"] for link in section.findall(addnodes.pending_xref) if link["reftype"] == "doc"]
        if links and not section.next_node(nodes.section):
            yield section.next_node(nodes.title).astext(), links[0].removeprefix("/")


def index(app: Sphinx, doctree: nodes.document) -> None:
    """Remember where the terms of the glossary lead."""
    if app.env.docname == GLOSSARY:
        app.env.glossary_terms = list(terms(doctree))  # type: ignore[attr-defined]


def lead(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Give the search index an entry for each term: the chapter to begin with."""
    own = [term for term, target in getattr(app.env, "glossary_terms", ()) if target == docname]
    if own and docname.startswith("notebooks/"):
        doctree.insert(0, addnodes.index(entries=[("single", term, "", "main", None) for term in own]))


def setup(app: Sphinx) -> None:
    for name in ("descriptions", "reading"):
        app.add_config_value(name, {}, "html", types=(dict,))
    app.connect("builder-inited", read)
    app.connect("doctree-read", index)
    app.connect("doctree-resolved", lead)
    app.connect("html-page-context", describe, priority=400)  # sphinxext.opengraph listens with 500
    app.connect("build-finished", write)
