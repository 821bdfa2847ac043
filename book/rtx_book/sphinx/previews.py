"""What a link to a page shows: the texts of book/descriptions.yml, in place of the page's first words.

And what the search reads (book/assets/search.js): the passages of all pages, in a script that the search page alone
loads. A page opened from a file may not read another, but it may load a script.
"""

import html
import json
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from rtx_book.sphinx.book_site import vendor

GLOSSARY = "book/glossary"


def read(app: Sphinx) -> None:
    """Read the descriptions and the reading times."""
    for name in ("descriptions", "reading"):
        path = Path(app.confdir) / "book" / f"{name}.yml"
        app.config[name] = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}


def describe(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Hand the page's text to the extension that writes the tags; where there is none, it takes the first words."""
    if pagename == "search" and (vendor(app) / "minisearch.js").is_file():  # else Sphinx's own search stays
        for name in ("language_data.js", "vendor/minisearch.js", "passages.js", "search-words.js", "search.js"):
            app.add_js_file(name, defer="defer")
    context["told"] = text = app.config.descriptions.get("book/intro" if pagename == "index" else pagename)
    if text and doctree is not None:
        context["meta"] = {**(context.get("meta") or {}), "og:description": text}
        tag = f'<meta name="description" content="{html.escape(text)}" />\n'
        context["metatags"] = context.get("metatags", "") + tag


def said(node: nodes.Node) -> str:
    """The words of a node, its formulas between dollar signs, without HTML."""
    if isinstance(node, nodes.math):
        return f"${node.astext()}$"
    if isinstance(node, (nodes.Text, nodes.raw)):
        return node.astext() if isinstance(node, nodes.Text) else ""
    return "".join(map(said, node.children))


def passages(doctree: nodes.document, leads: bool = False) -> list[list[str]]:
    """Anchor, title and text of each section and documented name, of which the first paragraph says what it is.

    Where `leads`, the chapter that a section names first, too.
    """
    found: list[list[str]] = []
    for node in doctree.findall(nodes.Element):
        if isinstance(node, addnodes.desc_signature) and node["ids"]:
            found.append([node["ids"][0], node["ids"][0], ""])
        elif isinstance(node, nodes.title) and isinstance(node.parent, nodes.section):
            found.append([node.parent["ids"][0], node.astext(), ""])
        elif isinstance(node, nodes.paragraph) and found:
            named = found[-1][0] == found[-1][1]
            found[-1][2] += "" if named and found[-1][2] else said(node) + "\n"
        elif leads and "notebooks/" in node.get("refuri", "") and len(found[-1]) == 3:
            found[-1].append(f"notebooks/{Path(node['refuri'].partition('#')[0]).stem}")
    return found


def keep(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    vars(app.env).setdefault("passages", {})[docname] = passages(doctree, docname == GLOSSARY)


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the script with the title, the description and the passages of every page."""
    if error or app.builder.format != "html":
        return
    kept = vars(app.env).setdefault("passages", {})
    for page in sorted(app.env.found_docs - set(kept)):  # pages that this build did not write
        app.env.get_and_resolve_doctree(page, app.builder)
    told = app.config.descriptions
    rows = [[page, app.env.titles[page].astext(), told.get(page, ""), kept[page]] for page in sorted(kept)]
    script = f"window.PASSAGES = {json.dumps(rows, ensure_ascii=False, separators=(',', ':'))};\n"
    Path(app.outdir, "_static", "passages.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> None:
    for name in ("descriptions", "reading"):
        app.add_config_value(name, {}, "html", types=(dict,))
    app.connect("builder-inited", read)
    app.connect("doctree-resolved", keep)
    app.connect("html-page-context", describe, priority=400)  # sphinxext.opengraph listens with 500
    app.connect("build-finished", write)
